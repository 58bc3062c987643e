import { expect, test } from 'vitest'
import { ProcessorMetadata } from './processor-metadata.ts'
import { decodeMetadata, encodeMetadata } from './topic-partition-metadata.ts'

// Made by Kafka Streams 4.4.0: new TopicPartitionMetadata(time, new ProcessorMetadata()).encode().
const times: [partitionTime: number, metadata: string][] = [
  [-1, 'Av//////////'],
  [0, 'AgAAAAAAAAAA'],
  [1, 'AgAAAAAAAAAB'],
  [1700000000000, 'AgAAAYvP5WgA'],
  [9007199254740991, 'AgAf////////'],
]

test.each(times)('the partition time %d is written as Kafka Streams writes it', (time, text) => {
  expect(encodeMetadata(time, new ProcessorMetadata())).toBe(text)
  expect(decodeMetadata(text)).toEqual({ partitionTime: time, processors: new Map() })
})

// As above, with the time 42 and a put for each value.
const values: [values: [string, number][], metadata: string][] = [
  [[['counts', 5]], 'AgAAAAAAAAAqAAAAAQAAAAZjb3VudHMAAAAAAAAABQ=='],
  [
    [
      ['KSTREAM-AGGREGATE-STATE-STORE-0000000003', 1700000000000],
      ['sessions', -7],
    ],
    'AgAAAAAAAAAqAAAAAgAAAChLU1RSRUFNLUFHR1JFR0FURS1TVEFURS1TVE9SRS0wMDAwMDAwMDAzAAABi8/laAAAAAAIc2Vzc2lvbnP/////////+Q==',
  ],
  [
    [
      ['b', 1],
      ['a', 2],
      ['Aa', 3],
      ['BB', 4],
      ['é', 5],
    ],
    'AgAAAAAAAAAqAAAABQAAAAJBYQAAAAAAAAADAAAAAkJCAAAAAAAAAAQAAAABYQAAAAAAAAACAAAAAWIAAAAAAAAAAQAAAALDqQAAAAAAAAAF',
  ],
]

test.each(values)('what processors keep is written as Kafka Streams writes it: %j', (set, text) => {
  const processors = new ProcessorMetadata()
  for (const [key, value] of set) processors.set(key, value)

  expect(encodeMetadata(42, processors)).toBe(text)
  expect(decodeMetadata(text)).toEqual({ partitionTime: 42, processors: new Map(set) })
})

test('version 1 has the time alone', () => {
  expect(decodeMetadata('AQAAAAAAAAAF')).toEqual({ partitionTime: 5, processors: new Map() })
})

test.each(['', 'AgAAAA', 'CQAAAAAAAAAF', 'written by somebody else'])(
  'metadata that is not ours says nothing: %j',
  (text) => {
    expect(decodeMetadata(text)).toEqual({ partitionTime: -1, processors: new Map() })
  },
)

test.each([
  // One value is announced, none is there; a key is longer than what follows; its length is negative.
  'AgAAAAAAAAAqAAAAAQ==',
  'AgAAAAAAAAAqAAAAAQAAAP9jb3VudHMAAAAAAAAABQ==',
  'AgAAAAAAAAAqAAAAAf////9jb3VudHMAAAAAAAAABQ==',
])('metadata of processors that is cut off is passed over, the time is read: %j', (text) => {
  expect(decodeMetadata(text)).toEqual({ partitionTime: 42, processors: new Map() })
})

test('of several partitions the largest value of a key counts, and none of them is new', () => {
  const metadata = new ProcessorMetadata()
  metadata.merge(
    new Map([
      ['a', 5],
      ['b', 1],
    ]),
  )
  metadata.merge(
    new Map([
      ['a', 3],
      ['b', 2],
    ]),
  )

  expect([metadata.get('a'), metadata.get('b'), metadata.get('c')]).toEqual([5, 2, undefined])
  expect(metadata.needsCommit).toBe(false)
})
