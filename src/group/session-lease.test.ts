import { expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { SessionLease } from './session-lease.ts'

function start() {
  const clock = new ManualClock()
  const changes: string[] = []
  const onChange = (isOver: boolean): void => {
    changes.push(`${isOver ? 'over' : 'held'} at ${clock.monotonic()}`)
  }
  return { clock, changes, lease: new SessionLease({ clock, sessionTimeoutMs: 1000, onChange }) }
}

test('a lease is over a session after the last request that was answered was sent', () => {
  const { clock, changes, lease } = start()
  lease.renew(0)
  clock.advance(900)
  lease.renew(400)
  clock.advance(499)
  expect(lease.isOver).toBe(false)
  clock.advance(1)
  expect(lease.isOver).toBe(true)
  expect(changes).toEqual(['over at 1400'])
})

test('an answer brings it back, unless it took as long as a session', () => {
  const { clock, changes, lease } = start()
  lease.renew(0)
  clock.advance(2000)
  lease.renew(1000)
  expect(lease.isOver).toBe(true)
  lease.renew(1900)
  expect(lease.isOver).toBe(false)
  expect(changes).toEqual(['over at 1000', 'held at 2000'])
})

test('an answer that was overtaken by a later one does not shorten it', () => {
  const { clock, lease } = start()
  lease.renew(0)
  clock.advance(800)
  lease.renew(800)
  lease.renew(100)
  clock.advance(999)
  expect(lease.isOver).toBe(false)
})

test('while the coordinator holds a join back it does not run out', () => {
  const { clock, changes, lease } = start()
  lease.renew(0)
  lease.suspend()
  clock.advance(60_000)
  expect(lease.isOver).toBe(false)
  expect(changes).toEqual([])
  expect(clock.timerCount).toBe(0)
})
