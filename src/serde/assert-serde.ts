import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { Serde } from './serde.ts'

/**
 * Refuses what a program without types gave in place of a serde: nothing (`SERDE_MISSING`), or
 * something else (`TOPOLOGY_INVALID`). `of` is for the message.
 */
export function assertSerde(
  given: unknown,
  { part, of }: { readonly part: 'key' | 'value'; readonly of: string },
): asserts given is Serde<unknown> {
  if (given === undefined) throw new StreamsError('SERDE_MISSING', { part, node: of })
  const { serialize, deserialize } = (given ?? {}) as Partial<Record<keyof Serde<unknown>, unknown>>
  if (typeof serialize === 'function' && typeof deserialize === 'function') return
  const reason =
    typeof given === 'function'
      ? 'is a function: call it, as in serdes.json()'
      : `is no serde but ${shownValue(given)}: it needs serialize and deserialize`
  throw new StreamsError('TOPOLOGY_INVALID', { detail: `the ${part} serde of ${of} ${reason}` })
}
