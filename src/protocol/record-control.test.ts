import { expect, test } from 'vitest'
import { RecordBatchReader } from './record-batch.ts'
import { RecordBatchBuilder } from './record-builder.ts'
import { buildControlBatch, readControlType } from './record-control.ts'

function onFirstRecord(batch: Buffer): RecordBatchReader {
  const reader = new RecordBatchReader()
  reader.reset(batch)
  reader.nextBatch()
  reader.next()
  return reader
}

test.each(['commit', 'abort'] as const)('a %s marker says so', (type) => {
  const reader = onFirstRecord(
    buildControlBatch({
      type,
      producerId: 8,
      producerEpoch: 2,
      timestamp: 1700000000000,
      coordinatorEpoch: 3,
      baseOffset: 44,
    }),
  )
  expect(readControlType(reader)).toBe(type)
  expect(reader).toMatchObject({ offset: 44, isControl: true, producerId: 8, producerEpoch: 2 })
})

test.each([
  ['no key', null],
  ['a key that is cut off', Buffer.from([0, 0, 0])],
])('a marker with %s is corrupt', (_name, key) => {
  const builder = new RecordBatchBuilder()
  builder.append(key, null, 0)
  const reader = onFirstRecord(
    builder.build({
      baseOffset: 3,
      producerId: 1,
      producerEpoch: 0,
      baseSequence: -1,
      isControl: true,
    }),
  )
  expect(() => readControlType(reader)).toThrow(
    'A record batch at offset 3 is corrupt: its marker has no type.',
  )
})
