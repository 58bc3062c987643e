/**
 * Reads the records of a fetch response or of a log segment: record batches, one after the other
 * (org.apache.kafka.common.record.DefaultRecordBatch and DefaultRecord).
 *
 * A reader is a cursor. It moves over the batches with {@link RecordBatchReader.nextBatch}, and inside one
 * with {@link RecordBatchReader.next}; its properties then tell about the batch and the record it stands
 * on. Moving allocates nothing for a record: keys and values become objects when they are asked for.
 *
 *     reader.reset(bytes)
 *     while (reader.nextBatch()) {
 *       if (reader.isControl) continue
 *       while (reader.next()) use(reader.offset, reader.keyString(), reader.value())
 *     }
 */
import { emptyBytes } from '../base/bytes.ts'
import { readText } from '../base/text.ts'
import {
  decodeShortVarint,
  readShortVarint,
  readVarint,
  readVarlong,
  varintEnd,
} from '../base/varint.ts'
import { StreamsError } from '../errors.ts'
import {
  compressions,
  decompress,
  decompressedBytesMaxDefault,
  type Compression,
} from './compression.ts'
import { crc32c } from './crc32c.ts'
import {
  batchAttribute,
  batchPosition,
  lengthEnd,
  readInt64,
  type TimestampType,
} from './record-batch-layout.ts'
import { headerBytesMin, noHeaders, readHeaders, type RecordHeader } from './record-headers.ts'

export interface RecordBatchReaderOptions {
  /** Most bytes that one compressed batch may become; default 256 MiB. */
  readonly decompressedBytesMax?: number
}

/** A record has at least seven bytes: its length, and one for each part of its body. */
const recordBytesMin = 7

/** Attributes, and four numbers of three bytes each. */
const shortPrefixMax = 13

/** A cursor over record batches; see the module. All views are borrowed: copy what outlives the bytes. */
export class RecordBatchReader {
  readonly #decompressedBytesMax: number

  // The input, and the batch in it.
  #input: Buffer = emptyBytes
  #batchStart = 0
  #batchEnd = 0
  #baseOffset = 0
  #lastOffset = -1
  #partitionLeaderEpoch = -1
  #attributes = 0
  #baseTimestamp = -1
  #maxTimestamp = -1
  #producerId = -1
  #producerEpoch = -1
  #baseSequence = -1
  #recordCount = 0

  // The records of the batch: the input itself, or what was decompressed.
  #buffer: Buffer = emptyBytes
  #recordsOpen = false
  #recordsLeft = 0
  #recordsEnd = 0
  #recordEnd = 0

  // The record.
  #offset = -1
  #timestamp = -1
  #keyStart = 0
  #keyEnd = -1
  #valueStart = 0
  #valueEnd = -1
  #headersStart = 0
  #headerCount = 0

  constructor(options: RecordBatchReaderOptions = {}) {
    this.#decompressedBytesMax = options.decompressedBytesMax ?? decompressedBytesMaxDefault
  }

  /** Starts again, before the first batch of these bytes. */
  reset(bytes: Buffer): void {
    this.#input = bytes
    this.#batchStart = 0
    this.#batchEnd = 0
    this.#recordsLeft = 0
    this.#buffer = emptyBytes
  }

  /**
   * Moves to the next batch, whatever is left of the one before. False at the end; a last batch that is cut
   * off is the end too, because brokers cut responses by bytes.
   *
   * @throws StreamsError `RECORD_BATCH_CORRUPT`, `RECORD_BATCH_UNSUPPORTED`; the reader has then not moved,
   *   and fails again until it is reset.
   */
  nextBatch(): boolean {
    const bytes = this.#input
    const start = this.#batchEnd
    this.#recordsLeft = 0
    const available = bytes.length - start
    if (available < lengthEnd) return false
    const baseOffset = readInt64(bytes, start)
    const length = bytes.readInt32BE(start + batchPosition.length)
    // A length that cannot even hold the oldest format's header is no cut, it is damage.
    if (length < batchPosition.magic - lengthEnd + 1) {
      throw corrupt(baseOffset, `its length is ${length}`)
    }
    if (available < batchPosition.magic + 1) return false
    const magic = bytes[start + batchPosition.magic] as number
    if (magic < 2) throw new StreamsError('RECORD_BATCH_UNSUPPORTED', { offset: baseOffset, magic })
    if (magic > 2) throw corrupt(baseOffset, `its magic is ${magic}`)
    const end = start + lengthEnd + length
    if (end < start + batchPosition.records) throw corrupt(baseOffset, `its length is ${length}`)
    if (end > bytes.length) return false
    const crc = bytes.readUInt32BE(start + batchPosition.crc)
    const actualCrc = crc32c(bytes, start + batchPosition.attributes, end)
    if (crc !== actualCrc) {
      throw corrupt(baseOffset, `its CRC is ${actualCrc}, the header says ${crc}`)
    }
    this.#readHeader(start, end, baseOffset)
    return true
  }

  #readHeader(start: number, end: number, baseOffset: number): void {
    const bytes = this.#input
    const lastOffsetDelta = bytes.readInt32BE(start + batchPosition.lastOffsetDelta)
    const recordCount = bytes.readInt32BE(start + batchPosition.recordCount)
    const attributes = bytes.readInt16BE(start + batchPosition.attributes)
    const compression = attributes & batchAttribute.compressionMask
    if (baseOffset < 0) throw corrupt(baseOffset, 'its offset is negative')
    if (lastOffsetDelta < 0)
      throw corrupt(baseOffset, `its last offset delta is ${lastOffsetDelta}`)
    if (recordCount < 0) throw corrupt(baseOffset, `its record count is ${recordCount}`)
    if (compression >= compressions.length) throw corrupt(baseOffset, `its codec is ${compression}`)
    if (recordCount === 0 && end !== start + batchPosition.records) {
      throw corrupt(baseOffset, 'it has bytes but no records')
    }
    this.#batchStart = start
    this.#batchEnd = end
    this.#baseOffset = baseOffset
    this.#lastOffset = baseOffset + lastOffsetDelta
    this.#partitionLeaderEpoch = bytes.readInt32BE(start + batchPosition.partitionLeaderEpoch)
    this.#attributes = attributes
    this.#baseTimestamp = readInt64(bytes, start + batchPosition.baseTimestamp)
    this.#maxTimestamp = readInt64(bytes, start + batchPosition.maxTimestamp)
    this.#producerId = readInt64(bytes, start + batchPosition.producerId)
    this.#producerEpoch = bytes.readInt16BE(start + batchPosition.producerEpoch)
    this.#baseSequence = bytes.readInt32BE(start + batchPosition.baseSequence)
    this.#recordCount = recordCount
    this.#recordsLeft = recordCount
    this.#recordsOpen = false
  }

  /** Passes over what is left of this batch: {@link next} is false until the next batch. */
  skipBatch(): void {
    this.#recordsLeft = 0
  }

  /** Offset of the batch's first record, before compaction took some away. */
  get baseOffset(): number {
    return this.#baseOffset
  }

  /** Offset of the batch's last record; compaction keeps it even when that record is gone. */
  get lastOffset(): number {
    return this.#lastOffset
  }

  /** Where to fetch next when this batch is done. */
  get nextOffset(): number {
    return this.#lastOffset + 1
  }

  get partitionLeaderEpoch(): number {
    return this.#partitionLeaderEpoch
  }

  /** -1 when the producer was not idempotent; so are epoch and sequence. */
  get producerId(): number {
    return this.#producerId
  }

  get producerEpoch(): number {
    return this.#producerEpoch
  }

  get baseSequence(): number {
    return this.#baseSequence
  }

  get isTransactional(): boolean {
    return (this.#attributes & batchAttribute.transactional) !== 0
  }

  /** True when the records are markers of a transaction's end, not the user's. */
  get isControl(): boolean {
    return (this.#attributes & batchAttribute.control) !== 0
  }

  get timestampType(): TimestampType {
    return (this.#attributes & batchAttribute.logAppendTime) === 0 ? 'create' : 'log-append'
  }

  /** Milliseconds since 1970; -1 means none. */
  get baseTimestamp(): number {
    return this.#baseTimestamp
  }

  get maxTimestamp(): number {
    return this.#maxTimestamp
  }

  /** Records in the batch; zero is possible after compaction. */
  get recordCount(): number {
    return this.#recordCount
  }

  get compression(): Compression {
    return compressions[this.#attributes & batchAttribute.compressionMask] as Compression
  }

  /** Bytes of the batch as it came: header included, records compressed. */
  get sizeInBytes(): number {
    return this.#batchEnd - this.#batchStart
  }

  /** Where the batch starts in the bytes of {@link reset}. */
  get batchStart(): number {
    return this.#batchStart
  }

  /** Where the batch ends in the bytes of {@link reset}; at the end, where the last whole batch ended. */
  get batchEnd(): number {
    return this.#batchEnd
  }

  /** The batch as it came, as a view. */
  batchBytes(): Buffer {
    return this.#input.subarray(this.#batchStart, this.#batchEnd)
  }

  /**
   * Moves to the next record of this batch; false when there is none. The first call decompresses.
   *
   * @throws StreamsError `RECORD_BATCH_CORRUPT`, `COMPRESSION_UNAVAILABLE`; the reader has then not moved.
   */
  next(): boolean {
    if (this.#recordsLeft === 0) return false
    if (!this.#recordsOpen) this.#openRecords()
    if (!this.#nextShort()) this.#nextAny()
    this.#recordsLeft -= 1
    return true
  }

  /**
   * Takes nearly every record, in less than half the time: no number in it needs more than three bytes, it
   * has no headers, and it is not the last of all. Anything else, also what is malformed, is left to
   * {@link #nextAny}: false, and nothing was moved.
   */
  #nextShort(): boolean {
    const bytes = this.#buffer
    const limit = this.#recordsEnd
    let at = this.#recordEnd
    if (this.#recordsLeft === 1 || at + shortPrefixMax > limit) return false
    const length = readShortVarint(bytes, at)
    at += length & 3
    const end = at + (length >>> 3)
    if (length === 0 || (length & 4) !== 0 || end > limit) return false
    at += 1
    const timestampDelta = readShortVarint(bytes, at)
    at += timestampDelta & 3
    const offsetDelta = readShortVarint(bytes, at)
    at += offsetDelta & 3
    const keyLength = readShortVarint(bytes, at)
    if (timestampDelta === 0 || offsetDelta === 0 || keyLength === 0) return false
    const keyStart = at + (keyLength & 3)
    const keyEnd = keyStart + decodeShortVarint(keyLength)
    at = keyEnd < keyStart ? keyStart : keyEnd
    if (keyEnd < keyStart - 1 || at + 3 > limit) return false
    const valueLength = readShortVarint(bytes, at)
    const valueStart = at + (valueLength & 3)
    const valueEnd = valueStart + decodeShortVarint(valueLength)
    at = valueEnd < valueStart ? valueStart : valueEnd
    // One byte is left, and it says that there are no headers.
    if (valueLength === 0 || valueEnd < valueStart - 1 || at + 1 !== end || bytes[at] !== 0) {
      return false
    }
    this.#recordEnd = end
    this.#offset = this.#baseOffset + decodeShortVarint(offsetDelta)
    this.#timestamp =
      (this.#attributes & batchAttribute.logAppendTime) === 0
        ? this.#baseTimestamp + decodeShortVarint(timestampDelta)
        : this.#maxTimestamp
    this.#keyStart = keyStart
    this.#keyEnd = keyEnd
    this.#valueStart = valueStart
    this.#valueEnd = valueEnd
    this.#headersStart = end
    this.#headerCount = 0
    return true
  }

  /** Takes a record of any form, and says what is wrong with one that is malformed. */
  #nextAny(): void {
    const bytes = this.#buffer
    const length = readVarint(bytes, this.#recordEnd, this.#recordsEnd)
    if (varintEnd < 0) throw this.#corrupt('the length of a record is malformed')
    const start = varintEnd
    const end = start + length
    if (length < recordBytesMin - 1 || end > this.#recordsEnd) {
      throw this.#corrupt(`a record of ${length} bytes does not fit`)
    }
    // The first byte of a record holds attributes, of which none is in use.
    const timestampDelta = readVarlong(bytes, start + 1, end)
    if (varintEnd < 0) throw this.#corrupt('a timestamp is malformed')
    const offsetDelta = readVarint(bytes, varintEnd, end)
    if (varintEnd < 0) throw this.#corrupt('an offset is malformed')
    const keyLength = readVarint(bytes, varintEnd, end)
    const keyStart = varintEnd
    const keyEnd = keyStart + keyLength
    if (keyStart < 0 || keyLength < -1 || keyEnd > end) throw this.#corrupt('a key does not fit')
    const valueLength = readVarint(bytes, keyLength < 0 ? keyStart : keyEnd, end)
    const valueStart = varintEnd
    const valueEnd = valueStart + valueLength
    if (valueStart < 0 || valueLength < -1 || valueEnd > end) {
      throw this.#corrupt('a value does not fit')
    }
    const headerCount = readVarint(bytes, valueLength < 0 ? valueStart : valueEnd, end)
    const headersStart = varintEnd
    if (headersStart < 0 || headerCount < 0 || headerCount * headerBytesMin > end - headersStart) {
      throw this.#corrupt('the headers do not fit')
    }
    if (headerCount === 0 && headersStart !== end) throw this.#corrupt('a record has extra bytes')
    if (this.#recordsLeft === 1 && end !== this.#recordsEnd) {
      throw this.#corrupt(`it has more than ${this.#recordCount} records`)
    }
    this.#recordEnd = end
    this.#offset = this.#baseOffset + offsetDelta
    this.#timestamp =
      (this.#attributes & batchAttribute.logAppendTime) === 0
        ? this.#baseTimestamp + timestampDelta
        : this.#maxTimestamp
    this.#keyStart = keyStart
    this.#keyEnd = keyEnd
    this.#valueStart = valueStart
    this.#valueEnd = valueEnd
    this.#headersStart = headersStart
    this.#headerCount = headerCount
  }

  #openRecords(): void {
    const start = this.#batchStart + batchPosition.records
    if (this.compression === 'none') {
      this.#buffer = this.#input
      this.#recordEnd = start
      this.#recordsEnd = this.#batchEnd
    } else {
      this.#buffer = decompress(this.compression, this.#input.subarray(start, this.#batchEnd), {
        bytesMax: this.#decompressedBytesMax,
        offset: this.#baseOffset,
      })
      this.#recordEnd = 0
      this.#recordsEnd = this.#buffer.length
    }
    this.#recordsOpen = true
  }

  get offset(): number {
    return this.#offset
  }

  /** Milliseconds since 1970; -1 means none. In a `log-append` batch the broker's time. */
  get timestamp(): number {
    return this.#timestamp
  }

  /** The bytes that {@link keyStart} and the other positions refer to. */
  get buffer(): Buffer {
    return this.#buffer
  }

  get hasKey(): boolean {
    return this.#keyEnd >= this.#keyStart
  }

  get hasValue(): boolean {
    return this.#valueEnd >= this.#valueStart
  }

  get keyStart(): number {
    return this.#keyStart
  }

  /** One less than the start when the key is null. */
  get keyEnd(): number {
    return this.#keyEnd
  }

  get valueStart(): number {
    return this.#valueStart
  }

  /** One less than the start when the value is null. */
  get valueEnd(): number {
    return this.#valueEnd
  }

  /** The key as a view. */
  key(): Buffer | null {
    return this.hasKey ? this.#buffer.subarray(this.#keyStart, this.#keyEnd) : null
  }

  /** The value as a view. */
  value(): Buffer | null {
    return this.hasValue ? this.#buffer.subarray(this.#valueStart, this.#valueEnd) : null
  }

  /** The key as UTF-8 text, without a view in between. */
  keyString(): string | null {
    return this.hasKey ? readText(this.#buffer, this.#keyStart, this.#keyEnd) : null
  }

  /** The value as UTF-8 text, without a view in between. */
  valueString(): string | null {
    return this.hasValue ? readText(this.#buffer, this.#valueStart, this.#valueEnd) : null
  }

  get headerCount(): number {
    return this.#headerCount
  }

  /**
   * The headers, decoded at this call.
   *
   * @throws StreamsError `RECORD_BATCH_CORRUPT`.
   */
  headers(): readonly RecordHeader[] {
    if (this.#headerCount === 0) return noHeaders
    return readHeaders(this.#buffer, {
      start: this.#headersStart,
      end: this.#recordEnd,
      count: this.#headerCount,
      batchOffset: this.#baseOffset,
    })
  }

  #corrupt(detail: string): StreamsError {
    return corrupt(this.#baseOffset, detail)
  }
}

function corrupt(offset: number, detail: string): StreamsError {
  return new StreamsError('RECORD_BATCH_CORRUPT', { offset, detail })
}
