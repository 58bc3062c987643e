import { describe, expect, test } from 'vitest'
import { windowAssignment } from './operators/window-assignment.ts'
import {
  assertWindows,
  closingTimeOf,
  retentionOf,
  sessionWindows,
  slidingWindows,
  timeWindows,
  unlimitedWindows,
  windowSizeOf,
  type CustomWindows,
  type TimeBasedWindows,
} from './windows.ts'

function windowsOf(windows: TimeBasedWindows, timestamp: number): [start: number, end: number][] {
  const found: [number, number][] = []
  windowAssignment(windows).visit(timestamp, (start, end) => found.push([start, end]))
  return found
}

// Made by Kafka Streams 4.4.0: TimeWindows.ofSizeAndGrace(…).advanceBy(…).windowsFor(…).
const vectors: [size: number, advance: number, timestamp: number, starts: number[]][] = [
  [10, 10, 0, [0]],
  [10, 10, 9, [0]],
  [10, 10, 10, [10]],
  [10, 3, 0, [0]],
  [10, 3, 9, [0, 3, 6, 9]],
  [10, 3, 10, [3, 6, 9]],
  [10, 3, 11, [3, 6, 9]],
  [10, 3, 12, [3, 6, 9, 12]],
  [12, 5, 21, [10, 15, 20]],
  [1, 1, 7, [7]],
  [
    60_000,
    20_000,
    1_700_000_000_000,
    [1_699_999_940_000, 1_699_999_960_000, 1_699_999_980_000, 1_700_000_000_000].slice(1),
  ],
]

describe('time windows', () => {
  test.each(vectors)('of %d, one every %d, hold %d', (size, advance, timestamp, starts) => {
    const windows = timeWindows({ size, advance, grace: 0 })

    expect(windowsOf(windows, timestamp)).toEqual(starts.map((start) => [start, start + size]))
  })

  test('are the same for two moments between which none begins or ends', () => {
    const assignment = windowAssignment(timeWindows({ size: 10, advance: 3, grace: 0 }))

    expect([
      assignment.isSame(10, 11),
      assignment.isSame(11, 12),
      assignment.isSame(9, 10),
    ]).toEqual([true, false, false])
  })

  test('tumble unless an advance is stated', () => {
    expect(timeWindows({ size: 10, grace: 5 })).toEqual({
      kind: 'time',
      size: 10,
      advance: 10,
      grace: 5,
    })
  })
})

test('unlimited windows have one window, from their start on', () => {
  const windows = unlimitedWindows({ start: 5 })

  expect([windowsOf(windows, 4), windowsOf(windows, 5)]).toEqual([[], [[5, Infinity]]])
  expect(unlimitedWindows()).toEqual({ kind: 'unlimited', start: 0 })
})

describe('custom windows', () => {
  const custom = (start: number, end: number): CustomWindows => ({
    kind: 'custom',
    size: 10,
    grace: 1,
    windowsFor: () => [{ start, end }],
  })

  test('are those that the function gives', () => {
    expect(windowsOf(custom(3, 9), 5)).toEqual([[3, 9]])
  })

  test.each([
    [-1, 5],
    [5, 5],
    [5, 4],
    [Number.NaN, 5],
  ])('cannot go from %d to %d', (start, end) => {
    expect(() => windowsOf(custom(start, end), 5)).toThrow(`no window from ${start} to ${end}`)
  })
})

test('sizes, closing times and retentions are those of Kafka Streams', () => {
  const all = [
    timeWindows({ size: 10, advance: 2, grace: 3 }),
    slidingWindows({ timeDifference: 10, grace: 3 }),
    unlimitedWindows(),
    { kind: 'custom', size: 7, grace: 2, windowsFor: () => [] } as const,
  ]

  expect(all.map(windowSizeOf)).toEqual([10, 10, Infinity, 7])
  expect(all.map(closingTimeOf)).toEqual([3, 3, 0, 2])
  expect(all.map(retentionOf)).toEqual([13, 23, Infinity, 9])
  const sessions = sessionWindows({ gap: 5, grace: 2 })
  expect([closingTimeOf(sessions), retentionOf(sessions)]).toEqual([7, 7])
})

test('a gap of 0 makes sessions of one moment, as Kafka Streams takes it', () => {
  const sessions = sessionWindows({ gap: 0, grace: 0 })
  expect(sessions).toEqual({ kind: 'session', gap: 0, grace: 0 })
  expect(retentionOf(sessions)).toBe(0)
})

describe('what makes no windows is refused', () => {
  test.each<[message: string, make: () => unknown]>([
    ['timeWindows: size must be', () => timeWindows({ size: 0, grace: 0 })],
    ['timeWindows: size must be', () => timeWindows({ size: 1.5, grace: 0 })],
    ['timeWindows: advance must be', () => timeWindows({ size: 5, advance: 0, grace: 0 })],
    [
      'advance (6) must not be more than size (5)',
      () => timeWindows({ size: 5, advance: 6, grace: 0 }),
    ],
    ['timeWindows: grace must be', () => timeWindows({ size: 5 } as never)],
    ['timeWindows: grace must be', () => timeWindows({ size: 5, grace: -1 })],
    [
      'slidingWindows: timeDifference must be',
      () => slidingWindows({ timeDifference: 0, grace: 0 }),
    ],
    ['slidingWindows: grace must be', () => slidingWindows({ timeDifference: 5 } as never)],
    ['sessionWindows: gap must be', () => sessionWindows({ gap: -1, grace: 0 })],
    ['sessionWindows: grace must be', () => sessionWindows({ gap: 1 } as never)],
    ['unlimitedWindows: start must be', () => unlimitedWindows({ start: -1 })],
    ['it needs windows, such as timeWindows(), not 5', () => assertWindows(5, 'windowedBy')],
    ['it needs windows', () => assertWindows({ kind: 'join' }, 'windowedBy')],
    ['custom windows need windowsFor()', () => assertWindows({ kind: 'custom' }, 'windowedBy')],
    [
      'custom windows: size must be',
      () => assertWindows({ kind: 'custom', windowsFor: () => [], grace: 0 }, 'windowedBy'),
    ],
  ])('%s', (message, make) => {
    expect(make).toThrow(message)
  })
})
