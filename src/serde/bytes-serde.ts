/** Bytes as they are (org.apache.kafka.common.serialization.ByteArraySerializer). */
import { serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'

/** An array of bytes: its object and its share of a pool. */
const headerBytes = 96

/**
 * Bytes, unchanged. What is written is not copied: do not change it afterwards. What is read is a
 * copy.
 */
export const bytesSerde: Serde<Uint8Array> = Object.freeze({
  name: 'bytes',
  serialize: (value: Uint8Array): Uint8Array => {
    if (!(value instanceof Uint8Array)) {
      throw serializeError('bytes', `${shown(value)} is not a Uint8Array`)
    }
    return value
  },
  deserialize: (bytes: Uint8Array): Uint8Array => Buffer.from(bytes),
  sizeOf: (value: Uint8Array) => headerBytes + value.length,
})
