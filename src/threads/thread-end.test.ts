import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { WriteGate } from '../kv/write-gate.ts'
import { ThreadEnd } from './thread-end.ts'

/** A thread of which only its end counts. */
class Thread extends EventEmitter {
  terminations = 0

  terminate(): void {
    this.terminations += 1
    this.emit('exit', 1)
  }

  unref(): void {}
}

function setUp() {
  const clock = new ManualClock()
  const gate = new WriteGate()
  const thread = new Thread()
  const end = new ThreadEnd(thread as unknown as Worker, {
    gate: new WriteGate(gate.shared),
    clock,
  })
  return { clock, gate, thread, end }
}

test('a thread that gets on with what it writes is waited for, however long that is', async () => {
  const { clock, gate, thread, end } = setUp()
  gate.enter()
  const ended = end.force()
  for (let second = 0; second < 60; second += 1) {
    gate.step()
    await clock.run(1000)
  }
  expect(thread.terminations).toBe(0)
  gate.leave()
  await clock.run(1000)
  expect(thread.terminations).toBe(1)
  expect(await ended).toBe('gone')
})

test('a thread that does not get on is lost', async () => {
  const { clock, gate, thread, end } = setUp()
  gate.enter()
  const ended = end.force()
  await clock.run(20_000)
  expect(await ended).toBe('lost')
  expect(thread.terminations).toBe(0)
  // The process has nothing to wait for.
  thread.emit('exit', 1)
})
