import { asBuffer, prefixEnd } from '../base/bytes.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { KvRange } from '../kv/kv.ts'
import type { RangeOptions } from './key-value-store.ts'

/** Refuses a prefix that is no bytes: a text, for instance, of which only a serde could tell the bytes. */
export function assertPrefix(prefix: unknown, store: string): void {
  if (prefix instanceof Uint8Array) return
  const detail = `a prefix is bytes of serialized keys, a Uint8Array or Buffer, not ${shownValue(prefix)}`
  throw new StreamsError('KEY_INVALID', { store, detail })
}

/** The range of all keys of a store that begin with these bytes. Throws `KEY_INVALID`. */
export function prefixRange(
  store: string,
  prefix: Uint8Array,
  options?: { reverse?: boolean },
): KvRange {
  assertPrefix(prefix, store)
  const to = prefixEnd(prefix)
  return { from: asBuffer(prefix), to, toExclusive: true, reverse: options?.reverse }
}

/** The range between two keys, in bytes. */
export function keyRange<K>(
  writeKey: (key: K) => Buffer,
  { from, to, reverse }: RangeOptions<K> = {},
): KvRange {
  return {
    from: from === undefined ? undefined : writeKey(from),
    to: to === undefined ? undefined : writeKey(to),
    reverse,
  }
}
