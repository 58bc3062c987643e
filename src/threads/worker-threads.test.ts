import { expect, test } from 'vitest'
import { createLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import { StateDirectory } from '../store/state-directory.ts'
import { WorkerThreads } from './worker-threads.ts'

/** Its folders can be looked at, unless it fails. */
class FailingDisk extends MemoryDisk {
  isFailing = false

  override list(path: string): string[] {
    if (this.isFailing) throw new StreamsError('DISK_FAILED', { path, detail: 'EIO' })
    return super.list(path)
  }
}

test('a disk that cannot be read when a directory has changed hands ends nothing', async () => {
  const clock = new ManualClock()
  const disk = new FailingDisk()
  const lines: string[] = []
  const directory = StateDirectory.open({
    disk,
    clock,
    random: seededRandom(1),
    stateDir: '/state',
    applicationId: 'app',
  })
  const threads = new WorkerThreads({
    start: {
      module: 'file:///topology.js',
      fingerprint: '',
      config: { applicationId: 'app', brokers: ['localhost:9092'] },
      workers: 1,
      logLevel: 'silent',
    },
    directory,
    clock,
    log: createLog((level, message, { error }) =>
      lines.push(`${level} ${message}: ${String(error)}`),
    ),
    descriptor: () => undefined,
    stopApplication: () => Promise.resolve(),
    onReport: () => undefined,
  })
  const states = threads.state.of(1)
  disk.isFailing = true
  await states.claim(['0_0'], () => undefined)
  clock.advance(10)
  expect(lines).toEqual([
    'warn how far the state on disk is could not be read: Writing /state/app failed: EIO.',
  ])
  // It is looked at again with the next change.
  disk.isFailing = false
  states.release(['0_0'])
  clock.advance(10)
  expect(lines).toHaveLength(1)
  disk.isFailing = true
  await states.claim(['0_0'], () => undefined)
  clock.advance(10)
  expect(lines).toHaveLength(2)
  threads.close()
  directory.close()
})
