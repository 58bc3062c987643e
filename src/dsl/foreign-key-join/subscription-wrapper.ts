/**
 * What a row of the left table tells the foreign key that it refers to
 * (org.apache.kafka.streams.kstream.internals.foreignkeyjoin.SubscriptionWrapper): the value in the
 * subscription topic and in the subscription store.
 *
 *     version, 0x80 when there is no hash   1 byte
 *     instruction                           1 byte
 *     hash of the left value                16 bytes, or none
 *     primary key
 *     primary partition                     4 bytes, from version 1 on
 */
import { asBuffer } from '../../base/bytes.ts'
import { deserializeError } from '../../serde/serde-error.ts'
import type { Serde } from '../../serde/serde.ts'
import type { AnySerde } from '../topic.ts'

/** What the foreign key is to do about it. */
export const instructions = {
  /** Forget the row, and send nothing. */
  deleteNoPropagate: 0,
  /** Forget the row, and send that there is no value. */
  deleteAndPropagate: 1,
  /** Remember the row, and send the value, or that there is none. */
  propagateNullIfNoValue: 2,
  /** Remember the row, and send the value if there is one. */
  propagateOnlyIfValue: 3,
} as const

export type Instruction = (typeof instructions)[keyof typeof instructions]

export interface SubscriptionWrapper {
  readonly instruction: Instruction
  /** Of the left row's value, which is serialized for it; null: the row is gone. */
  readonly hash: Buffer | null
  /** Of the left row. */
  readonly primaryKey: unknown
  /** Where the left row is; undefined in version 0. */
  readonly primaryPartition: number | undefined
}

const hashBytes = 16
const partitionBytes = 4
const versionMax = 1
const noHash = 0x80

/** The serde of subscriptions of rows whose keys have the serde `key`. */
export function subscriptionWrapperSerde(key: AnySerde): Serde<SubscriptionWrapper> {
  const name = `subscription(${key.name})`
  return {
    name,
    serialize: ({ instruction, hash, primaryKey, primaryPartition }) => {
      // What was written as version 0 is kept as such.
      const version = primaryPartition === undefined ? 0 : 1
      const keyBytes = key.serialize(primaryKey)
      const keyStart = 2 + (hash === null ? 0 : hashBytes)
      const keyEnd = keyStart + keyBytes.length
      const bytes = Buffer.allocUnsafe(keyEnd + version * partitionBytes)
      bytes[0] = hash === null ? version | noHash : version
      bytes[1] = instruction
      if (hash !== null) bytes.set(hash, 2)
      bytes.set(keyBytes, keyStart)
      if (primaryPartition !== undefined) bytes.writeInt32BE(primaryPartition, keyEnd)
      return bytes
    },
    deserialize: (given) => {
      const bytes = asBuffer(given)
      const first = bytes[0] ?? 0
      const version = first & ~noHash
      const hasHash = (first & noHash) === 0
      const keyStart = 2 + (hasHash ? hashBytes : 0)
      const keyEnd = bytes.length - version * partitionBytes
      if (version > versionMax) throw deserializeError(name, `the version is ${version}`)
      if (keyEnd < keyStart) throw deserializeError(name, 'the bytes end too early')
      return {
        instruction: readInstruction(name, bytes[1]),
        // Copied: the bytes are borrowed, and the hash is kept.
        hash: hasHash ? Buffer.from(bytes.subarray(2, keyStart)) : null,
        primaryKey: key.deserialize(bytes.subarray(keyStart, keyEnd)),
        primaryPartition: version === 0 ? undefined : bytes.readInt32BE(keyEnd),
      }
    },
  }
}

function readInstruction(name: string, byte: number | undefined): Instruction {
  if (byte === undefined || byte > instructions.propagateOnlyIfValue) {
    throw deserializeError(name, `there is no instruction ${byte}`)
  }
  return byte as Instruction
}
