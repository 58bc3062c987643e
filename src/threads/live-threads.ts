/**
 * A process that exits ends its threads wherever they are. One that writes to its state would not end
 * then, and the process with it (`kv/write-gate`): so it is waited for. One that cannot be ended at all
 * would keep the process for ever, which nobody outside could tell from one that works: that process
 * kills itself.
 */
import { systemClock } from '../base/clock.ts'
import type { WriteGate } from '../kv/write-gate.ts'

/** All threads together have so long to come out of what they write. */
const patienceMs = 5000

/** A thread that ends when the process does, as far as it can be ended. */
export interface WatchedThread extends Disposable {
  /** It could not be ended. */
  giveUp(): void
}

interface LiveThread {
  readonly gate: WriteGate
  isLost: boolean
}

const live = new Set<LiveThread>()

function endAll(): void {
  for (const { gate } of live) gate.close()
  const deadline = systemClock.monotonic() + patienceMs
  let mayExit = true
  for (const { gate, isLost } of live) {
    const ms = Math.max(0, deadline - systemClock.monotonic())
    if (isLost || !gate.waitOutside(ms)) mayExit = false
  }
  if (!mayExit) process.kill(process.pid, 'SIGKILL')
}

/** Remembers a thread until what it returns is disposed. */
export function watchThread(gate: WriteGate): WatchedThread {
  const thread: LiveThread = { gate, isLost: false }
  if (live.size === 0) process.on('exit', endAll)
  live.add(thread)
  return {
    giveUp: () => {
      thread.isLost = true
    },
    [Symbol.dispose]: () => {
      live.delete(thread)
      if (live.size === 0) process.off('exit', endAll)
    },
  }
}
