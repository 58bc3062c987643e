/**
 * A process that exits ends its threads wherever they are. One that has a transaction of LMDB open would not
 * end then, and the process with it: the package waits for a lock that the thread itself has. So all are
 * asked to exit by themselves, which ends what is open, and are waited for.
 */

import { systemClock } from '../base/clock.ts'

/** All threads together have so long: they hear of it between two slices of their work. */
const patienceMs = 1000

/** A thread that can be asked to exit. */
export interface LiveThread {
  /** Not 0: what was open in it is ended. */
  readonly gone: Int32Array
  /** Asks it to exit; answered by {@link tellGone}. */
  askToExit(): void
}

const live = new Set<LiveThread>()

function endAll(): void {
  for (const thread of live) thread.askToExit()
  const deadline = systemClock.monotonic() + patienceMs
  for (const { gone } of live) {
    Atomics.wait(gone, 0, 0, Math.max(0, deadline - systemClock.monotonic()))
  }
}

/** Remembers a thread until what it returns is disposed. */
export function watchThread(thread: LiveThread): Disposable {
  if (live.size === 0) process.on('exit', endAll)
  live.add(thread)
  return {
    [Symbol.dispose]: () => {
      live.delete(thread)
      if (live.size === 0) process.off('exit', endAll)
    },
  }
}

/** Shared with the thread. */
export function makeGone(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** In the thread: nothing is open any more. */
export function tellGone(gone: Int32Array): void {
  Atomics.store(gone, 0, 1)
  Atomics.notify(gone, 0)
}
