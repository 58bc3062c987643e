/**
 * Lets a loop sleep until something happens elsewhere. A call that comes while nobody waits is not
 * lost: the next wait returns at once.
 */
export class WakeUp {
  #isPending = false
  #resolve: (() => void) | undefined

  notify(): void {
    if (this.#resolve === undefined) this.#isPending = true
    else this.#resolve()
  }

  /** Resolves at the next (or a pending) notification, or when the signal aborts. One waiter at a time. */
  wait(signal: AbortSignal): Promise<void> {
    if (this.#isPending || signal.aborted) {
      this.#isPending = false
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const done = (): void => {
        this.#resolve = undefined
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#resolve = done
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
