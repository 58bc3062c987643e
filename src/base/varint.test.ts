import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decodeShortVarint,
  fieldSize,
  readShortVarint,
  readUnsignedVarint,
  readVarint,
  readVarlong,
  unsignedVarintSize,
  varintEnd,
  varintSize,
  varlongSize,
  writeUnsignedVarint,
  writeVarint,
  writeVarlong,
} from './varint.ts'

/** As org.apache.kafka.common.utils.ByteUtils of kafka-clients 4.1.0 writes them. */
const varints: [number, string][] = [
  [0, '00'],
  [-1, '01'],
  [1, '02'],
  [63, '7e'],
  [-64, '7f'],
  [64, '8001'],
  [-65, '8101'],
  [8191, 'fe7f'],
  [-8192, 'ff7f'],
  [8192, '808001'],
  [1048575, 'feff7f'],
  [1048576, '80808001'],
  [134217727, 'feffff7f'],
  [134217728, '8080808001'],
  [-134217729, '8180808001'],
  [2147483647, 'feffffff0f'],
  [-2147483648, 'ffffffff0f'],
]
const varlongs: [number, string][] = [
  [0, '00'],
  [-1, '01'],
  [64, '8001'],
  [-65, '8101'],
  [134217727, 'feffff7f'],
  [-134217729, '8180808001'],
  [1073741823, 'feffffff07'],
  [1073741824, '8080808008'],
  [-1073741824, 'ffffffff07'],
  [-1073741825, '8180808008'],
  [2147483647, 'feffffff0f'],
  [-2147483648, 'ffffffff0f'],
  [4294967296, '8080808020'],
  [1700000000000, '80a0abfef962'],
  [-1700000000000, 'ff9fabfef962'],
  [34359738367, 'feffffffff01'],
  [34359738368, '808080808002'],
  [9007199254740991, 'feffffffffffff1f'],
  [-9007199254740991, 'fdffffffffffff1f'],
]
const unsignedVarints: [number, string][] = [
  [0, '00'],
  [1, '01'],
  [127, '7f'],
  [128, '8001'],
  [16383, 'ff7f'],
  [16384, '808001'],
  [2097151, 'ffff7f'],
  [2097152, '80808001'],
  [268435455, 'ffffff7f'],
  [268435456, '8080808001'],
  [4294967295, 'ffffffff0f'],
]

type Write = (bytes: Uint8Array, position: number, value: number) => number
type Read = (bytes: Uint8Array, position: number, limit: number) => number

const forms: [string, [number, string][], Write, Read, (value: number) => number][] = [
  ['varint', varints, writeVarint, readVarint, varintSize],
  ['varlong', varlongs, writeVarlong, readVarlong, varlongSize],
  ['unsigned varint', unsignedVarints, writeUnsignedVarint, readUnsignedVarint, unsignedVarintSize],
]

describe.each(forms)('a %s', (_name, vectors, write, read, size) => {
  test('has the bytes that Java gives it', () => {
    for (const [value, hex] of vectors) {
      const bytes = Buffer.alloc(12, 0x55)
      const end = write(bytes, 1, value)
      expect(bytes.toString('hex', 1, end)).toBe(hex)
      expect(bytes[end]).toBe(0x55)
      expect(size(value)).toBe(hex.length / 2)
      expect(read(bytes, 1, end)).toBe(value)
      expect(varintEnd).toBe(end)
    }
  })

  test('that is cut off is malformed at every length', () => {
    for (const [, hex] of vectors) {
      const bytes = Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(1)])
      for (let limit = 0; limit < bytes.length - 1; limit += 1) {
        expect(read(bytes, 0, limit)).toBe(0)
        expect(varintEnd).toBe(-1)
      }
    }
  })

  test('that is longer than its type is malformed', () => {
    read(Buffer.alloc(12, 0xff), 0, 12)
    expect(varintEnd).toBe(-1)
  })

  test('may be longer than it needs to be', () => {
    expect(read(Buffer.from([0x80, 0x80, 0]), 0, 3)).toBe(0)
    expect(varintEnd).toBe(3)
  })
})

test('a fifth byte with more than the four bits that 32 leave is malformed', () => {
  readUnsignedVarint(Buffer.from('ffffffff1f', 'hex'), 0, 5)
  expect(varintEnd).toBe(-1)
})

test('a tenth byte with more than the one bit that 64 leave is malformed', () => {
  readVarlong(Buffer.from('ffffffffffffffffff02', 'hex'), 0, 10)
  expect(varintEnd).toBe(-1)
})

test('64 bits beyond 2^53 are read as the nearest number', () => {
  // Long.MAX_VALUE and Long.MIN_VALUE
  expect(readVarlong(Buffer.from('feffffffffffffffff01', 'hex'), 0, 10)).toBe(2 ** 63)
  expect(readVarlong(Buffer.from('ffffffffffffffffff01', 'hex'), 0, 10)).toBe(-(2 ** 63))
})

test('any integer comes back', () => {
  const bytes = Buffer.alloc(10)
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      const end = writeVarlong(bytes, 0, value)
      expect([varlongSize(value), readVarlong(bytes, 0, end), varintEnd]).toEqual([end, value, end])
    }),
    { seed: 1 },
  )
  fc.assert(
    fc.property(fc.integer(), (value) => {
      const end = writeVarint(bytes, 0, value)
      expect([varintSize(value), readVarint(bytes, 0, end), varintEnd]).toEqual([end, value, end])
    }),
    { seed: 1 },
  )
})

test('a short read gives value and length in one number, 0 for more than three bytes', () => {
  const short = (hex: string): number =>
    readShortVarint(Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(3)]), 0)
  const read = varints.map(([, hex]) => [decodeShortVarint(short(hex)), short(hex) & 3])
  expect(read.slice(0, 11)).toEqual([
    [0, 1],
    [-1, 1],
    [1, 1],
    [63, 1],
    [-64, 1],
    [64, 2],
    [-65, 2],
    [8191, 2],
    [-8192, 2],
    [8192, 3],
    [1048575, 3],
  ])
  expect(varints.slice(11).map(([, hex]) => short(hex))).toEqual([0, 0, 0, 0, 0, 0])
})

test('a field has the size of its length and its bytes, null one byte', () => {
  expect(fieldSize(-1)).toBe(1)
  expect(fieldSize(0)).toBe(1)
  expect(fieldSize(63)).toBe(64)
  expect(fieldSize(64)).toBe(66)
})
