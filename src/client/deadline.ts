import { setMaxListeners } from 'node:events'
import type { Clock } from '../base/clock.ts'

/** What ends a wait before its promise settles. */
export interface WaitBounds {
  readonly ms: number
  readonly signals: readonly (AbortSignal | undefined)[]
  /** The error when the time is up, or when a signal aborts. */
  readonly onTimeout: () => Error
  readonly onAbort: (signal: AbortSignal) => Error
}

/**
 * Settles as the promise does, unless the time is up or a signal aborts before: for waits on work
 * that others wait for too, and that goes on without us.
 */
export function within<T>(clock: Clock, promise: Promise<T>, bounds: WaitBounds): Promise<T> {
  return new Promise((resolve, reject) => {
    const cleanUps: (() => void)[] = []
    const settle = (finish: () => void): void => {
      for (const cleanUp of cleanUps) cleanUp()
      finish()
    }
    const timer = clock.setTimer(bounds.ms, () => settle(() => reject(bounds.onTimeout())))
    cleanUps.push(() => timer.cancel())
    for (const signal of bounds.signals) {
      if (signal === undefined) continue
      const onAbort = (): void => settle(() => reject(bounds.onAbort(signal)))
      if (signal.aborted) onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      cleanUps.push(() => signal.removeEventListener('abort', onAbort))
    }
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: Error) => settle(() => reject(error)),
    )
  })
}

/** A signal that aborts when either does; disposed of when the wait is over, so that none is kept. */
export function eitherSignal(
  first: AbortSignal,
  second: AbortSignal | undefined,
): Disposable & { readonly signal: AbortSignal } {
  const either = new AbortController()
  const abort = (): void => either.abort()
  const signals = second === undefined ? [first] : [first, second]
  for (const signal of signals) {
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }
  return {
    signal: either.signal,
    [Symbol.dispose]: () => {
      for (const signal of signals) signal.removeEventListener('abort', abort)
    },
  }
}

/** For the life of an object that many waits listen to: Node warns of more than ten otherwise. */
export function lifeController(): AbortController {
  const life = new AbortController()
  setMaxListeners(0, life.signal)
  return life
}
