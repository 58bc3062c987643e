import { describe, expect, test } from 'vitest'
import { simulate } from './simulation.ts'

/** Some of everything, in a few seconds; `npm run sim` runs as many as you like, and longer. */
const seeds = [2, 6, 7, 12]
const durationMs = 12_000

describe('simulation', () => {
  test.each(seeds)('seed %i goes well', { timeout: 120_000 }, async (seed) => {
    const { recordCount } = await simulate({ seed, durationMs })
    expect(recordCount).toBeGreaterThan(0)
  })

  test.each([8])('seed %i is the same run each time', { timeout: 120_000 }, async (seed) => {
    const first: string[] = []
    const second: string[] = []
    const before = await simulate({ seed, durationMs, trace: (line) => first.push(line) })
    const after = await simulate({ seed, durationMs, trace: (line) => second.push(line) })
    expect(second.find((line, index) => line !== first[index])).toBeUndefined()
    expect(after).toEqual(before)
  })
})
