import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineSplitter, type Line } from './line-splitter.ts'

function split(
  bytes: Buffer,
  pieces: readonly number[],
  options: { max?: number; start?: number } = {},
): Line[] {
  const splitter = new LineSplitter(options.start, options.max)
  const lines: Line[] = []
  let at = 0
  for (const size of pieces) {
    lines.push(...splitter.push(bytes.subarray(at, at + size)))
    at += size
  }
  lines.push(...splitter.push(bytes.subarray(at)), ...splitter.finish())
  return lines
}

const shown = (lines: readonly Line[]): unknown =>
  lines.map(({ bytes, end }) => [bytes.toString(), end])

test('lines end in LF or CRLF, and the last one may have no end', () => {
  expect(shown(split(Buffer.from('a b\r\n\nc\n\r\nd'), []))).toEqual([
    ['a b', 5],
    ['', 6],
    ['c', 8],
    ['', 10],
    ['d', 11],
  ])
})

test('an empty input has no line', () => {
  expect(split(Buffer.alloc(0), [])).toEqual([])
})

test('a carriage return within a line is kept', () => {
  expect(shown(split(Buffer.from('a\rb\n'), []))).toEqual([['a\rb', 4]])
})

test('a line may arrive in any pieces, an end of two bytes in two', () => {
  const bytes = Buffer.from('one\r\ntwo\r\nthree')
  expect(shown(split(bytes, [4, 1, 2, 3]))).toEqual([
    ['one', 5],
    ['two', 10],
    ['three', 15],
  ])
})

test('ends are counted from where the input is read', () => {
  expect(shown(split(Buffer.from('a\nb'), [], { start: 100 }))).toEqual([
    ['a', 102],
    ['b', 103],
  ])
})

test('a long line is cut between its words', () => {
  expect(shown(split(Buffer.from('one two,three\nx'), [], { max: 6 }))).toEqual([
    ['one ', 4],
    ['two,', 8],
    ['three', 14],
    ['x', 15],
  ])
})

test('a long line without ASCII separators is cut at another one', () => {
  expect(shown(split(Buffer.from('日本語。日本'), [], { max: 14 }))).toEqual([
    ['日本語。', 12],
    ['日本', 18],
  ])
})

test('a word that is too long is cut at a whole character', () => {
  expect(shown(split(Buffer.from('ääää'), [], { max: 5 }))).toEqual([
    ['ää', 4],
    ['ää', 8],
  ])
})

test('bytes that are no text are cut as well', () => {
  const lines = split(Buffer.alloc(20, 0xff), [], { max: 6 })
  expect(lines.map(({ bytes }) => bytes.length).reduce((sum, length) => sum + length)).toBe(20)
  expect(lines.at(-1)?.end).toBe(20)
})

test('the words are the same, however the text is cut and arrives', () => {
  const words = (lines: readonly Line[]): string[] =>
    lines.flatMap(({ bytes }) => bytes.toString().split(/[^\p{L}\p{N}]+/u)).filter(Boolean)
  const text = fc
    .array(
      fc.constantFrom('a', 'Wort', 'größe', '日', '本', '12', ' ', ',', '。', '\n', '\r\n', '𝒳'),
    )
    .map((parts) => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(text, fc.array(fc.nat(9)), (bytes, pieces) => {
      const whole = bytes
        .toString()
        .split(/[^\p{L}\p{N}]+/u)
        .filter(Boolean)
      const lines = split(bytes, pieces, { max: 1000 })
      expect(words(lines)).toEqual(whole)
      expect(lines.at(-1)?.end ?? 0).toBe(bytes.length)
      const longest = Math.max(20, ...whole.map((word) => Buffer.byteLength(word) + 4))
      expect(words(split(bytes, pieces, { max: longest }))).toEqual(whole)
    }),
  )
})
