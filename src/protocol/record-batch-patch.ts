/**
 * Changes to a finished batch, in place: what a broker sets when it appends a batch to its log, and a
 * producer before it sends one again. The bytes are one whole batch that was verified before.
 *
 * The CRC covers everything from the attributes on. Base offset and leader epoch lie before it, so that a
 * broker can set them without reading the records again.
 */
import { crc32c } from './crc32c.ts'
import { batchAttribute, batchPosition, writeInt64 } from './record-batch-layout.ts'

/** Sets the offset of the first record; all others follow. Leaves the CRC as it is. */
export function patchBaseOffset(batch: Buffer, baseOffset: number): void {
  writeInt64(batch, batchPosition.baseOffset, baseOffset)
}

/** Sets the epoch of the leader that appended the batch. Leaves the CRC as it is. */
export function patchLeaderEpoch(batch: Buffer, partitionLeaderEpoch: number): void {
  batch.writeInt32BE(partitionLeaderEpoch, batchPosition.partitionLeaderEpoch)
}

/** Gives all records of the batch the time of the append (`LogAppendTime`), in ms; renews the CRC. */
export function patchLogAppendTime(batch: Buffer, timestamp: number): void {
  const attributes = batch.readInt16BE(batchPosition.attributes)
  batch.writeInt16BE(attributes | batchAttribute.logAppendTime, batchPosition.attributes)
  writeInt64(batch, batchPosition.maxTimestamp, timestamp)
  sealBatch(batch)
}

/** Numbers the batch anew after the producer's epoch changed (KIP-360); renews the CRC. */
export function patchProducer(
  batch: Buffer,
  producer: { readonly id: number; readonly epoch: number; readonly baseSequence: number },
): void {
  writeInt64(batch, batchPosition.producerId, producer.id)
  batch.writeInt16BE(producer.epoch, batchPosition.producerEpoch)
  batch.writeInt32BE(producer.baseSequence, batchPosition.baseSequence)
  sealBatch(batch)
}

/** Writes the CRC that belongs to the bytes. */
export function sealBatch(batch: Buffer): void {
  batch.writeUInt32BE(crc32c(batch, batchPosition.attributes), batchPosition.crc)
}
