import type { Clock } from '../base/clock.ts'
import type { LogWatcher, PartitionLog } from './partition-log.ts'

export interface AppendWait {
  /** How many bytes must be appended, to all logs together. */
  readonly bytes: number
  readonly waitMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Resolves when so much was appended to these logs, when one of them was closed, when the time is
 * over, or when the signal aborts.
 */
export function awaitAppends(logs: readonly PartitionLog[], wait: AppendWait): Promise<void> {
  return new Promise((resolve) => {
    let missingBytes = wait.bytes
    const finish = (): void => {
      timer.cancel()
      wait.signal.removeEventListener('abort', finish)
      for (const log of logs) log.watchers.delete(watcher)
      resolve()
    }
    const watcher: LogWatcher = {
      onAppend: (sizeInBytes) => {
        missingBytes -= sizeInBytes
        if (missingBytes <= 0) finish()
      },
      onClose: finish,
    }
    const timer = wait.clock.setTimer(wait.waitMs, finish)
    if (wait.signal.aborted) {
      finish()
      return
    }
    wait.signal.addEventListener('abort', finish, { once: true })
    for (const log of logs) log.watchers.add(watcher)
  })
}
