import { asBuffer, prefixEnd } from '../base/bytes.ts'
import type { KvRange } from '../kv/kv.ts'
import type { RangeOptions } from './key-value-store.ts'

/** The range of all keys that begin with these bytes. */
export function prefixRange(prefix: Uint8Array, options?: { reverse?: boolean }): KvRange {
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
