import type { Clock } from '../base/clock.ts'
import type { LogWatcher, PartitionLog } from './partition-log.ts'

export interface AppendWait {
  /**
   * `any`: for `bytes` of appends; `stable`: until more is stable in one of the logs, however little.
   */
  readonly how: 'any' | 'stable'
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
      for (const [log, watcher] of watchers) log.watchers.delete(watcher)
      resolve()
    }
    const onAppend = (sizeInBytes: number): void => {
      missingBytes -= sizeInBytes
      if (missingBytes <= 0) finish()
    }
    const watchers = logs.map((log): [PartitionLog, LogWatcher] => {
      if (wait.how === 'any') return [log, { onAppend, onClose: finish }]
      const stableOffset = log.lastStableOffset
      const onStable = (): void => {
        if (log.lastStableOffset > stableOffset) finish()
      }
      return [log, { onAppend: onStable, onClose: finish }]
    })
    const timer = wait.clock.setTimer(wait.waitMs, finish)
    if (wait.signal.aborted) {
      finish()
      return
    }
    wait.signal.addEventListener('abort', finish, { once: true })
    for (const [log, watcher] of watchers) log.watchers.add(watcher)
  })
}
