import { assertName } from '../base/legal-name.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import type { KStream } from './kstream.ts'
import { KStreamImpl, type StreamState } from './kstream-impl.ts'
import { assertFunction, type Named } from './naming.ts'
import { kstreamBranch, type Branch } from './operators/kstream-branch.ts'
import { passThrough } from './operators/pass-through.ts'
import type { UserFunction } from './operators/user-function.ts'

/** Says whether a record goes into a branch. One that narrows the type gives a stream of that type. */
export type BranchPredicate<K, V> = (value: V, key: K) => boolean

// oxlint-disable-next-line typescript/no-explicit-any -- variance: a predicate of any types fits
type Narrowed<P, V> = P extends ((value: any, key: any) => value is infer W)
  ? W extends V
    ? W
    : V
  : V

/** The streams of a split, by the names of their predicates (or in their order), and the rest. */
export type Branches<K, V, P> = {
  readonly [name in keyof P]: KStream<K, Narrowed<P[name], V>>
} & {
  /**
   * The records for which no predicate holds. This stream belongs to the program only when it is
   * asked for; else these records go nowhere.
   */
  readonly rest: KStream<K, V>
}

/** What {@link KStream.split} takes beside the predicates. */
export interface SplitOptions extends Named {
  /** Last part of the name of the step behind `rest`. Default `0`, as in Java. */
  readonly rest?: string
}

/** The predicates of a split: by the names of the branches, or in a list. */
export type BranchPredicates<K, V> =
  | readonly BranchPredicate<K, V>[]
  | Readonly<Record<string, BranchPredicate<K, V>>>

/** Java's BranchedKStreamImpl. */
export function splitStream<K, V>(
  state: StreamState,
  predicates: BranchPredicates<K, V>,
  options: SplitOptions | undefined,
): object {
  const { graph, node: parent } = state
  const named = namedPredicates(predicates)
  const splitter = graph.names.step('KSTREAM-BRANCH-', options?.name)
  const branches: Branch[] = []
  let rest: string | undefined
  const node = new ProcessorGraphNode(splitter, () => kstreamBranch(branches, rest))
  graph.add(node, [parent])
  const streams = named.map(([name, predicate]) => {
    const child = `${splitter}${name}`
    branches.push({ child, predicate })
    return [name, branch<K, V>(state, node, child)] as const
  })
  const given = Array.isArray(predicates)
    ? streams.map(([, stream]) => stream)
    : Object.fromEntries(streams)
  let stream: KStream<K, V> | undefined
  return Object.defineProperty(given, 'rest', {
    // Not seen by who only looks at the object: asking for it changes the program.
    enumerable: false,
    get() {
      rest ??= `${splitter}${options?.rest ?? '0'}`
      stream ??= branch<K, V>(state, node, rest)
      return stream
    },
  })
}

function branch<K, V>(
  state: StreamState,
  splitter: ProcessorGraphNode,
  name: string,
): KStream<K, V> {
  assertName(name, 'a branch')
  state.graph.names.step('KSTREAM-BRANCH-', name)
  const node = new ProcessorGraphNode(name, passThrough)
  state.graph.add(node, [splitter])
  return new KStreamImpl({ ...state, node })
}

/** The predicates with the names of their branches; in an array they are counted, from 1 as in Java. */
function namedPredicates(
  predicates: BranchPredicates<never, never>,
): [string, UserFunction<boolean>][] {
  if (typeof predicates !== 'object' || predicates === null) {
    throw invalid(`split needs an object of predicates, not ${shownValue(predicates)}`)
  }
  const named: [string, UserFunction<boolean>][] = Array.isArray(predicates)
    ? predicates.map((predicate, index) => [String(index + 1), predicate])
    : Object.entries(predicates)
  if (named.length === 0) throw invalid('split needs at least one predicate')
  for (const [name, predicate] of named) {
    assertFunction(predicate, `the predicate ${name} of split`)
    if (!Array.isArray(predicates)) assertBranchName(name)
  }
  return named
}

function assertBranchName(name: string): void {
  if (name === 'rest') throw invalid('no branch can be called rest: that is what no branch takes')
  // JavaScript puts such keys before all others, and sorts them: predicates would be tried in another order.
  if (/^\d+$/.test(name)) {
    throw invalid(`the branch ${name} must not have a number as its name: give an array instead`)
  }
}

const invalid = (detail: string): StreamsError => new StreamsError('TOPOLOGY_INVALID', { detail })
