/**
 * Changes of a table on their way through the topic by which a table is grouped anew
 * (org.apache.kafka.streams.kstream.internals.ChangedSerializer and ChangedDeserializer). The last byte
 * says what stands before it:
 *
 *     old                        0
 *     new                        1
 *     length of new, new, old    2      both, the length as a varint
 *
 * 3, 4 and 5 are the same with a byte before the last that says whether the change is the latest of
 * its key. They are only read: newer versions may write them.
 */
import { concatBytes } from '../base/bytes.ts'
import { readVarint, varintEnd, varintSize, writeVarint } from '../base/varint.ts'
import { Change } from '../processor/change.ts'
import { deserializeError, serializeError } from '../serde/serde-error.ts'
import type { Serde } from '../serde/serde.ts'
import type { AnySerde } from './topic.ts'

const onlyOld = 0
const onlyNew = 1
const both = 2
/** The first kind with the byte `isLatest`, by so much after the one without. */
const withLatest = 3

/** The serde of changes whose values have the serde `inner`. */
export function changeSerde(inner: AnySerde): Serde<Change> {
  const name = `change(${inner.name})`
  return {
    name,
    serialize: ({ newValue, oldValue }) => {
      if (newValue === undefined && oldValue === undefined) {
        throw serializeError(name, 'the change has neither a new value nor an old one')
      }
      if (oldValue === undefined) return tagged(onlyNew, inner.serialize(newValue))
      if (newValue === undefined) return tagged(onlyOld, inner.serialize(oldValue))
      const bytes = inner.serialize(newValue)
      const length = Buffer.allocUnsafe(varintSize(bytes.length))
      writeVarint(length, 0, bytes.length)
      return concatBytes([length, bytes, inner.serialize(oldValue), Buffer.of(both)])
    },
    deserialize: (bytes) => {
      const change = new Change<unknown>(undefined, undefined)
      const kind = bytes.at(-1)
      if (kind === undefined || kind > both + withLatest) {
        throw deserializeError(name, `the last byte is ${kind}, and not the kind of a change`)
      }
      let end = bytes.length - 1
      if (kind >= withLatest) {
        end -= 1
        change.isLatest = readLatest(name, bytes[end])
      }
      const only = (): unknown => inner.deserialize(bytes.subarray(0, end))
      switch (kind % withLatest) {
        case onlyOld:
          change.oldValue = only()
          break
        case onlyNew:
          change.newValue = only()
          break
        default: {
          const length = readVarint(bytes, 0, end)
          const newEnd = varintEnd + length
          if (varintEnd < 0 || length < 0 || newEnd > end) {
            throw deserializeError(name, 'the length of the new value does not fit')
          }
          change.newValue = inner.deserialize(bytes.subarray(newEnd - length, newEnd))
          change.oldValue = inner.deserialize(bytes.subarray(newEnd, end))
        }
      }
      return change
    },
  }
}

function tagged(kind: number, bytes: Uint8Array): Buffer {
  const whole = Buffer.allocUnsafe(bytes.length + 1)
  whole.set(bytes)
  whole[bytes.length] = kind
  return whole
}

function readLatest(name: string, byte: number | undefined): boolean {
  if (byte !== 0 && byte !== 1) {
    throw deserializeError(name, `the byte that says whether it is the latest is ${byte}`)
  }
  return byte === 1
}
