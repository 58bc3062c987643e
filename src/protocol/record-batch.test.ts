import { describe, expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { RecordBatchReader } from './record-batch.ts'
import { sealBatch } from './record-batch-patch.ts'
import { RecordBatchBuilder } from './record-builder.ts'
import { noHeaders } from './record-headers.ts'

const producer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }

/** A batch at offset 7 with records given as bytes, and the count that its header shall state. */
function batch(records: string, recordCount: number): Buffer {
  const builder = new RecordBatchBuilder()
  builder.append(null, null, 1000)
  const header = builder.build({ baseOffset: 7, ...producer }).subarray(0, 61)
  const bytes = Buffer.concat([header, Buffer.from(records.replaceAll(' ', ''), 'hex')])
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeInt32BE(recordCount, 57)
  sealBatch(bytes)
  return bytes
}

/** Length 12: attributes, time 0, offset 0, key 'k', value 'v', one header 'h' without a value. */
const good = '16 00 00 00 02 6b 02 76 02 02 68 01'

function readerOn(bytes: Buffer): RecordBatchReader {
  const reader = new RecordBatchReader()
  reader.reset(bytes)
  return reader
}

/** The detail of the RECORD_BATCH_CORRUPT at offset 7 that must come. */
function detailOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (!isStreamsError(error, 'RECORD_BATCH_CORRUPT') || error.context['offset'] !== 7) throw error
    return String(error.context['detail'])
  }
  return expect.unreachable('nothing was thrown')
}

describe('a malformed record', () => {
  const lengths: [string, string, number, string][] = [
    ['a length beyond the batch', '18 00 00 00 01 01 00', 1, 'a record of 12 bytes does not fit'],
    ['a length that never ends', 'ff ff ff ff ff ff ff', 1, 'the length of a record is malformed'],
    ['fewer records than stated', '0c 00 00 00 01 01 00', 2, 'the length of a record is malformed'],
    ['more records than stated', '0c 00 00 00 01 01 00'.repeat(2), 1, 'it has more than 1 records'],
  ]

  test.each(lengths)('with %s is corrupt', (_name, records, count, detail) => {
    const reader = readerOn(batch(records, count))
    expect(reader.nextBatch()).toBe(true)
    expect(
      detailOf(() => {
        while (reader.next());
      }),
    ).toBe(detail)
  })

  const bodies: [string, string, string][] = [
    ['a length that is negative', '01 00 00 00 01 01 00', 'a record of -1 bytes does not fit'],
    ['a length too small for a record', '0a 00 00 00 01 01', 'a record of 5 bytes does not fit'],
    ['a key beyond the record', '0c 00 00 00 08 01 00', 'a key does not fit'],
    ['a key of length -2', '0c 00 00 00 03 01 00', 'a key does not fit'],
    ['a value beyond the record', '0c 00 00 00 01 08 00', 'a value does not fit'],
    ['a value of length -2', '0c 00 00 00 01 03 00', 'a value does not fit'],
    ['a value that leaves no headers', '0c 00 00 00 01 02 00', 'the headers do not fit'],
    ['more headers than bytes', '0c 00 00 00 01 01 02', 'the headers do not fit'],
    ['a header count of -1', '0c 00 00 00 01 01 01', 'the headers do not fit'],
    ['bytes after no headers', '0e 00 00 00 01 01 00 00', 'a record has extra bytes'],
    ['a timestamp that never ends', '0c 00 ff ff ff ff ff', 'a timestamp is malformed'],
    ['an offset that never ends', '0c 00 00 ff ff ff ff', 'an offset is malformed'],
  ]

  test.each(bodies)('with %s is corrupt, alone and before others', (_name, record, detail) => {
    for (const others of [0, 1, 3]) {
      const reader = readerOn(batch(record + good.repeat(others), 1 + others))
      expect(reader.nextBatch()).toBe(true)
      expect(detailOf(() => reader.next())).toBe(detail)
    }
  })

  test('stops the reader where it is, until the batch is skipped', () => {
    const bytes = Buffer.concat([batch('0c 00 00 00 08 01 00', 1), batch(good, 1)])
    const reader = readerOn(bytes)
    reader.nextBatch()
    expect(detailOf(() => reader.next())).toBe('a key does not fit')
    expect(detailOf(() => reader.next())).toBe('a key does not fit')
    reader.skipBatch()
    expect(reader.next()).toBe(false)
    expect(reader.nextBatch()).toBe(true)
    expect(reader.next()).toBe(true)
    expect(reader.keyString()).toBe('k')
  })
})

describe('malformed headers', () => {
  const cases: [string, string, string][] = [
    [
      'a name beyond the record',
      '12 00 00 00 01 01 02 08 68 01',
      'the name of a header does not fit',
    ],
    ['a null name', '12 00 00 00 01 01 02 01 01 01', 'the name of a header does not fit'],
    [
      'a value beyond the record',
      '12 00 00 00 01 01 02 02 68 08',
      'the value of a header does not fit',
    ],
    ['bytes after the last', '14 00 00 00 01 01 02 02 68 01 00', 'a record has extra bytes'],
    ['fewer than stated', '14 00 00 00 01 01 04 02 68 02 00', 'the name of a header does not fit'],
  ]

  test.each(cases)('with %s are corrupt when they are asked for', (_name, record, detail) => {
    const reader = readerOn(batch(record, 1))
    reader.nextBatch()
    expect(reader.next()).toBe(true)
    expect(detailOf(() => reader.headers())).toBe(detail)
  })
})

describe('a malformed batch', () => {
  const patched = (patch: (bytes: Buffer) => void): RecordBatchReader => {
    const bytes = batch(good, 1)
    patch(bytes)
    sealBatch(bytes)
    return readerOn(bytes)
  }

  test('with a wrong CRC says both', () => {
    const bytes = batch(good, 1)
    bytes.writeUInt32BE(1, 17)
    const actual = batch(good, 1).readUInt32BE(17)
    const reader = readerOn(bytes)
    expect(detailOf(() => reader.nextBatch())).toBe(`its CRC is ${actual}, the header says 1`)
    expect(detailOf(() => reader.nextBatch())).toBe(`its CRC is ${actual}, the header says 1`)
  })

  test('with an impossible length is corrupt, not cut off', () => {
    for (const length of [-1, -2147483648, 0, 4, 48]) {
      const reader = patched((bytes) => bytes.writeInt32BE(length, 8))
      expect(detailOf(() => reader.nextBatch())).toBe(`its length is ${length}`)
    }
  })

  test('with a magic from the future is corrupt', () => {
    const reader = patched((bytes) => bytes.writeInt8(3, 16))
    expect(detailOf(() => reader.nextBatch())).toBe('its magic is 3')
  })

  test('with impossible counts or an unknown codec is corrupt', () => {
    const count = patched((bytes) => bytes.writeInt32BE(-1, 57))
    expect(detailOf(() => count.nextBatch())).toBe('its record count is -1')
    const none = patched((bytes) => bytes.writeInt32BE(0, 57))
    expect(detailOf(() => none.nextBatch())).toBe('it has bytes but no records')
    const delta = patched((bytes) => bytes.writeInt32BE(-1, 23))
    expect(detailOf(() => delta.nextBatch())).toBe('its last offset delta is -1')
    const codec = patched((bytes) => bytes.writeInt16BE(5, 21))
    expect(detailOf(() => codec.nextBatch())).toBe('its codec is 5')
  })

  test('with a negative offset is corrupt', () => {
    const bytes = batch(good, 1)
    bytes.writeBigInt64BE(-3n, 0)
    expect(() => readerOn(bytes).nextBatch()).toThrow(
      'A record batch at offset -3 is corrupt: its offset is negative.',
    )
  })
})

test('a batch that is cut off anywhere is the end', () => {
  const whole = batch(good, 1)
  for (let length = 0; length < whole.length; length += 1) {
    const reader = readerOn(Buffer.concat([whole, whole.subarray(0, length)]))
    expect(reader.nextBatch()).toBe(true)
    expect(reader.next()).toBe(true)
    expect(reader.next()).toBe(false)
    expect(reader.nextBatch()).toBe(false)
    expect(reader.batchEnd).toBe(whole.length)
  }
})

test('the next batch can be taken before this one is read', () => {
  const second = batch(good, 1)
  second.writeBigInt64BE(8n, 0)
  const reader = readerOn(Buffer.concat([batch(good, 1), second]))
  reader.nextBatch()
  expect(reader.baseOffset).toBe(7)
  expect(reader.nextBatch()).toBe(true)
  expect(reader.baseOffset).toBe(8)
  expect([reader.batchStart, reader.batchEnd]).toEqual([73, 146])
  expect(reader.batchBytes().equals(second)).toBe(true)
})

test('a reader can be reset in the middle', () => {
  const reader = readerOn(batch(good + good, 2))
  reader.nextBatch()
  reader.next()
  reader.reset(batch(good, 1))
  expect(reader.next()).toBe(false)
  expect(reader.nextBatch()).toBe(true)
  expect(reader.next()).toBe(true)
  expect(reader.next()).toBe(false)
})

test('keys and values are views of the bytes that were given', () => {
  const bytes = batch(good, 1)
  const reader = readerOn(bytes)
  reader.nextBatch()
  reader.next()
  expect(reader.key()?.buffer).toBe(bytes.buffer)
  expect(reader.buffer).toBe(bytes)
  expect(bytes.toString('latin1', reader.keyStart, reader.keyEnd)).toBe('k')
  expect(bytes.toString('latin1', reader.valueStart, reader.valueEnd)).toBe('v')
  expect(reader.valueString()).toBe('v')
  expect(reader.headers()).toEqual([['h', null]])
})

test('a null key and value are null in every form, and no headers are one shared list', () => {
  const reader = readerOn(batch('0c 00 00 00 01 01 00', 1))
  reader.nextBatch()
  reader.next()
  expect([reader.hasKey, reader.key(), reader.keyString()]).toEqual([false, null, null])
  expect([reader.hasValue, reader.value(), reader.valueString()]).toEqual([false, null, null])
  expect([reader.keyEnd - reader.keyStart, reader.valueEnd - reader.valueStart]).toEqual([-1, -1])
  expect(reader.headerCount).toBe(0)
  expect(reader.headers()).toBe(noHeaders)
  expect(Object.isFrozen(noHeaders)).toBe(true)
})

test('views of a compressed batch outlive the reader moving on', () => {
  const builder = new RecordBatchBuilder()
  builder.append(Buffer.from('first'), null, 0)
  const first = builder.build({ ...producer, compression: 'lz4' })
  builder.reset()
  builder.append(Buffer.from('other'), null, 0)
  const reader = readerOn(
    Buffer.concat([first, builder.build({ ...producer, compression: 'lz4' })]),
  )
  reader.nextBatch()
  reader.next()
  const key = reader.key()
  reader.nextBatch()
  reader.next()
  expect([key?.toString(), reader.keyString()]).toEqual(['first', 'other'])
})

test('a batch is not decompressed before its records are asked for', () => {
  const builder = new RecordBatchBuilder()
  builder.append(null, Buffer.alloc(5000), 0)
  const bytes = builder.build({ baseOffset: 7, ...producer, compression: 'gzip' })
  bytes[61] = 0
  sealBatch(bytes)
  const reader = readerOn(bytes)
  expect(reader.nextBatch()).toBe(true)
  expect(detailOf(() => reader.next())).toContain('the gzip data cannot be decompressed')
  reader.skipBatch()
  expect(reader.nextBatch()).toBe(false)
})

test('the bound on what a batch may become can be set', () => {
  const builder = new RecordBatchBuilder()
  builder.append(null, Buffer.alloc(5000), 0)
  const reader = new RecordBatchReader({ decompressedBytesMax: 4096 })
  reader.reset(builder.build({ baseOffset: 7, ...producer, compression: 'gzip' }))
  reader.nextBatch()
  expect(detailOf(() => reader.next())).toContain('4096 bytes')
})
