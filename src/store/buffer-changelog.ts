/**
 * What a buffer of changes writes to its changelog for a key that it holds
 * (org.apache.kafka.streams.state.internals.TimeOrderedKeyValueBufferChangelogDeserializationHelper). A
 * header tells the version:
 *
 *     none  time, change                     1  time, origin, change
 *     2     origin, change, prior, time      3  origin, prior, old, new, time
 */
import {
  BufferValueReader,
  bufferValue,
  encodeBufferValue,
  type BufferValue,
} from './buffer-value.ts'
import type { ChangelogRecord, RecordHeaders } from './state-store.ts'

const timeBytes = 8
const versionHeader = 'v'
/** Java's end of unlimited windows. */
const latest = 2n ** 63n - 1n

/** Headers of what {@link encodeHeld} gives. */
export const heldHeaders: RecordHeaders = Object.freeze([
  [versionHeader, Buffer.from([3])] as const,
])

/** Version 3. */
export function encodeHeld(time: number, value: BufferValue): Buffer {
  const bytes = encodeBufferValue(value, timeBytes)
  bytes.writeBigInt64BE(time === Infinity ? latest : BigInt(time), bytes.length - timeBytes)
  return bytes
}

/**
 * Reads the buffer time and the value, as any version of Kafka Streams wrote them.
 *
 * @param heldPrior the prior value that the buffer holds for the key: early versions do not write it.
 */
export function decodeHeld(
  bytes: Buffer,
  record: ChangelogRecord,
  heldPrior: Buffer | null | undefined,
): [time: number, value: BufferValue] {
  const version = record.headers.findLast(([name]) => name === versionHeader)?.[1]
  if (version === undefined) return decodeVersion0(bytes, record, heldPrior)
  const number = version?.length === 1 ? version[0] : undefined
  if (number === 1) return decodeVersion1(bytes, heldPrior)
  if (number === 2) return decodeVersion2(bytes)
  if (number === 3) return decodeVersion3(bytes)
  throw new Error(`version ${version?.toString('hex')} of a buffer is not known`)
}

function decodeVersion0(
  bytes: Buffer,
  { timestamp, offset, topic, partition, headers }: ChangelogRecord,
  heldPrior: Buffer | null | undefined,
): [time: number, value: BufferValue] {
  const time = bufferTime(new BufferValueReader(bytes))
  const change = oldAndNew(bytes.subarray(timeBytes))
  const copied = headers.map(([name, value]) => [name, value && Buffer.from(value)] as const)
  const origin = { timestamp, offset, topic, partition, headers: copied }
  return [time, bufferValue(origin, { prior: heldPrior ?? change.old, ...change })]
}

function decodeVersion1(
  bytes: Buffer,
  heldPrior: Buffer | null | undefined,
): [time: number, value: BufferValue] {
  const reader = new BufferValueReader(bytes)
  const time = bufferTime(reader)
  const origin = reader.origin()
  const change = oldAndNew(reader.bytes())
  return [time, bufferValue(origin, { prior: heldPrior ?? change.old, ...change })]
}

function decodeVersion2(bytes: Buffer): [time: number, value: BufferValue] {
  try {
    const reader = new BufferValueReader(bytes)
    const origin = reader.origin()
    const change = oldAndNew(reader.bytes())
    const prior = reader.bytes()
    return [bufferTime(reader), bufferValue(origin, { prior, ...change })]
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // Kafka Streams 2.4.0, 2.4.1 and 2.5.0 write version 3 under this number.
    return decodeVersion3(bytes)
  }
}

function decodeVersion3(bytes: Buffer): [time: number, value: BufferValue] {
  const reader = new BufferValueReader(bytes)
  const value = reader.value()
  return [bufferTime(reader), value]
}

function bufferTime(reader: BufferValueReader): number {
  const time = reader.long()
  return time === Number(latest) ? Infinity : time
}

/** A change as it was written at first: the old value and the new one, each behind its length. */
function oldAndNew(change: Buffer | null): { old: Buffer | null; new: Buffer | null } {
  if (change === null) throw new RangeError('a change is missing')
  const reader = new BufferValueReader(change)
  const old = reader.bytes()
  return { old, new: reader.bytes() }
}
