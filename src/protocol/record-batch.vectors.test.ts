/**
 * Batches that Kafka's own classes made (kafka-clients 4.1.0, conformance/java/RecordBatchVectors.java):
 * they are read as what went in, and what is not compressed is built again byte for byte.
 */
import { readFileSync } from 'node:fs'
import zlib from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Compression } from './compression.ts'
import { RecordBatchReader } from './record-batch.ts'
import { RecordBatchBuilder, type BuildOptions } from './record-builder.ts'
import { buildControlBatch, readControlType } from './record-control.ts'
import type { HeadersToWrite } from './record-headers.ts'

const vectors = JSON.parse(
  readFileSync(new URL('record-batch.vectors.json', import.meta.url), 'utf8'),
) as Record<string, string>

const vector = (name: string): Buffer => Buffer.from(vectors[name] ?? '', 'hex')

type Row = [
  timestamp: number,
  key: Buffer | string | null,
  value: Buffer | string | null,
  headers?: [string, Buffer | string | null][],
]

const counting = Buffer.from(Array.from({ length: 256 }, (_, i) => i))

const smallRecords: Row[] = [
  [1700000000000, 'key', 'value'],
  [1700000000001, null, 'no key', [['trace', 'abc']]],
  [
    1699999999000,
    'no value',
    null,
    [
      ['null', null],
      ['', ''],
      ['null', 'again'],
    ],
  ],
  [1700000500000, null, null],
  [1700000000002, '', ''],
  [1700000000003, 'schlüssel-ключ-🔑', 'é', [['ключ', 'ü']]],
  [1700000000004, counting.subarray(0, 70), counting],
]

const bytes = (value: Buffer | string | null): Buffer | null =>
  typeof value === 'string' ? Buffer.from(value) : value

const headers = (row: Row): HeadersToWrite =>
  (row[3] ?? []).map(([name, value]) => [name, bytes(value)] as const)

/** One record in a form that compares quickly: bytes as latin1 text, null as null. */
interface Seen {
  offset: number
  timestamp: number
  key: string | null
  value: string | null
  headers: (readonly [string, string | null])[]
}

const latin1 = (value: Buffer | null): string | null => value && value.toString('latin1')

/** What the reader says of all records of all batches. */
function read(batches: Buffer): Seen[] {
  const reader = new RecordBatchReader()
  const records: Seen[] = []
  reader.reset(batches)
  while (reader.nextBatch()) {
    while (reader.next()) {
      records.push({
        offset: reader.offset,
        timestamp: reader.timestamp,
        key: latin1(reader.key()),
        value: latin1(reader.value()),
        headers: reader.headers().map(([name, value]) => [name, latin1(value)]),
      })
    }
  }
  return records
}

/** The same, from what went in. */
function expected(rows: readonly Row[], offset: (index: number) => number): Seen[] {
  return rows.map(([timestamp, key, value, headers], index) => ({
    offset: offset(index),
    timestamp,
    key: latin1(bytes(key)),
    value: latin1(bytes(value)),
    headers: (headers ?? []).map(([name, value]) => [name, latin1(bytes(value))]),
  }))
}

function batchOf(name: string): RecordBatchReader {
  const reader = new RecordBatchReader()
  reader.reset(vector(name))
  expect(reader.nextBatch()).toBe(true)
  return reader
}

function build(rows: readonly Row[], options: Partial<BuildOptions>): string {
  const builder = new RecordBatchBuilder()
  for (const row of rows) builder.append(bytes(row[1]), bytes(row[2]), row[0], headers(row))
  const batch = builder.build({ producerId: -1, producerEpoch: -1, baseSequence: -1, ...options })
  return batch.toString('hex')
}

test('keys, values, headers and timestamps are read, null apart from empty', () => {
  expect(read(vector('plain'))).toEqual(expected(smallRecords, (i) => 1234567890123 + i))
})

test('the same batch is built', () => {
  const options = { baseOffset: 1234567890123, partitionLeaderEpoch: 7 }
  expect(build(smallRecords, options)).toBe(vectors['plain'])
})

test('the header of a plain batch is read', () => {
  expect(batchOf('plain')).toMatchObject({
    baseOffset: 1234567890123,
    lastOffset: 1234567890129,
    nextOffset: 1234567890130,
    partitionLeaderEpoch: 7,
    producerId: -1,
    producerEpoch: -1,
    baseSequence: -1,
    isTransactional: false,
    isControl: false,
    timestampType: 'create',
    baseTimestamp: 1700000000000,
    maxTimestamp: 1700000500000,
    recordCount: 7,
    compression: 'none',
    sizeInBytes: 531,
  })
})

test('an idempotent batch carries its producer', () => {
  expect(batchOf('idempotent')).toMatchObject({
    producerId: 4242,
    producerEpoch: 3,
    baseSequence: 2147483000,
    isTransactional: false,
  })
  const options = { producerId: 4242, producerEpoch: 3, baseSequence: 2147483000 }
  expect(build(smallRecords, options)).toBe(vectors['idempotent'])
})

test('a transactional batch says so, with the largest exact producer id', () => {
  expect(batchOf('transactional')).toMatchObject({
    baseOffset: 5,
    producerId: 9007199254740991,
    producerEpoch: 32767,
    isTransactional: true,
    isControl: false,
  })
  const options = {
    baseOffset: 5,
    producerId: 9007199254740991,
    producerEpoch: 32767,
    baseSequence: 0,
    isTransactional: true,
    partitionLeaderEpoch: 0,
  }
  expect(build(smallRecords, options)).toBe(vectors['transactional'])
})

test('the time of the append holds for every record of a log-append batch', () => {
  expect(batchOf('logAppendTime')).toMatchObject({
    timestampType: 'log-append',
    maxTimestamp: 1700000009999,
  })
  const atAppend = smallRecords.map((row) => [1700000009999, ...row.slice(1)] as Row)
  expect(read(vector('logAppendTime'))).toEqual(expected(atAppend, (i) => 10 + i))
})

test('a batch with a delete horizon keeps its timestamps', () => {
  expect(read(vector('deleteHorizon'))).toEqual(expected(smallRecords, (i) => 10 + i))
})

test('offsets with gaps, as compaction leaves them, are read and built', () => {
  const time = 1700000000000
  const rows: Row[] = [
    [time, 'a', '1'],
    [time, 'b', '2'],
    [time, 'c', '3'],
  ]
  const offsets = [101, 164, 100000]
  expect(read(vector('gaps'))).toEqual(expected(rows, (i) => offsets[i] ?? -1))
  expect(batchOf('gaps')).toMatchObject({ baseOffset: 100, lastOffset: 100000 })

  const builder = new RecordBatchBuilder()
  rows.forEach((row, i) => {
    builder.appendAt((offsets[i] ?? 0) - 100, bytes(row[1]), bytes(row[2]), row[0])
  })
  const producer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
  const batch = builder.build({ baseOffset: 100, partitionLeaderEpoch: 2, ...producer })
  expect(batch.toString('hex')).toBe(vectors['gaps'])
})

test('timestamps far apart, before and after the first, are read and built', () => {
  const timestamps = [
    1000, 0, 9007199254740991, 1063, 1064, 936, 935, 1073741824, 2147483648, 1099511627776,
  ]
  const rows = timestamps.map((timestamp): Row => [timestamp, 't', null])
  expect(read(vector('timestamps'))).toEqual(expected(rows, (i) => i))
  expect(batchOf('timestamps').maxTimestamp).toBe(9007199254740991)
  expect(build(rows, {})).toBe(vectors['timestamps'])
})

const hasZstd = 'zstdDecompressSync' in zlib
const codecs: Compression[] = hasZstd
  ? ['gzip', 'snappy', 'lz4', 'zstd']
  : ['gzip', 'snappy', 'lz4']

describe.each(codecs)('%s', (compression) => {
  const rows = Array.from({ length: 300 }, (_, i): Row => [
    1700000000000 + i * 10,
    `key-${i}`,
    `value-${i % 7};`.repeat(30),
  ])

  test('is read as Java compressed it', () => {
    expect(read(vector(compression))).toEqual(expected(rows, (i) => 1000 + i))
    expect(batchOf(compression)).toMatchObject({
      compression,
      baseOffset: 1000,
      lastOffset: 1299,
      producerId: 77,
      producerEpoch: 1,
      baseSequence: 50,
      partitionLeaderEpoch: 4,
      recordCount: 300,
      sizeInBytes: vector(compression).length,
    })
  })

  test('is read as it was built here', () => {
    const batch = Buffer.from(build(rows, { compression }), 'hex')
    expect(batch.length).toBeLessThan(20_000)
    expect(read(batch)).toEqual(expected(rows, (i) => i))
  })
})

test.skipIf(hasZstd)('a zstd batch names the Node version that can read it', () => {
  const reader = batchOf('zstd')
  expect(() => reader.next()).toThrow(
    `The codec zstd is not available here: zstd needs Node 22.15 or newer, this is ${process.version}.`,
  )
})

test('batches follow each other, and the cut-off last one is the end', () => {
  const whole = Buffer.concat([vector('plain'), vector('gzip'), vector('gaps')])
  const cut = Buffer.concat([whole, vector('plain').subarray(0, 300)])
  expect(read(cut)).toHaveLength(7 + 300 + 3)
  expect(read(cut)).toEqual(read(whole))
})

test('the markers of commit and abort are read and built', () => {
  for (const type of ['commit', 'abort'] as const) {
    const reader = batchOf(type)
    expect(reader).toMatchObject({
      baseOffset: type === 'commit' ? 33 : 34,
      isControl: true,
      isTransactional: true,
      producerId: 4242,
      producerEpoch: 3,
      baseSequence: -1,
      recordCount: 1,
    })
    expect(reader.next()).toBe(true)
    expect(readControlType(reader)).toBe(type)
    expect(reader.next()).toBe(false)
  }
  const shared = { producerId: 4242, producerEpoch: 3, partitionLeaderEpoch: 6 }
  const commit = buildControlBatch({
    type: 'commit',
    ...shared,
    timestamp: 1700000000000,
    coordinatorEpoch: 12,
    baseOffset: 33,
  })
  const abort = buildControlBatch({
    type: 'abort',
    ...shared,
    timestamp: 1700000000001,
    coordinatorEpoch: 13,
    baseOffset: 34,
  })
  expect(commit.toString('hex')).toBe(vectors['commit'])
  expect(abort.toString('hex')).toBe(vectors['abort'])
})

test('a marker of the cluster itself is neither commit nor abort', () => {
  const reader = batchOf('leaderChange')
  expect(reader.isControl).toBe(true)
  expect(reader.next()).toBe(true)
  expect(readControlType(reader)).toBe('other')
})

test('a batch that compaction emptied is passed over with its offsets', () => {
  const reader = batchOf('empty')
  expect(reader).toMatchObject({
    baseOffset: 200,
    lastOffset: 205,
    nextOffset: 206,
    recordCount: 0,
  })
  expect(reader.next()).toBe(false)
  expect(reader.nextBatch()).toBe(false)
})

test.each([0, 1])('the format of magic %i is refused by name', (magic) => {
  const reader = new RecordBatchReader()
  reader.reset(vector(`magic${magic}`))
  expect(() => reader.nextBatch()).toThrow(
    expect.objectContaining({ code: 'RECORD_BATCH_UNSUPPORTED', context: { offset: 3, magic } }),
  )
})
