/**
 * The header of a record batch, magic 2 (org.apache.kafka.common.record.DefaultRecordBatch). Big-endian.
 *
 *      0 int64  base offset               23 int32  last offset delta
 *      8 int32  length of what follows    27 int64  base timestamp
 *     12 int32  partition leader epoch    35 int64  max timestamp
 *     16 int8   magic                     43 int64  producer id
 *     17 uint32 CRC-32C of 21 to the end  51 int16  producer epoch
 *     21 int16  attributes                53 int32  base sequence
 *                                         57 int32  record count
 *                                         61        records, as a whole compressed or not
 *
 * The CRC does not cover what a broker sets when it appends a batch: base offset and leader epoch.
 */

export const batchPosition = {
  baseOffset: 0,
  length: 8,
  partitionLeaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordCount: 57,
  records: 61,
} as const

/** The length field counts what follows it. */
export const lengthEnd = 12

/** Bits of the attributes. The lowest three are the codec. */
export const batchAttribute = {
  compressionMask: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
} as const

/**
 * `create`: the producer's timestamps hold. `log-append`: the broker's time of the append, the max timestamp
 * of the batch, holds for every record.
 */
export type TimestampType = 'create' | 'log-append'

const highUnit = 0x1_0000_0000

/** Reads an int64 as a number: exact up to 2^53 in size, rounded beyond. */
export function readInt64(bytes: Buffer, position: number): number {
  return bytes.readInt32BE(position) * highUnit + bytes.readUInt32BE(position + 4)
}

/** Writes an integer of at most 2^53 in size as int64. */
export function writeInt64(bytes: Buffer, position: number, value: number): void {
  bytes.writeInt32BE(Math.floor(value / highUnit), position)
  bytes.writeUInt32BE(value >>> 0, position + 4)
}
