import { expect, test } from 'vitest'
import { decodePartitionTime, encodePartitionTime } from './topic-partition-metadata.ts'

// Made by Kafka Streams 4.4.0: new TopicPartitionMetadata(time, new ProcessorMetadata()).encode().
const vectors: [partitionTime: number, metadata: string][] = [
  [-1, 'Av//////////'],
  [0, 'AgAAAAAAAAAA'],
  [1, 'AgAAAAAAAAAB'],
  [1700000000000, 'AgAAAYvP5WgA'],
  [9007199254740991, 'AgAf////////'],
]

test.each(vectors)('the partition time %d is written as Kafka Streams writes it', (time, text) => {
  expect(encodePartitionTime(time)).toBe(text)
  expect(decodePartitionTime(text)).toBe(time)
})

test('the time is read beside metadata of processors', () => {
  expect(decodePartitionTime('AgAAAAAAAAAFAAAAAQAAAARub2RlAAAAAAAAAAc=')).toBe(5)
})

test('version 1 has the time alone', () => {
  expect(decodePartitionTime('AQAAAAAAAAAF')).toBe(5)
})

test.each(['', 'AgAAAA', 'CQAAAAAAAAAF', 'written by somebody else'])(
  'metadata that is not ours holds no time: %j',
  (text) => {
    expect(decodePartitionTime(text)).toBe(-1)
  },
)
