import { describe, expect, test } from 'vitest'
import { sleep, yieldTurn } from './clock.ts'
import { ManualClock } from './manual-clock.ts'

describe('ManualClock', () => {
  test('timers fire in order of time, then of setting, each at its own time', () => {
    const clock = new ManualClock(1_000)
    const fired: string[] = []
    const note = (name: string) => () => fired.push(`${name}@${clock.now()}`)
    clock.setTimer(20, note('c'))
    clock.setTimer(10, note('a'))
    clock.setTimer(10, note('b'))
    clock.advance(9)
    expect(fired).toEqual([])
    clock.advance(31)
    expect(fired).toEqual(['a@1010', 'b@1010', 'c@1020'])
    expect(clock.now()).toBe(1_040)
    expect(clock.monotonic()).toBe(40)
  })

  test('a timer set by a timer fires in the same advance when it falls due', () => {
    const clock = new ManualClock()
    const fired: number[] = []
    const again = (): void => {
      fired.push(clock.now())
      if (fired.length < 3) clock.setTimer(5, again)
    }
    clock.setTimer(5, again)
    clock.advance(12)
    expect(fired).toEqual([5, 10])
  })

  test('a cancelled timer does not fire, and cancelling twice is harmless', () => {
    const clock = new ManualClock()
    const timer = clock.setTimer(5, () => expect.unreachable())
    timer.cancel()
    timer.cancel()
    clock.advance(10)
    expect(clock.timerCount).toBe(0)
  })

  test('run lets promises come to rest between two timers', async () => {
    const clock = new ManualClock()
    const seen: number[] = []
    const work = async (): Promise<void> => {
      for (let step = 0; step < 3; step++) {
        await sleep(clock, 10)
        await yieldTurn(clock)
        seen.push(clock.now())
      }
    }
    const done = work()
    await clock.run(25)
    expect(seen).toEqual([10, 20])
    await clock.run(5)
    await done
    expect(seen).toEqual([10, 20, 30])
  })
})
