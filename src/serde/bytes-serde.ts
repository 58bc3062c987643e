/**
 * Bytes as they are (org.apache.kafka.common.serialization.ByteArraySerializer and
 * ByteBufferSerializer).
 */
import { serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'

/** An array of bytes: its object and its share of a pool. */
const headerBytes = 96

/**
 * Bytes, unchanged. What is written is not copied: do not change it afterwards. What is read is a
 * copy.
 */
export const bytesSerde: Serde<Uint8Array> = named('bytes')

/** The same bytes, read as a Buffer of Node.js. */
export const bufferSerde: Serde<Buffer> = named<Buffer>('buffer')

function named<T extends Uint8Array>(name: string): Serde<T> {
  return Object.freeze({
    name,
    serialize: (value: T): T => {
      if (!(value instanceof Uint8Array)) {
        throw serializeError(name, `${shown(value)} is not a Uint8Array`)
      }
      return value
    },
    deserialize: (bytes: Uint8Array): T => Buffer.from(bytes) as Uint8Array as T,
    sizeOf: (value: T) => headerBytes + value.length,
  })
}
