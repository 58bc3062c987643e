import { expect, test } from 'vitest'
import { seededRandom } from '../base/random.ts'
import { Backoff } from './backoff.ts'

/** A chance that is always the same. */
const always = (value: number) => ({ next: () => value, bytes: () => Buffer.alloc(0) })

test('waits double up to the longest', () => {
  const backoff = new Backoff({ baseMs: 50, maxMs: 300, random: always(0.5) })
  const waits = Array.from({ length: 5 }, () => backoff.next())
  expect(waits).toEqual([50, 100, 200, 300, 300])
})

test('chance makes a wait up to a fifth longer or shorter', () => {
  expect(new Backoff({ baseMs: 100, maxMs: 100, random: always(0) }).next()).toBe(80)
  expect(new Backoff({ baseMs: 100, maxMs: 100, random: always(0.999) }).next()).toBeCloseTo(120, 0)
})

test('two clients that fail together do not return together', () => {
  const waitsOf = (seed: number): number[] => {
    const backoff = new Backoff({ baseMs: 100, maxMs: 1000, random: seededRandom(seed) })
    return Array.from({ length: 4 }, () => backoff.next())
  }
  const [first, second] = [waitsOf(1), waitsOf(2)]
  for (const index of [0, 1, 2, 3]) expect(first[index]).not.toBe(second[index])
})

test('after a success the first wait comes again', () => {
  const backoff = new Backoff({ baseMs: 50, maxMs: 300, random: always(0.5) })
  backoff.next()
  backoff.next()
  backoff.reset()
  expect(backoff.next()).toBe(50)
})
