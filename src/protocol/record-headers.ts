/**
 * Record headers: a count, then name and value of each
 * (org.apache.kafka.common.record.DefaultRecord#readHeaders).
 *
 *     varint count | varint length, name | varint length or -1, value | ...
 */
import { fieldSize, readVarint, varintEnd, varintSize, writeVarint } from '../base/varint.ts'
import { StreamsError } from '../errors.ts'

/** A record header as read; the value is a view of the bytes that were read. Names may repeat. */
export type RecordHeader = readonly [name: string, value: Buffer | null]

/** Record headers to write. Names may repeat. */
export type HeadersToWrite = readonly (readonly [name: string, value: Uint8Array | null])[]

/** What every record without headers has. */
export const noHeaders: readonly RecordHeader[] = Object.freeze([])

/** A header has at least two bytes: the lengths of an empty name and of a null value. */
export const headerBytesMin = 2

/** Where headers lie in a batch's records. */
export interface HeadersPosition {
  /** After the count. */
  readonly start: number
  /** The end of the record. */
  readonly end: number
  readonly count: number
  /** Base offset of the batch, for error messages. */
  readonly batchOffset: number
}

/**
 * Reads the headers of a record.
 *
 * @throws StreamsError `RECORD_BATCH_CORRUPT`.
 */
export function readHeaders(bytes: Buffer, at: HeadersPosition): readonly RecordHeader[] {
  const { end, batchOffset } = at
  const headers: RecordHeader[] = []
  let position = at.start
  while (headers.length < at.count) {
    const nameLength = readVarint(bytes, position, end)
    const nameStart = varintEnd
    const nameEnd = nameStart + nameLength
    if (nameStart < 0 || nameLength < 0 || nameEnd > end) {
      throw corrupt(batchOffset, 'the name of a header does not fit')
    }
    const valueLength = readVarint(bytes, nameEnd, end)
    const valueStart = varintEnd
    const valueEnd = valueStart + valueLength
    if (valueStart < 0 || valueLength < -1 || valueEnd > end) {
      throw corrupt(batchOffset, 'the value of a header does not fit')
    }
    const value = valueLength < 0 ? null : bytes.subarray(valueStart, valueEnd)
    headers.push([bytes.toString('utf8', nameStart, nameEnd), value])
    position = valueLength < 0 ? valueStart : valueEnd
  }
  if (position !== end) throw corrupt(batchOffset, 'a record has extra bytes')
  return headers
}

function corrupt(offset: number, detail: string): StreamsError {
  return new StreamsError('RECORD_BATCH_CORRUPT', { offset, detail })
}

/** Bytes that {@link writeHeaders} writes. */
export function headersSize(headers: HeadersToWrite): number {
  let size = varintSize(headers.length)
  for (const [name, value] of headers) {
    size += fieldSize(Buffer.byteLength(name)) + fieldSize(value === null ? -1 : value.length)
  }
  return size
}

/** Writes the headers of a record; returns the position after them. There must be room. */
export function writeHeaders(bytes: Buffer, start: number, headers: HeadersToWrite): number {
  let position = writeVarint(bytes, start, headers.length)
  for (const [name, value] of headers) {
    position = writeVarint(bytes, position, Buffer.byteLength(name))
    position += bytes.write(name, position, 'utf8')
    position = writeVarint(bytes, position, value === null ? -1 : value.length)
    if (value !== null) bytes.set(value, position)
    position += value === null ? 0 : value.length
  }
  return position
}
