/**
 * What left and outer joins hold back until it is known whether it will meet another record
 * (org.apache.kafka.streams.state.internals.ListValueStore with TimestampedKeyAndJoinSide and
 * LeftOrRightValue): a key-value store, in the order of time, of all values of one key, side and moment.
 *
 *     key    8 bytes timestamp, 1 byte side (1 left, 0 right), key
 *     value  a list of: 1 byte side, value
 */
import { asBuffer } from '../base/bytes.ts'
import { serdes } from '../serde/serdes.ts'
import type { Serde } from '../serde/serde.ts'
import { readTime, timeBytes, writeTime } from './time-bytes.ts'
import { keyValueStore, type KeyValueStoreDescriptor, type StoreOptions } from './descriptor.ts'

/** Key of the store. */
export interface JoinSideKey {
  readonly timestamp: number
  readonly side: JoinSide
  readonly key: unknown
}

export type JoinSide = 'left' | 'right'

/** One value of the store. */
export interface SideValue {
  readonly side: JoinSide
  readonly value: unknown
}

/** Describes the store of one join. */
export function outerJoinStore(
  name: string,
  options: { key: Serde<unknown>; left: Serde<unknown>; right: Serde<unknown> } & StoreOptions,
): KeyValueStoreDescriptor<JoinSideKey, SideValue[]> {
  const { key, left, right, ...storeOptions } = options
  return keyValueStore(name, {
    ...storeOptions,
    caching: false,
    key: joinSideKeySerde(key),
    value: serdes.list(sideValueSerde({ left, right })),
  })
}

const sideBytes = 1
const leftByte = 1
const rightByte = 0

function joinSideKeySerde(inner: Serde<unknown>): Serde<JoinSideKey> {
  return {
    name: `join side of ${inner.name}`,
    serialize({ timestamp, side, key }) {
      const keyBytes = inner.serialize(key)
      const bytes = Buffer.allocUnsafe(timeBytes + sideBytes + keyBytes.length)
      writeTime(bytes, timestamp, 0)
      bytes[timeBytes] = byteOf(side)
      bytes.set(keyBytes, timeBytes + sideBytes)
      return bytes
    },
    deserialize(bytes) {
      const view = asBuffer(bytes)
      return {
        timestamp: readTime(view, 0),
        side: sideOf(view[timeBytes]),
        key: inner.deserialize(view.subarray(timeBytes + sideBytes)),
      }
    },
  }
}

function sideValueSerde(inner: Readonly<Record<JoinSide, Serde<unknown>>>): Serde<SideValue> {
  return {
    name: `held back ${inner.left.name} or ${inner.right.name}`,
    serialize({ side, value }) {
      const valueBytes = inner[side].serialize(value)
      const bytes = Buffer.allocUnsafe(sideBytes + valueBytes.length)
      bytes[0] = byteOf(side)
      bytes.set(valueBytes, sideBytes)
      return bytes
    },
    deserialize(bytes) {
      const side = sideOf(bytes[0])
      return { side, value: inner[side].deserialize(bytes.subarray(sideBytes)) }
    },
  }
}

function byteOf(side: JoinSide): number {
  return side === 'left' ? leftByte : rightByte
}

function sideOf(byte: number | undefined): JoinSide {
  return byte === rightByte ? 'right' : 'left'
}
