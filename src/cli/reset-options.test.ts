import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { expect, test } from 'vitest'
import {
  parseDatetime,
  parseDuration,
  parseNames,
  parseOffset,
  parseShift,
  positionOf,
  readPlan,
} from './reset-options.ts'

test('names have commas between them, and come once', () => {
  expect(parseNames('a, b,,a')).toEqual(['a', 'b'])
  expect(parseNames('c', ['a'])).toEqual(['a', 'c'])
  expect(() => parseNames(' , ')).toThrow(InvalidArgumentError)
})

test('offsets are whole numbers, shifts may be negative', () => {
  expect([parseOffset('0'), parseOffset('42'), parseShift('-3'), parseShift('+3')]).toEqual([
    0, 42, -3, 3,
  ])
  for (const text of ['', '-1', '1.5', 'x', '99999999999999999999'])
    expect(() => parseOffset(text)).toThrow(InvalidArgumentError)
})

test('times are in UTC unless they say otherwise', () => {
  const noon = Date.UTC(2026, 0, 31, 12)
  expect(parseDatetime('2026-01-31T12:00:00.000')).toBe(noon)
  expect(parseDatetime('2026-01-31T12:00:00Z')).toBe(noon)
  expect(parseDatetime('2026-01-31T13:00:00.5+01:00')).toBe(noon + 500)
  expect(parseDatetime('2026-01-31T11:30:00-0030')).toBe(noon)
  expect(parseDatetime('2026-01-31T14:00:00+02')).toBe(noon)
  for (const text of ['2026-01-31', '2026-13-31T12:00:00', 'now', ''])
    expect(() => parseDatetime(text)).toThrow(InvalidArgumentError)
})

test('durations are days and times of the day', () => {
  expect(parseDuration('P1DT2H30M')).toBe(26.5 * 3_600_000)
  expect(parseDuration('PT0.5S')).toBe(500)
  expect(parseDuration('P7D')).toBe(7 * 86_400_000)
  for (const text of ['P', 'PT', 'P1', '1D', 'P1M', 'PT5X', ''])
    expect(() => parseDuration(text)).toThrow(InvalidArgumentError)
})

test('a file has topic, partition and offset in each line', () => {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-reset-'))
  try {
    const file = join(directory, 'plan.csv')
    writeFileSync(file, 'lines,0,5\n"words",1,7\r\n\n')
    expect([...readPlan(file)]).toEqual([
      ['lines-0', 5],
      ['words-1', 7],
    ])
    writeFileSync(file, 'lines,0,5\nlines,zero,5\n')
    expect(() => readPlan(file)).toThrow('Line 2')
    expect(() => readPlan(join(directory, 'none'))).toThrow(InvalidArgumentError)
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('one option says where to begin; without any it is the start', () => {
  const now = 1_000_000
  expect(positionOf({}, now)).toEqual({ kind: 'earliest' })
  expect(positionOf({ toEarliest: true }, now)).toEqual({ kind: 'earliest' })
  expect(positionOf({ toLatest: true }, now)).toEqual({ kind: 'latest' })
  expect(positionOf({ toOffset: 0 }, now)).toEqual({ kind: 'offset', offset: 0 })
  expect(positionOf({ shiftBy: -1 }, now)).toEqual({ kind: 'shift', by: -1 })
  expect(positionOf({ toDatetime: 5 }, now)).toEqual({ kind: 'time', timestamp: 5 })
  expect(positionOf({ byDuration: 1_000 }, now)).toEqual({ kind: 'time', timestamp: 999_000 })
  const offsets = new Map([['t-0' as const, 1]])
  expect(positionOf({ fromFile: offsets }, now)).toEqual({ kind: 'plan', offsets })
})
