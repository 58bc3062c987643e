import { expect, test } from 'vitest'
import { WakeUp } from './wake-up.ts'

const never = new AbortController().signal

test('a wait ends when it is notified', async () => {
  const wakeUp = new WakeUp()
  let isAwake = false
  const waiting = wakeUp.wait(never).then(() => {
    isAwake = true
  })
  expect(isAwake).toBe(false)
  wakeUp.notify()
  await waiting
  expect(isAwake).toBe(true)
})

test('a notification while nobody waits is kept for the next wait, once', async () => {
  const wakeUp = new WakeUp()
  wakeUp.notify()
  wakeUp.notify()
  await wakeUp.wait(never)
  let isAwake = false
  const stop = new AbortController()
  const second = wakeUp.wait(stop.signal).then(() => {
    isAwake = true
  })
  await Promise.resolve()
  expect(isAwake).toBe(false)
  stop.abort()
  await second
})

test('a wait that was aborted does not eat the next notification', async () => {
  const wakeUp = new WakeUp()
  const stop = new AbortController()
  const waiting = wakeUp.wait(stop.signal)
  stop.abort()
  await waiting
  wakeUp.notify()
  await expect(wakeUp.wait(never)).resolves.toBeUndefined()
})
