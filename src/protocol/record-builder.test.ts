import { expect, test } from 'vitest'
import { AssertionError } from '../base/assert.ts'
import { RecordBatchReader } from './record-batch.ts'
import { RecordBatchBuilder, recordSizeMax } from './record-builder.ts'

const producer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }

function keysOf(batch: Buffer): (string | null)[] {
  const reader = new RecordBatchReader()
  reader.reset(batch)
  const keys: (string | null)[] = []
  while (reader.nextBatch()) while (reader.next()) keys.push(reader.keyString())
  return keys
}

test('the size is exact after every append', () => {
  const builder = new RecordBatchBuilder()
  expect([builder.sizeInBytes, builder.isEmpty, builder.recordCount]).toEqual([61, true, 0])
  for (let i = 0; i < 300; i += 1) {
    builder.append(Buffer.alloc(i), i % 3 === 0 ? null : Buffer.alloc(i * 9), i * 1000, [
      ['é', Buffer.alloc(i % 70)],
    ])
    expect(builder.build(producer)).toHaveLength(builder.sizeInBytes)
  }
  expect([builder.isEmpty, builder.recordCount, builder.maxTimestamp]).toEqual([false, 300, 299000])
})

test('a text key gives the same bytes as its UTF-8, of any length and alphabet', () => {
  const keys = [
    '',
    'a',
    'key-0000001',
    'x'.repeat(48),
    'x'.repeat(49),
    'ключ',
    'aé',
    '🔑',
    'x'.repeat(900),
  ]
  const texts = new RecordBatchBuilder()
  const bytes = new RecordBatchBuilder()
  for (const key of keys) {
    texts.appendStringKey(key, Buffer.from('v'), 5, [['h', null]])
    bytes.append(Buffer.from(key), Buffer.from('v'), 5, [['h', null]])
  }
  expect(texts.build(producer).equals(bytes.build(producer))).toBe(true)
  expect(keysOf(texts.build(producer))).toEqual(keys)
})

test('what is appended is copied', () => {
  const builder = new RecordBatchBuilder()
  const key = Buffer.from('key')
  builder.append(key, null, 0)
  key.fill(0)
  expect(keysOf(builder.build(producer))).toEqual(['key'])
})

test('a finished batch is not changed by what comes after', () => {
  const builder = new RecordBatchBuilder()
  builder.append(Buffer.from('one'), null, 0)
  const batch = builder.build(producer)
  builder.reset()
  builder.append(Buffer.from('two'), null, 0)
  builder.build(producer)
  expect(keysOf(batch)).toEqual(['one'])
})

test('a batch can be built again with another producer', () => {
  const builder = new RecordBatchBuilder()
  builder.append(Buffer.from('one'), null, 0)
  builder.build(producer)
  const reader = new RecordBatchReader()
  reader.reset(builder.build({ producerId: 9, producerEpoch: 2, baseSequence: 30 }))
  expect(reader.nextBatch()).toBe(true)
  expect(reader).toMatchObject({ producerId: 9, producerEpoch: 2, baseSequence: 30 })
})

test('a builder starts anew after a reset, also after a batch of many megabytes', () => {
  const builder = new RecordBatchBuilder()
  builder.append(null, Buffer.alloc(5 << 20, 'x'), 1_000_000)
  expect(builder.build(producer)).toHaveLength(builder.sizeInBytes)
  builder.reset()
  expect([builder.sizeInBytes, builder.isEmpty, builder.maxTimestamp]).toEqual([61, true, -1])
  builder.append(Buffer.from('k'), null, 5)
  const reader = new RecordBatchReader()
  reader.reset(builder.build(producer))
  reader.nextBatch()
  reader.next()
  expect(reader).toMatchObject({ offset: 0, timestamp: 5, baseTimestamp: 5, maxTimestamp: 5 })
})

test('records without a timestamp have -1', () => {
  const builder = new RecordBatchBuilder()
  builder.append(null, null, -1)
  builder.append(null, null, -1)
  const reader = new RecordBatchReader()
  reader.reset(builder.build(producer))
  reader.nextBatch()
  expect([reader.baseTimestamp, reader.maxTimestamp]).toEqual([-1, -1])
  while (reader.next()) expect(reader.timestamp).toBe(-1)
})

test('the last offset of a batch can outlive its record', () => {
  const builder = new RecordBatchBuilder()
  builder.appendAt(2, Buffer.from('k'), null, 0)
  const reader = new RecordBatchReader()
  reader.reset(builder.build({ ...producer, baseOffset: 10, lastOffsetDelta: 6 }))
  reader.nextBatch()
  reader.next()
  expect([reader.offset, reader.lastOffset, reader.nextOffset]).toEqual([12, 16, 17])
})

test('an empty list of headers is the same as none', () => {
  const [listed, none] = [new RecordBatchBuilder(), new RecordBatchBuilder()]
  listed.append(Buffer.from('k'), null, 0, [])
  none.append(Buffer.from('k'), null, 0)
  expect(listed.build(producer).equals(none.build(producer))).toBe(true)
})

test('the most that a record can take is never exceeded', () => {
  const headers = [['name', Buffer.alloc(10)]] as const
  for (const [key, value] of [
    [null, null],
    [Buffer.alloc(10), Buffer.alloc(70_000)],
  ] as const) {
    const builder = new RecordBatchBuilder()
    builder.append(key, value, 0)
    const before = builder.sizeInBytes
    builder.appendAt(2_000_000_000 / 2, key, value, -9_000_000_000_000_000, headers)
    const taken = builder.sizeInBytes - before
    expect(recordSizeMax(key, value, headers)).toBeGreaterThanOrEqual(taken)
    expect(recordSizeMax(key, value, headers)).toBeLessThan(taken + 20)
  }
})

test('offsets that do not ascend, and batches without records, are bugs', () => {
  const builder = new RecordBatchBuilder()
  expect(() => builder.build(producer)).toThrow(AssertionError)
  builder.appendAt(3, null, null, 0)
  expect(() => {
    builder.appendAt(3, null, null, 0)
  }).toThrow(AssertionError)
  expect(() => builder.build({ ...producer, lastOffsetDelta: 2 })).toThrow(AssertionError)
})
