import { expect, test } from 'vitest'
import { rangeOf } from './scan-bounds.ts'

const b = (text: string): Buffer => Buffer.from(text)

test('without bounds everything is read', () => {
  expect(rangeOf({}, undefined)).toEqual({ reverse: false })
})

test('bounds are inclusive', () => {
  expect(rangeOf({ from: b('a'), to: b('c') }, undefined)).toEqual({
    from: b('a'),
    to: b('c'),
    reverse: false,
  })
})

test('a prefix ends before the first key without it', () => {
  expect(rangeOf({ prefix: b('ka') }, undefined)).toEqual({
    from: b('ka'),
    to: b('kb'),
    toExclusive: true,
    reverse: false,
  })
})

test('a prefix and bounds hold together', () => {
  expect(rangeOf({ prefix: b('ka'), from: b('kaf'), to: b('kaz') }, undefined)).toEqual({
    from: b('kaf'),
    to: b('kaz'),
    reverse: false,
  })
  expect(rangeOf({ prefix: b('ka'), from: b('a'), to: b('z') }, undefined)).toEqual({
    from: b('ka'),
    to: b('kb'),
    toExclusive: true,
    reverse: false,
  })
})

test('what is left begins at the last key that was read, in either direction', () => {
  expect(rangeOf({ from: b('a'), to: b('z') }, b('k'))).toMatchObject({ from: b('k'), to: b('z') })
  expect(rangeOf({ from: b('a'), to: b('z'), reverse: true }, b('k'))).toMatchObject({
    from: b('a'),
    to: b('k'),
    reverse: true,
  })
  expect(rangeOf({ prefix: b('ka'), reverse: true }, b('kaf'))).toEqual({
    from: b('ka'),
    to: b('kaf'),
    reverse: true,
  })
})

test('bounds that exclude each other leave nothing', () => {
  expect(rangeOf({ from: b('b'), to: b('a') }, undefined)).toBeUndefined()
  expect(rangeOf({ prefix: b('ka'), to: b('k') }, undefined)).toBeUndefined()
})

test('a prefix of the last bytes has no end', () => {
  expect(rangeOf({ prefix: Buffer.from([255]) }, undefined)).toEqual({
    from: Buffer.from([255]),
    to: undefined,
    reverse: false,
  })
})
