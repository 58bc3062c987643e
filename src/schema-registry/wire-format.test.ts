import { expect, test } from 'vitest'
import { messageStepsBytes, readMessageSteps, readSchemaId, writePrefix } from './wire-format.ts'

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex')

test('ids have four bytes, the highest first', () => {
  for (const id of [0, 1, 258, 0x7fff_ffff, 0xffff_ffff]) {
    const bytes = Buffer.alloc(5, 0xaa)
    writePrefix(bytes, id)
    expect(bytes.readUInt32BE(1)).toBe(id)
    expect(readSchemaId(bytes)).toBe(id)
  }
})

test.each([
  ['', 'there are no bytes, and so no schema id'],
  ['00 00 00 01', '4 bytes are too few for a schema id'],
  ['01 00112233445566778899aabbccddeeff', 'it begins with byte 1, which announces a schema GUID'],
  ['7b 22', 'it begins with byte 123 and not with 0, a schema id; either it was written without'],
])('bytes %s without a schema id are told', (hex, message) => {
  expect(() => readSchemaId(bytesOf(hex))).toThrow(message)
})

test.each([
  ['00', [0]],
  ['02 02', [1]],
  ['04 00 00', [0, 0]],
  ['06 02 00 80 02', [1, 0, 128]],
])('the place %s of a message is %j', (hex, steps) => {
  expect(messageStepsBytes(steps)).toEqual(bytesOf(hex))
  const bytes = bytesOf(`00 00000001 ${hex} ff`)
  expect(readMessageSteps(bytes)).toEqual({ steps, start: bytes.length - 1 })
})

test('the long form of the first message is read, and not written', () => {
  expect(readMessageSteps(bytesOf('00 00000001 02 00'))).toEqual({ steps: [0], start: 7 })
})

test.each(['', '01', '80', 'ffffffff0f', '8201', '04 00', '04 00 80', '02 01'])(
  'the bytes "%s" are no place of a message',
  (hex) => {
    expect(() => readMessageSteps(bytesOf(`00 00000001 ${hex}`))).toThrow(/message/)
  },
)
