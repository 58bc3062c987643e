/**
 * Random records through every codec, compared with what went in and with kafkajs; and damaged batches,
 * which end cleanly or as a known error. Where the CRC would hide the damage it is renewed.
 */
import { createRequire } from 'node:module'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isStreamsError, messageOf } from '../errors.ts'
import { compressions, type Compression } from './compression.ts'
import { RecordBatchReader } from './record-batch.ts'
import { sealBatch } from './record-batch-patch.ts'
import { RecordBatchBuilder } from './record-builder.ts'

const require = createRequire(import.meta.url)

/** Tests are the same in every run; another seed is for the one who looks for more. */
const seed = 20

interface KafkajsRecord {
  readonly offset: string
  readonly timestamp: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Record<string, Buffer | Buffer[]>
}

type KafkajsDecode = (decoder: unknown) => Promise<{ readonly records: readonly KafkajsRecord[] }>
type KafkajsEncode = (batch: object) => Promise<{ readonly buffer: Buffer }>

const kafkajsDecode = require('kafkajs/src/protocol/recordBatch/v0/decoder') as KafkajsDecode
const kafkajsBatch = require('kafkajs/src/protocol/recordBatch/v0/index') as {
  RecordBatch: KafkajsEncode
}
const kafkajsRecord = require('kafkajs/src/protocol/recordBatch/record/v0/index') as (
  record: object,
) => unknown
const KafkajsDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => unknown

/** One record as text, so that lists of them compare quickly. */
type Seen = readonly [
  offset: number,
  timestamp: number,
  key: string | null,
  value: string | null,
  headers: readonly (readonly [string, string | null])[],
]

interface Row {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly timestamp: number
  readonly headers: [string, Buffer | null][]
}

const lengthOf = (bytes: Buffer | null): number => (bytes === null ? -1 : bytes.length)

const hex = (bytes: Buffer | null): string | null => bytes && bytes.toString('hex')

const seen = (row: Row, offset: number): Seen => [
  offset,
  row.timestamp,
  hex(row.key),
  hex(row.value),
  row.headers.map(([name, value]) => [name, hex(value)]),
]

const bytesOf = (maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes))

const row: fc.Arbitrary<Row> = fc.record({
  key: fc.option(bytesOf(80), { freq: 4 }),
  value: fc.option(bytesOf(300), { freq: 4 }),
  timestamp: fc.oneof(
    fc.integer({ min: 1_700_000_000_000, max: 1_700_000_100_000 }),
    fc.integer({ min: -1, max: 4_000_000_000_000 }),
  ),
  headers: fc.oneof(
    { arbitrary: fc.constant([] as [string, Buffer | null][]), weight: 3 },
    {
      arbitrary: fc.array(
        fc.tuple(fc.string({ maxLength: 8, unit: 'grapheme' }), fc.option(bytesOf(8))),
        { maxLength: 3 },
      ),
      weight: 1,
    },
  ),
})
const rows = fc.array(row, { minLength: 1, maxLength: 12 })

const available = compressions.filter(
  (codec) => codec !== 'zstd' || 'zstdCompressSync' in require('node:zlib'),
)
const codec = fc.constantFrom<Compression>(...available)

function build(list: readonly Row[], compression: Compression): Buffer {
  const builder = new RecordBatchBuilder()
  for (const { key, value, timestamp, headers } of list) {
    builder.append(key, value, timestamp, headers)
  }
  return builder.build({
    baseOffset: 100,
    producerId: 3,
    producerEpoch: 1,
    baseSequence: 5,
    compression,
  })
}

/** Small enough that nothing which a damaged size claims can take long. */
const decompressedBytesMax = 1 << 20

/** All that a reader gives; each view must lie in the bytes that it belongs to. */
function readAll(bytes: Buffer): Seen[] {
  const reader = new RecordBatchReader({ decompressedBytesMax })
  const records: Seen[] = []
  reader.reset(bytes)
  while (reader.nextBatch()) {
    while (reader.next()) {
      const { keyStart, keyEnd, valueStart, valueEnd, buffer } = reader
      const key = reader.key()
      const value = reader.value()
      const inside = 0 <= keyStart && keyEnd <= valueStart && valueEnd <= buffer.length
      const sized = lengthOf(key) === keyEnd - keyStart && lengthOf(value) === valueEnd - valueStart
      if (!inside || !sized) throw new Error('a view is not where its bytes are')
      records.push([
        reader.offset,
        reader.timestamp,
        hex(key),
        hex(value),
        reader.headers().map(([name, bytes]) => [name, hex(bytes)]),
      ])
      // A record has seven bytes, and lz4 makes at most 255 of one.
      if (records.length > 100 + (bytes.length * 255) / 7) throw new Error('no end')
    }
  }
  return records
}

const knownCodes = ['RECORD_BATCH_CORRUPT', 'RECORD_BATCH_UNSUPPORTED'] as const

/** Damaged bytes may end, or fail as one of the two errors, or ask for a codec that is not here. */
function survives(bytes: Buffer): boolean {
  try {
    readAll(bytes)
    return true
  } catch (error) {
    if (knownCodes.some((code) => isStreamsError(error, code))) return true
    if (isStreamsError(error, 'COMPRESSION_UNAVAILABLE') && !available.includes('zstd')) return true
    throw error
  }
}

test('what is built is read again, through every codec', () => {
  fc.assert(
    fc.property(rows, codec, (list, compression) => {
      expect(readAll(build(list, compression))).toEqual(list.map((each, i) => seen(each, 100 + i)))
    }),
    { seed },
  )
})

describe('kafkajs', () => {
  /** kafkajs keeps headers in an object, and reads no null ones. */
  const withoutHeaders = rows.map((list) => list.map((each) => ({ ...each, headers: [] })))
  const shared = fc.constantFrom<Compression>('none', 'gzip')

  test('reads what is built', async () => {
    await fc.assert(
      fc.asyncProperty(withoutHeaders, shared, async (list, compression) => {
        const batch = await kafkajsDecode(new KafkajsDecoder(build(list, compression)))
        const records = batch.records.map(({ offset, timestamp, key, value }): Seen => [
          Number(offset),
          Number(timestamp),
          hex(key),
          hex(value),
          [],
        ])
        expect(records).toEqual(list.map((each, i) => seen(each, 100 + i)))
      }),
      { seed },
    )
  })

  test('reads the headers that are built', async () => {
    const batch = await kafkajsDecode(
      new KafkajsDecoder(
        build(
          [{ key: null, value: null, timestamp: 0, headers: [['trace-id', Buffer.from('ä')]] }],
          'none',
        ),
      ),
    )
    expect(batch.records[0]?.headers).toEqual({ 'trace-id': Buffer.from('ä') })
  })

  test('is read', async () => {
    await fc.assert(
      fc.asyncProperty(withoutHeaders, shared, async (list, compression) => {
        const firstTimestamp = list[0]?.timestamp ?? 0
        const { buffer } = await kafkajsBatch.RecordBatch({
          compression: compression === 'gzip' ? 1 : 0,
          firstTimestamp,
          maxTimestamp: Math.max(...list.map(({ timestamp }) => timestamp)),
          lastOffsetDelta: list.length - 1,
          records: list.map(({ key, value, timestamp }, offsetDelta) =>
            kafkajsRecord({ offsetDelta, timestampDelta: timestamp - firstTimestamp, key, value }),
          ),
        })
        expect(readAll(buffer)).toEqual(list.map((each, i) => seen(each, i)))
      }),
      { seed },
    )
  })
})

describe('damage', () => {
  const sample: Row[] = [
    { key: Buffer.from('key'), value: Buffer.from('value'), timestamp: 1000, headers: [] },
    { key: null, value: Buffer.alloc(200, 'ab'), timestamp: 5000, headers: [['h', null]] },
    { key: Buffer.from('k'), value: null, timestamp: 900, headers: [] },
    { key: Buffer.alloc(0), value: Buffer.from('é'), timestamp: 1000, headers: [] },
  ]

  test.each(available)('of any one bit of a batch (%s) is noticed by the CRC', (compression) => {
    const whole = build(sample, compression)
    const noticed = (bytes: Buffer): boolean => {
      try {
        readAll(bytes)
        return false
      } catch (error) {
        return messageOf(error).startsWith('A record batch at offset 100 is corrupt: its CRC is')
      }
    }
    for (let position = 21; position < whole.length; position += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const bytes = Buffer.from(whole)
        bytes[position] = (bytes[position] ?? 0) ^ (1 << bit)
        if (!noticed(bytes)) throw new Error(`unnoticed: bit ${bit} of byte ${position}`)
      }
    }
    expect(noticed(whole)).toBe(false)
  })

  test.each(available)('of any byte, with a CRC that fits (%s), is survived', (compression) => {
    const whole = build(sample, compression)
    let survived = 0
    for (let position = 0; position < whole.length; position += 1) {
      for (const value of [0, 1, 0x7f, 0x80, 0xff, (whole[position] ?? 0) ^ 1]) {
        const bytes = Buffer.from(whole)
        bytes[position] = value
        if (position < 17 || position > 20) sealBatch(bytes)
        if (survives(bytes)) survived += 1
      }
    }
    expect(survived).toBe(whole.length * 6)
  })

  test.each(available)('by a cut anywhere (%s) is the end or noticed', (compression) => {
    const whole = build(sample, compression)
    for (let length = 0; length < whole.length; length += 1) {
      const bytes = Buffer.from(whole.subarray(0, length))
      expect(readAll(bytes)).toEqual([])
      if (length < 61) continue
      bytes.writeInt32BE(length - 12, 8)
      sealBatch(bytes)
      expect(() => readAll(bytes)).toThrow(
        expect.objectContaining({ code: 'RECORD_BATCH_CORRUPT' }),
      )
    }
  })

  test('of several bytes at once is survived', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(rows, codec, damage, fc.boolean(), (list, compression, changes, seal) => {
        const bytes = build(list, compression)
        for (const [position, value] of changes) bytes[position % bytes.length] = value
        if (seal) sealBatch(bytes)
        expect(survives(bytes)).toBe(true)
      }),
      { seed, numRuns: 2000 },
    )
  })

  test('as total as random bytes behind a valid header is survived', () => {
    fc.assert(
      fc.property(bytesOf(200), fc.integer({ min: 0, max: 30 }), (records, recordCount) => {
        const bytes = Buffer.concat([build(sample, 'none').subarray(0, 61), records])
        bytes.writeInt32BE(bytes.length - 12, 8)
        bytes.writeInt32BE(recordCount, 57)
        sealBatch(bytes)
        expect(survives(bytes)).toBe(true)
      }),
      { seed, numRuns: 2000 },
    )
  })

  test('as total as random bytes is survived', () => {
    fc.assert(
      fc.property(bytesOf(200), (bytes) => {
        expect(survives(bytes)).toBe(true)
      }),
      { seed },
    )
  })
})
