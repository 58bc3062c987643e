import { expect, test } from 'vitest'
import { RecordBatchReader } from './record-batch.ts'
import {
  patchBaseOffset,
  patchLeaderEpoch,
  patchLogAppendTime,
  patchProducer,
} from './record-batch-patch.ts'
import { RecordBatchBuilder } from './record-builder.ts'

function twoRecords(): Buffer {
  const builder = new RecordBatchBuilder()
  builder.append(Buffer.from('a'), null, 1000)
  builder.append(Buffer.from('b'), null, 2000)
  return builder.build({ producerId: 5, producerEpoch: 0, baseSequence: 0 })
}

/** Reads the batch, which verifies its CRC. */
function readerOn(batch: Buffer): RecordBatchReader {
  const reader = new RecordBatchReader()
  reader.reset(batch)
  expect(reader.nextBatch()).toBe(true)
  return reader
}

test('base offset and leader epoch change without the CRC', () => {
  const batch = twoRecords()
  const crc = batch.readUInt32BE(17)
  patchBaseOffset(batch, 9007199254740000)
  patchLeaderEpoch(batch, 12)
  const reader = readerOn(batch)
  expect(reader).toMatchObject({ lastOffset: 9007199254740001, partitionLeaderEpoch: 12 })
  reader.next()
  expect(reader.offset).toBe(9007199254740000)
  expect(batch.readUInt32BE(17)).toBe(crc)
})

test('the time of the append replaces that of every record', () => {
  const batch = twoRecords()
  patchLogAppendTime(batch, 5000)
  const reader = readerOn(batch)
  expect(reader).toMatchObject({ timestampType: 'log-append', maxTimestamp: 5000 })
  while (reader.next()) expect(reader.timestamp).toBe(5000)
  expect(reader.offset).toBe(1)
})

test('a batch can be given to another epoch of the producer', () => {
  const batch = twoRecords()
  patchProducer(batch, { id: 6, epoch: 1, baseSequence: 70 })
  expect(readerOn(batch)).toMatchObject({ producerId: 6, producerEpoch: 1, baseSequence: 70 })
})
