/**
 * Builds record batches (org.apache.kafka.common.record.MemoryRecordsBuilder). Records are appended to one
 * growing Buffer; the header is written, and the CRC computed, once, when the batch is finished.
 */
import { assert } from '../base/assert.ts'
import { writeAscii } from '../base/text.ts'
import {
  unsignedVarintSize,
  varlongSize,
  writeUnsignedVarint,
  writeVarlong,
} from '../base/varint.ts'
import { compress, compressions, type Compression } from './compression.ts'
import { sealBatch } from './record-batch-patch.ts'
import {
  batchAttribute,
  batchPosition,
  lengthEnd,
  writeInt64,
  type TimestampType,
} from './record-batch-layout.ts'
import { headersSize, writeHeaders, type HeadersToWrite } from './record-headers.ts'

/** What is not known before a batch is sent. */
export interface BuildOptions {
  /** Default 0: the broker sets it. */
  readonly baseOffset?: number
  /** -1 without idempotence; so are epoch and sequence. */
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  /** Default false. */
  readonly isTransactional?: boolean
  /** Default false: markers are made by `buildControlBatch`. */
  readonly isControl?: boolean
  /** Default -1: the broker sets it. */
  readonly partitionLeaderEpoch?: number
  /** Default `none`. */
  readonly compression?: Compression
  /** Default `create`. With `log-append` readers see the largest appended timestamp for all records. */
  readonly timestampType?: TimestampType
  /** Default the delta of the last record. Compaction keeps the offset of a last record that it takes away. */
  readonly lastOffsetDelta?: number
}

const initialBytes = 4096

/** A builder keeps at most this much memory from one batch for the next. */
const retainedBytesMax = 1024 * 1024

/** The length of a batch is an int32. */
const batchBytesMax = 0x7fff_ffff

/** Up to this length a loop is cheaper than the call into native code. */
const loopBytesMax = 12

/** Up to this length an ASCII loop is cheaper than a Buffer in between. */
const loopCharactersMax = 48

/** The most that length, attributes, timestamp delta, offset delta and three counts can take. */
const recordOverheadMax = 5 + 1 + 10 + 5 + 5 + 5 + 5

/** Collects the records of one batch. */
export class RecordBatchBuilder {
  #bytes: Buffer = Buffer.allocUnsafeSlow(initialBytes)
  #end: number = batchPosition.records
  #recordCount = 0
  #lastOffsetDelta = -1
  #baseTimestamp = -1
  #maxTimestamp = -1

  get recordCount(): number {
    return this.#recordCount
  }

  get isEmpty(): boolean {
    return this.#recordCount === 0
  }

  /** Bytes of the batch so far, uncompressed, header included: exact. */
  get sizeInBytes(): number {
    return this.#end
  }

  /** The largest timestamp so far, -1 when there is none. */
  get maxTimestamp(): number {
    return this.#maxTimestamp
  }

  /**
   * Appends a record at the offset after the last one. The bytes are copied.
   *
   * @param timestamp milliseconds since 1970, -1 for none.
   */
  append(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers?: HeadersToWrite,
  ): void {
    this.appendAt(this.#lastOffsetDelta + 1, key, value, timestamp, headers)
  }

  /**
   * Appends a record at an offset of its own, counted from the batch's base offset and greater than that of
   * the record before: what compaction needs.
   */
  appendAt(
    offsetDelta: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers?: HeadersToWrite,
  ): void {
    const position = this.#startRecord(
      offsetDelta,
      key === null ? -1 : key.length,
      value,
      timestamp,
      headers,
    )
    const keyEnd = key === null ? position : copyBytes(this.#bytes, position, key)
    this.#finishRecord(keyEnd, offsetDelta, value, timestamp, headers)
  }

  /** As {@link append}, for a key of text: ASCII is written without a Buffer in between. */
  appendStringKey(
    key: string,
    value: Uint8Array | null,
    timestamp: number,
    headers?: HeadersToWrite,
  ): void {
    const offsetDelta = this.#lastOffsetDelta + 1
    const position = this.#startRecord(offsetDelta, key.length, value, timestamp, headers)
    // Nothing counts until the record is finished: text that is not ASCII starts again as bytes.
    if (key.length > loopCharactersMax || !writeAscii(this.#bytes, position, key)) {
      this.append(Buffer.from(key), value, timestamp, headers)
    } else {
      this.#finishRecord(position + key.length, offsetDelta, value, timestamp, headers)
    }
  }

  /** Writes a record up to the length of its key, with room for the rest; returns the position after it. */
  #startRecord(
    offsetDelta: number,
    keyLength: number,
    value: Uint8Array | null,
    timestamp: number,
    headers: HeadersToWrite | undefined,
  ): number {
    assert(offsetDelta > this.#lastOffsetDelta, 'offsets in a batch ascend')
    const timestampDelta = this.#recordCount === 0 ? 0 : timestamp - this.#baseTimestamp
    const offsetCode = offsetDelta << 1
    const keyCode = lengthCode(keyLength)
    const valueLength = value === null ? -1 : value.length
    const valueCode = lengthCode(valueLength)
    const bodyBytes =
      1 +
      varlongSize(timestampDelta) +
      unsignedVarintSize(offsetCode) +
      unsignedVarintSize(keyCode) +
      (keyLength < 0 ? 0 : keyLength) +
      unsignedVarintSize(valueCode) +
      (valueLength < 0 ? 0 : valueLength) +
      (headers === undefined || headers.length === 0 ? 1 : headersSize(headers))
    const bodyCode = bodyBytes << 1
    const end = this.#end + unsignedVarintSize(bodyCode) + bodyBytes
    if (end > this.#bytes.length) this.#grow(end)
    const bytes = this.#bytes
    let position = writeUnsignedVarint(bytes, this.#end, bodyCode)
    bytes[position] = 0
    position = writeVarlong(bytes, position + 1, timestampDelta)
    position = writeUnsignedVarint(bytes, position, offsetCode)
    return writeUnsignedVarint(bytes, position, keyCode)
  }

  #finishRecord(
    keyEnd: number,
    offsetDelta: number,
    value: Uint8Array | null,
    timestamp: number,
    headers: HeadersToWrite | undefined,
  ): void {
    const bytes = this.#bytes
    let position = writeUnsignedVarint(
      bytes,
      keyEnd,
      lengthCode(value === null ? -1 : value.length),
    )
    if (value !== null) position = copyBytes(bytes, position, value)
    if (headers === undefined || headers.length === 0) {
      bytes[position] = 0
      position += 1
    } else {
      position = writeHeaders(bytes, position, headers)
    }
    if (this.#recordCount === 0) this.#baseTimestamp = timestamp
    if (timestamp > this.#maxTimestamp) this.#maxTimestamp = timestamp
    this.#end = position
    this.#lastOffsetDelta = offsetDelta
    this.#recordCount += 1
  }

  #grow(bytesMin: number): void {
    assert(bytesMin <= batchBytesMax, `a batch has at most ${batchBytesMax} bytes`)
    const grown = Buffer.allocUnsafeSlow(
      Math.min(batchBytesMax, Math.max(bytesMin, this.#bytes.length * 2)),
    )
    this.#bytes.copy(grown, 0, 0, this.#end)
    this.#bytes = grown
  }

  /**
   * The finished batch, in a Buffer of its own. The records stay: a batch can be built again with other
   * options.
   *
   * @throws StreamsError `COMPRESSION_UNAVAILABLE`.
   */
  build(options: BuildOptions): Buffer {
    const compression = options.compression ?? 'none'
    const records = this.#bytes.subarray(batchPosition.records, this.#end)
    const written = compression === 'none' ? records : compress(compression, records)
    const batch = Buffer.allocUnsafe(batchPosition.records + written.length)
    batch.set(written, batchPosition.records)
    this.#writeHeader(batch, compression, options)
    return batch
  }

  #writeHeader(batch: Buffer, compression: Compression, options: BuildOptions): void {
    const lastOffsetDelta = options.lastOffsetDelta ?? this.#lastOffsetDelta
    assert(lastOffsetDelta >= 0, 'a batch has a record, or had one')
    assert(lastOffsetDelta >= this.#lastOffsetDelta, 'the last offset covers all records')
    const attributes =
      compressions.indexOf(compression) |
      (options.timestampType === 'log-append' ? batchAttribute.logAppendTime : 0) |
      (options.isTransactional === true ? batchAttribute.transactional : 0) |
      (options.isControl === true ? batchAttribute.control : 0)
    writeInt64(batch, batchPosition.baseOffset, options.baseOffset ?? 0)
    batch.writeInt32BE(batch.length - lengthEnd, batchPosition.length)
    batch.writeInt32BE(options.partitionLeaderEpoch ?? -1, batchPosition.partitionLeaderEpoch)
    batch[batchPosition.magic] = 2
    batch.writeInt16BE(attributes, batchPosition.attributes)
    batch.writeInt32BE(lastOffsetDelta, batchPosition.lastOffsetDelta)
    writeInt64(batch, batchPosition.baseTimestamp, this.#baseTimestamp)
    writeInt64(batch, batchPosition.maxTimestamp, this.#maxTimestamp)
    writeInt64(batch, batchPosition.producerId, options.producerId)
    batch.writeInt16BE(options.producerEpoch, batchPosition.producerEpoch)
    batch.writeInt32BE(options.baseSequence, batchPosition.baseSequence)
    batch.writeInt32BE(this.#recordCount, batchPosition.recordCount)
    sealBatch(batch)
  }

  /** Starts the next batch. */
  reset(): void {
    if (this.#bytes.length > retainedBytesMax) this.#bytes = Buffer.allocUnsafeSlow(initialBytes)
    this.#end = batchPosition.records
    this.#recordCount = 0
    this.#lastOffsetDelta = -1
    this.#baseTimestamp = -1
    this.#maxTimestamp = -1
  }
}

/**
 * The most bytes that a record can take in a batch, whatever its offset and timestamp: to know before an
 * append whether a batch, or a request, can hold it.
 */
export function recordSizeMax(
  key: Uint8Array | null,
  value: Uint8Array | null,
  headers?: HeadersToWrite,
): number {
  const keyBytes = key === null ? 0 : key.length
  const valueBytes = value === null ? 0 : value.length
  return (
    recordOverheadMax + keyBytes + valueBytes + (headers === undefined ? 0 : headersSize(headers))
  )
}

/** Zigzag of a length, where -1 stands for null. */
function lengthCode(length: number): number {
  return length < 0 ? 1 : length << 1
}

function copyBytes(bytes: Buffer, start: number, source: Uint8Array): number {
  const length = source.length
  if (length > loopBytesMax) bytes.set(source, start)
  else for (let i = 0; i < length; i += 1) bytes[start + i] = source[i] as number
  return start + length
}
