import { expect, test } from 'vitest'
import { settled } from '../../test/peers/scripted-appends.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { seededRandom } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import type { WorkerHandle } from './worker-handle.ts'
import { WorkerSlot, type FailureVerdict } from './worker-slot.ts'

/** A worker that cannot begin, or works until it is stopped. */
function worker(canBegin: boolean, lost?: StreamsError): WorkerHandle {
  let end = (): void => undefined
  const done = new Promise<void>((resolve) => {
    end = resolve
  })
  return {
    start: () => {
      if (!canBegin) throw new RangeError('no thread is left')
    },
    done,
    stop: () => {
      end()
      return done
    },
    announceStop: () => undefined,
    stopApplication: () => Promise.resolve(),
    cut: () => Promise.resolve(),
    close: () => Promise.resolve(lost),
    pause: () => undefined,
    resume: () => undefined,
    shareMemory: () => undefined,
    tasks: () => [],
    storeLags: () => [],
    held: () => undefined,
    partitionCount: () => undefined,
    metrics: () => [],
    stateBytes: () => ({ memory: 0, dirty: 0 }),
  }
}

function setUp(verdict: FailureVerdict['kind'], begins: readonly boolean[], lost?: StreamsError) {
  const clock = new ManualClock()
  const told: string[] = []
  let made = 0
  const slot: WorkerSlot = new WorkerSlot({
    number: 1,
    clock,
    random: seededRandom(1),
    make: () => {
      told.push('made')
      const canBegin = begins[made] ?? true
      made += 1
      return worker(canBegin, lost)
    },
    listener: {
      onTasks: () => undefined,
      onRestore: () => undefined,
      onStandbyUpdate: () => undefined,
      onHosts: () => undefined,
      onStatus: () => told.push(slot.status),
      onFailure: (error) => {
        told.push(error.message)
        return { kind: verdict }
      },
      onEnd: (error) => told.push(error === undefined ? 'ended' : 'lost'),
    },
  })
  return { clock, slot, told }
}

test('a worker that cannot begin is a failure as any other, and ends its place', async () => {
  const { clock, slot, told } = setUp('end', [false])
  slot.start()
  await settled(clock, slot.done)
  expect(told).toEqual(['made', 'no thread is left'])
  expect([slot.worker, slot.isWorking]).toEqual([undefined, false])
  await slot.stop('leave')
})

test('a worker that cannot begin is replaced after a while, and can be stopped meanwhile', async () => {
  const { clock, slot, told } = setUp('replace', [false, false])
  slot.start()
  expect(told).toEqual(['made', 'no thread is left', 'starting'])
  while (!slot.isWorking) await clock.run(100)
  expect(told.filter((what) => what === 'made')).toHaveLength(3)
  expect(clock.monotonic()).toBeGreaterThanOrEqual(500)
  await settled(clock, slot.stop('leave'))
  expect(told.at(-1)).toBe('ended')

  const other = setUp('replace', [false])
  other.slot.start()
  await settled(other.clock, other.slot.stop('leave'))
  expect(other.told).toEqual(['made', 'no thread is left', 'starting'])
})

test('a worker that cannot be ended has no successor', async () => {
  const lost = new StreamsError('WORKER_DIED', { worker: 1, end: 'none' })
  const { clock, slot, told } = setUp('replace', [true], lost)
  slot.start()
  await slot.worker?.stop('leave')
  await settled(clock, slot.done)
  expect(told).toEqual(['made', 'lost'])
  expect(slot.lost).toBe(lost)
})
