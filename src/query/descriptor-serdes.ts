import { asBuffer } from '../base/bytes.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { AnyStore } from '../store/descriptor.ts'

/** The bytes of a key. Throws `KEY_INVALID`, with what the serde said. */
export function keyBytesOf({ name: store, key: serde }: AnyStore, key: unknown): Buffer {
  try {
    return asBuffer(serde.serialize(key))
  } catch (error) {
    throw new StreamsError('KEY_INVALID', { store, detail: messageOf(error) }, { cause: error })
  }
}

/** The value in the cache of the store belongs to the task: whoever asks gets one of their own. */
export function ownedValue<V>({ value: serde }: AnyStore, value: V): V {
  if (typeof value !== 'object' || value === null) return value
  return serde.deserialize(serde.serialize(value)) as V
}
