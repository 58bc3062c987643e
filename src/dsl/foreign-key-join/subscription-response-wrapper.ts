/**
 * What a foreign key answers to a row of the left table
 * (org.apache.kafka.streams.kstream.internals.foreignkeyjoin.SubscriptionResponseWrapper): the value in
 * the response topic.
 *
 *     version 0, 0x80 when there is no hash   1 byte
 *     hash of the left value                  16 bytes, or none
 *     foreign value                           nothing when there is none
 */
import { emptyBytes } from '../../base/bytes.ts'
import { deserializeError } from '../../serde/serde-error.ts'
import type { Serde } from '../../serde/serde.ts'
import type { AnySerde } from '../topic.ts'

export interface SubscriptionResponseWrapper {
  /** Of the left value that the answer is for. */
  readonly hash: Buffer | null
  /** Undefined: there is no row of that foreign key. */
  readonly foreignValue: unknown
  /** Where the left row is; not written. Undefined when it is not known, and once it was read. */
  readonly primaryPartition: number | undefined
}

const hashBytes = 16
const noHash = 0x80

/** The serde of responses with foreign values of the serde `value`. */
export function subscriptionResponseWrapperSerde(
  value: AnySerde,
): Serde<SubscriptionResponseWrapper> {
  const name = `subscription-response(${value.name})`
  return {
    name,
    serialize: ({ hash, foreignValue }) => {
      const valueBytes = foreignValue === undefined ? emptyBytes : value.serialize(foreignValue)
      const start = 1 + (hash === null ? 0 : hashBytes)
      const bytes = Buffer.allocUnsafe(start + valueBytes.length)
      bytes[0] = hash === null ? noHash : 0
      if (hash !== null) bytes.set(hash, 1)
      bytes.set(valueBytes, start)
      return bytes
    },
    deserialize: (bytes) => {
      const first = bytes[0] ?? 0
      const hasHash = (first & noHash) === 0
      const start = 1 + (hasHash ? hashBytes : 0)
      if ((first & ~noHash) !== 0) throw deserializeError(name, `the version is ${first & ~noHash}`)
      if (bytes.length < start) throw deserializeError(name, 'the bytes end too early')
      return {
        hash: hasHash ? Buffer.from(bytes.subarray(1, start)) : null,
        foreignValue: bytes.length === start ? undefined : value.deserialize(bytes.subarray(start)),
        primaryPartition: undefined,
      }
    },
  }
}
