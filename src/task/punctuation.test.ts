import { describe, expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { PunctuationQueue, type Punctuation } from './punctuation.ts'

const run = ({ call }: Punctuation, timestamp: number): void => call(timestamp)

test('a callback comes at its start, then once each interval', () => {
  const queue = new PunctuationQueue()
  const times: number[] = []
  queue.schedule({ startTime: 0, intervalMs: 10, node: 'n', call: (time) => times.push(time) })

  for (const now of [0, 9, 10, 19, 20]) queue.punctuate(now, run)
  expect(times).toEqual([0, 10, 20])
})

test('missed intervals are not made up for, and times stay multiples of the interval', () => {
  const queue = new PunctuationQueue()
  const times: number[] = []
  queue.schedule({ startTime: 10, intervalMs: 10, node: 'n', call: (time) => times.push(time) })

  expect(queue.punctuate(47, run)).toBe(true)
  expect(queue.nextTime).toBe(50)
  expect(queue.punctuate(49, run)).toBe(false)
  expect(queue.punctuate(50, run)).toBe(true)
  expect(times).toEqual([47, 50])
})

test.each([
  ['5', '"5"'],
  [Infinity, 'Infinity'],
  [1.5, '1.5'],
  [0, '0'],
  [undefined, 'undefined'],
])('an interval of %j is refused', (intervalMs, shown) => {
  const queue = new PunctuationQueue()
  const given = { startTime: 0, intervalMs: intervalMs as number, node: 'n', call: () => undefined }
  expect(() => queue.schedule(given)).toThrow(
    `n schedules a punctuation every ${shown} ms; the interval is a whole number of milliseconds from 1 on`,
  )
  expect(queue.nextTime).toBe(Infinity)
})

describe('a callback that schedules another one for this moment', () => {
  /** Each schedules the next, which is due at once, so many times in all. */
  function chain(queue: PunctuationQueue, length: number): { readonly ran: () => number } {
    let ran = 0
    const add = (): void => {
      const punctuation = queue.schedule({
        startTime: 0,
        intervalMs: 10,
        node: 'n',
        call: () => {
          ran += 1
          punctuation[Symbol.dispose]()
          if (ran < length) add()
        },
      })
    }
    add()
    return { ran: () => ran }
  }

  test('runs it in the same pass', () => {
    const queue = new PunctuationQueue()
    const { ran } = chain(queue, 1000)
    queue.punctuate(5, run)
    expect(ran()).toBe(1000)
  })

  test('and so on without end, is refused', () => {
    const queue = new PunctuationQueue()
    chain(queue, Infinity)
    expect(() => queue.punctuate(5, run)).toThrow(
      'the punctuations of n schedule others without end: by stream time, a new one is due at once',
    )
  })

  test('in one pass after the other, is none of that', () => {
    const queue = new PunctuationQueue()
    let ran = 0
    queue.schedule({
      startTime: 0,
      intervalMs: 1,
      node: 'n',
      call: () => {
        queue.schedule({ startTime: 0, intervalMs: 1_000_000, node: 'n', call: () => (ran += 1) })
      },
    })
    for (let now = 1; now <= 3000; now += 1) queue.punctuate(now, run)
    expect(ran).toBe(3000)
  })
})

describe('anchored callbacks', () => {
  const timesOf = (start: number, at: { now: number; until: number }): number[] => {
    const queue = new PunctuationQueue()
    const times: number[] = []
    const call = (time: number): unknown => times.push(time)
    queue.scheduleFrom(start, { now: at.now, intervalMs: 10, node: 'n', call })
    for (let now = at.now; now <= at.until; now += 1) queue.punctuate(now, run)
    return times
  }

  test.each([
    ['lies ahead', 25, [25, 35, 45]],
    ['is now', 20, [20, 30, 40]],
    ['was just missed', 19, [29, 39, 49]],
    ['is long over', 3, [23, 33, 43]],
    ['is over by whole intervals', 0, [30, 40]],
  ])('come at whole intervals after a start that %s', (_name, start, times) => {
    expect(timesOf(start, { now: 20, until: 49 })).toEqual(times)
  })

  test.each([-1, 0.5, Number.NaN, Infinity])('have no start %s', (start) => {
    expect(() => timesOf(start, { now: 0, until: 0 })).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message: `Invalid topology: n schedules punctuations from ${start} on, which is no time since 1970 in milliseconds.`,
      }),
    )
  })
})

test('several callbacks run in the order of their times', () => {
  const queue = new PunctuationQueue()
  const order: string[] = []
  queue.schedule({ startTime: 5, intervalMs: 100, node: 'n', call: () => order.push('late') })
  queue.schedule({ startTime: 3, intervalMs: 100, node: 'n', call: () => order.push('early') })

  queue.punctuate(10, run)
  expect(order).toEqual(['early', 'late'])
})

test('a cancelled callback does not come again, also when it cancels itself', () => {
  const queue = new PunctuationQueue()
  const calls: string[] = []
  const before = queue.schedule({
    startTime: 1,
    intervalMs: 1,
    node: 'n',
    call: () => calls.push('before'),
  })
  const itself: Disposable = queue.schedule({
    startTime: 1,
    intervalMs: 1,
    node: 'n',
    call: () => {
      calls.push('itself')
      itself[Symbol.dispose]()
    },
  })
  before[Symbol.dispose]()

  queue.punctuate(1, run)
  queue.punctuate(2, run)
  expect(calls).toEqual(['itself'])
  expect(queue.nextTime).toBe(Infinity)
})

test('an interval below a millisecond is refused', () => {
  const queue = new PunctuationQueue()
  const schedule = (): unknown =>
    queue.schedule({ startTime: 0, intervalMs: 0.5, node: 'n', call: () => undefined })

  expect(schedule).toThrow(StreamsError)
  expect(schedule).toThrow('n schedules a punctuation every 0.5 ms')
})
