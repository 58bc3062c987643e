import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'

/** How a program may be rewritten when it is built. Java's values of `topology.optimization`. */
export type Optimization =
  /** A table that is read from a topic uses that topic as its changelog: none of its own is made. */
  | 'reuse-ktable-source-topics'
  /** One repartition topic behind a step that changes the key, instead of one for each step that needs it. */
  | 'merge-repartition-topics'
  /** A join of a stream with itself keeps its records once, not twice. */
  | 'single-store-self-join'

/** `none` (the default), `all`, or some. */
export type Optimizations = 'none' | 'all' | readonly Optimization[]

const all: readonly Optimization[] = [
  'reuse-ktable-source-topics',
  'merge-repartition-topics',
  'single-store-self-join',
]

/** The single ones that are meant. */
export function optimizationsOf(given: Optimizations): ReadonlySet<Optimization> {
  if (given === 'all') return new Set(all)
  if (given === 'none') return new Set()
  if (!Array.isArray(given)) throw unknown(given)
  for (const each of given) if (!all.includes(each as Optimization)) throw unknown(each)
  return new Set(given as Optimization[])
}

function unknown(given: unknown): StreamsError {
  const known = ['none', 'all', ...all].join(', ')
  const detail = `there is no optimization ${shownValue(given)}; there are: ${known}`
  return new StreamsError('TOPOLOGY_INVALID', { detail })
}
