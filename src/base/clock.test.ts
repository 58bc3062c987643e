import { expect, test } from 'vitest'
import { sleep, systemClock, yieldTurn } from './clock.ts'

test('a sleep ends early, without an error, when its signal aborts', async () => {
  const controller = new AbortController()
  const slept = sleep(systemClock, 3_600_000, controller.signal)
  controller.abort()
  await expect(slept).resolves.toBeUndefined()
  await expect(sleep(systemClock, 3_600_000, controller.signal)).resolves.toBeUndefined()
})

test('a cancelled timer never calls back', async () => {
  const called: string[] = []
  systemClock.setTimer(1, () => called.push('cancelled')).cancel()
  await new Promise<void>((resolve) => {
    systemClock.setTimer(5, resolve)
  })
  expect(called).toEqual([])
})

test('a yielded turn lets other work of the loop go first', async () => {
  const order: string[] = []
  systemClock.setImmediate(() => order.push('other'))
  await yieldTurn(systemClock)
  order.push('after')
  expect(order).toEqual(['other', 'after'])
})
