/**
 * How a value lies in an engine: as it is, or, in the stores of tables, behind the eight bytes of its
 * timestamp (org.apache.kafka.streams.state.internals.ValueAndTimestampSerializer). A changelog
 * carries the value alone; the timestamp is the record's.
 */
import type { SortedRow } from '../kv/sorted-rows.ts'

/** A value and its timestamp as the layers of bytes hand them up. */
export interface StoredValue {
  /** Borrowed until the next call on any store. */
  readonly value: Buffer
  /** Milliseconds; -1 in stores without timestamps. */
  readonly timestamp: number
}

/** A row of a scan; its key as a latin1 string is its place in the order. */
export interface StoredRow extends StoredValue, SortedRow {
  readonly key: Buffer
}

/** What a store without timestamps has for one. */
export const noTimestamp = -1

const timestampBytes = 8
const twoTo32 = 0x1_0000_0000

/** Writes and reads the values of one table. */
export interface StoredFormat {
  readonly isTimestamped: boolean
  /** Bytes in front of the value. */
  readonly headerBytes: number
  /** Writes them. */
  writeHeader(target: Buffer, at: number, timestamp: number): void
  /** In a Buffer of its own, unless there is nothing to add. */
  encode(value: Buffer, timestamp: number): Buffer
  decode(bytes: Buffer): StoredValue
}

/** The value alone. */
export const plainFormat: StoredFormat = {
  isTimestamped: false,
  headerBytes: 0,
  writeHeader: () => undefined,
  encode: (value) => value,
  decode: (bytes) => ({ value: bytes, timestamp: noTimestamp }),
}

function writeTimestamp(target: Buffer, at: number, timestamp: number): void {
  const high = Math.floor(timestamp / twoTo32)
  target.writeInt32BE(high, at)
  target.writeUInt32BE(timestamp - high * twoTo32, at + 4)
}

/** The timestamp as a Java long, then the value. */
export const timestampedFormat: StoredFormat = {
  isTimestamped: true,
  headerBytes: timestampBytes,
  writeHeader: writeTimestamp,
  encode: (value, timestamp) => {
    const bytes = Buffer.allocUnsafe(timestampBytes + value.length)
    writeTimestamp(bytes, 0, timestamp)
    bytes.set(value, timestampBytes)
    return bytes
  },
  decode: (bytes) => ({
    value: bytes.subarray(timestampBytes),
    timestamp: bytes.readInt32BE() * twoTo32 + bytes.readUInt32BE(4),
  }),
}
