import { describe, expect, test } from 'vitest'
import { sleep, yieldTurn } from './clock.ts'
import { seededRandom } from './random.ts'
import { VirtualTime } from './virtual-time.ts'

function world(seed = 1, trace?: (line: string) => void): VirtualTime {
  return new VirtualTime({ random: seededRandom(seed), start: 1_000_000, trace })
}

describe('VirtualTime', () => {
  test('timers fire in order of time, none too early, and promises run between them', async () => {
    const time = world()
    const { clock } = time.process('a')
    const seen: string[] = []
    const note = async (name: string, ms: number): Promise<void> => {
      await sleep(clock, ms)
      expect(clock.now()).toBeGreaterThanOrEqual(1_000_000 + ms)
      await Promise.resolve()
      seen.push(name)
    }
    void note('c', 30)
    void note('a', 10)
    void note('b', 20)
    await time.run(1_000_015)
    expect(seen).toEqual(['a'])
    expect(time.now).toBeGreaterThanOrEqual(1_000_015)
    await time.run(1_000_060)
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  test('hours pass in no time', async () => {
    const time = world()
    const { clock } = time.process('a')
    let isOver = false
    clock.setTimer(3_600_000, () => {
      isOver = true
    })
    await time.run(time.now + 10_000_000, () => isOver)
    expect(isOver).toBe(true)
    expect(time.now).toBeLessThan(1_000_000 + 3_600_100)
  })

  test('several wait at a time, each for its own', async () => {
    const time = world()
    const { clock } = time.process('a')
    const ends: string[] = []
    let isOver = false
    clock.setTimer(500, () => {
      isOver = true
    })
    const long = time.run(time.now + 1000).then(() => ends.push(`long ${isOver}`))
    const condition = time.run(time.now + 9000, () => isOver).then(() => ends.push('condition'))
    await time.run(time.now + 100).then(() => ends.push(`short ${isOver}`))
    expect(ends).toEqual(['short false'])
    await Promise.all([long, condition])
    expect(ends).toEqual(['short false', 'condition', 'long true'])
    expect(time.now).toBeGreaterThanOrEqual(1_001_000)
  })

  test('a look at the clock costs time, so that a loop with a deadline ends', () => {
    const { clock } = world().process('a')
    const deadline = clock.monotonic() + 4
    let looks = 0
    while (clock.monotonic() < deadline) looks += 1
    expect(looks).toBeGreaterThan(0)
  })

  test('nothing of a dead process runs any more', async () => {
    const time = world()
    const process = time.process('a')
    const seen: string[] = []
    process.clock.setTimer(5, () => seen.push('timer'))
    void sleep(process.clock, 5).then(() => seen.push('promise'))
    const told: string[] = []
    process.onDeath(() => told.push('dead'))
    process.kill()
    process.kill()
    process.clock.setImmediate(() => seen.push('afterwards'))
    await time.run(time.now + 100)
    expect(seen).toEqual([])
    expect(told).toEqual(['dead'])
  })

  test('a process dies inside of what it does', async () => {
    const time = world()
    const process = time.process('a')
    const seen: number[] = []
    const work = async (): Promise<void> => {
      for (let step = 0; ; step += 1) {
        seen.push(step)
        await yieldTurn(process.clock)
      }
    }
    void work()
    process.killAfter(3)
    await time.run(time.now + 100)
    expect(process.isDead).toBe(true)
    expect(seen).toEqual([0, 1, 2, 3])
  })

  test('a paused process has everything in its order when it goes on', async () => {
    const time = world()
    const process = time.process('a')
    const seen: string[] = []
    process.clock.setTimer(20, () => seen.push('b'))
    process.clock.setTimer(10, () => seen.push('a'))
    process.clock.setTimer(5000, () => seen.push('c'))
    process.pause()
    await time.run(time.now + 1000)
    expect(seen).toEqual([])
    process.resume()
    await time.run(time.now + 10)
    expect(seen).toEqual(['a', 'b'])
  })

  test('the same seed is the same run, another seed is another', async () => {
    const runOf = async (seed: number): Promise<{ lines: string[]; digest: string }> => {
      const lines: string[] = []
      const time = world(seed, (line) => lines.push(line))
      for (const host of ['a', 'b', 'c']) {
        const { clock } = time.process(host)
        const work = async (): Promise<void> => {
          for (let step = 0; step < 20; step += 1) {
            await sleep(clock, 5)
            time.note(host, `step ${step}`)
          }
        }
        void work()
      }
      await time.run(time.now + 1000)
      return { lines, digest: time.digest }
    }
    const first = await runOf(7)
    expect(await runOf(7)).toEqual(first)
    expect(first.lines).toHaveLength(60)
    expect((await runOf(8)).digest).not.toBe(first.digest)
  })

  test('what an event throws ends the run', async () => {
    const time = world()
    time.process('a').clock.setTimer(5, () => {
      throw new Error('broken')
    })
    await expect(time.run(time.now + 10)).rejects.toThrow('broken')
  })
})
