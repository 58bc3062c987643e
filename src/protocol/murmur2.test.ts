import { expect, test } from 'vitest'
import { murmur2, partitionForKey } from './murmur2.ts'

test('hashes are those of Kafka: the strings of its own UtilsTest', () => {
  const hash = (text: string): number => murmur2(Buffer.from(text))
  expect(hash('21')).toBe(-973932308)
  expect(hash('foobar')).toBe(-790332482)
  expect(hash('a-little-bit-long-string')).toBe(-985981536)
  expect(hash('a-little-bit-longer-string')).toBe(-1486304829)
  expect(hash('lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8')).toBe(-58897971)
  expect(hash('abc')).toBe(479470107)
})

test('bytes above 0x7F and every length of the tail hash as in kafka-clients 4.1.0', () => {
  const hash = (length: number): number => murmur2(Uint8Array.from({ length }, (_, i) => 255 - i))
  expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 31, 256].map(hash)).toEqual([
    275646681, -311467685, 1717632651, 998637092, 2136149935, 524068735, -1374838545, -166236347,
    2069784301, 475946582, -1141900935,
  ])
})

test('text keys go to the partitions that Java chooses', () => {
  const partitions = Object.fromEntries(
    'alice bob carol dave erin user-123 order-1 a b c kafka hello world'
      .split(' ')
      .map((key) => [key, partitionForKey(Buffer.from(key), 4)]),
  )
  expect(partitions).toEqual({
    alice: 1,
    bob: 2,
    carol: 2,
    dave: 2,
    erin: 0,
    'user-123': 0,
    'order-1': 2,
    a: 0,
    b: 0,
    c: 2,
    kafka: 0,
    hello: 1,
    world: 0,
  })
})

test('big-endian numbers go to the partitions that Java chooses', () => {
  const int32 = (value: number): number => {
    const key = Buffer.alloc(4)
    key.writeInt32BE(value)
    return partitionForKey(key, 4)
  }
  const int64 = (value: bigint): number => {
    const key = Buffer.alloc(8)
    key.writeBigInt64BE(value)
    return partitionForKey(key, 4)
  }
  expect([0, 1, 2, 7, 42, 12345, -1].map(int32)).toEqual([0, 0, 3, 3, 0, 2, 1])
  expect([0n, 1n, 42n, -1n].map(int64)).toEqual([3, 0, 0, 1])
})
