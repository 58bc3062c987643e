import { expect, test } from 'vitest'
import { encodeText, readText, writeAscii } from './text.ts'

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'

test('ASCII of every length is read as it was written', () => {
  for (let length = 0; length <= alphabet.length; length += 1) {
    const text = alphabet.slice(0, length)
    const bytes = Buffer.from(`<<${text}>>`)
    expect(readText(bytes, 2, 2 + length)).toBe(text)
    expect(encodeText(text).toString('latin1')).toBe(text)
  }
})

test('text that is not ASCII is UTF-8, short and long', () => {
  for (const [text, hex] of [
    ['é', 'c3a9'],
    ['\u0080', 'c280'],
    ['ключ', 'd0bad0bbd18ed187'],
    ['🔑', 'f09f9491'],
    [
      'a text of more than 24 bytes: é',
      '612074657874206f66206d6f7265207468616e2032342062797465733a20c3a9',
    ],
  ] as const) {
    const bytes = encodeText(text)
    expect(bytes.toString('hex')).toBe(hex)
    expect(readText(bytes, 0, bytes.length)).toBe(text)
  }
})

test('bytes that are not UTF-8 become replacement characters', () => {
  expect(readText(Buffer.from([0x61, 0xff, 0x62]), 0, 3)).toBe('a\ufffdb')
})

test('a byte order mark is part of the text', () => {
  expect(readText(Buffer.from('efbbbf61', 'hex'), 0, 4)).toBe('\ufeffa')
})

test('a plain Uint8Array is read like a Buffer', () => {
  const bytes = new Uint8Array(Buffer.from('xx a long text, longer than sixteen, é xx')).subarray(3)
  expect(readText(bytes, 0, 7)).toBe('a long ')
  expect(readText(bytes, 0, bytes.length - 3)).toBe('a long text, longer than sixteen, é')
})

test('writing ASCII gives up at the first other character', () => {
  const bytes = Buffer.alloc(4)
  expect(writeAscii(bytes, 1, 'ab')).toBe(true)
  expect(bytes.toString('hex')).toBe('00616200')
  expect(writeAscii(bytes, 0, 'aé')).toBe(false)
})
