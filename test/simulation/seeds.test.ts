import { describe, expect, test } from 'vitest'
import { simulate } from './simulation.ts'

/** Some of everything, in a few seconds; `npm run sim` runs as many as you like. */
const seeds = [2, 6, 7, 8, 12]

describe('simulation', () => {
  test.each(seeds)('seed %i goes well', { timeout: 60_000 }, async (seed) => {
    const { recordCount } = await simulate({ seed })
    expect(recordCount).toBeGreaterThan(0)
  })

  test.each([5, 8])('seed %i is the same run each time', { timeout: 60_000 }, async (seed) => {
    const first: string[] = []
    const second: string[] = []
    const before = await simulate({ seed, trace: (line) => first.push(line) })
    const after = await simulate({ seed, trace: (line) => second.push(line) })
    expect(second.find((line, index) => line !== first[index])).toBeUndefined()
    expect(after).toEqual(before)
  })
})
