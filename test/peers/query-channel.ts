import type { QueryPort } from '../../src/query/query-port.ts'

/**
 * Two ends of a channel in one thread: what is posted is cloned, and arrives in a later turn. As with a
 * `MessageChannel`, what is posted before a close arrives; what a thread that is killed has said last,
 * may not.
 */
export class QueryChannel {
  readonly main: End
  readonly thread: End
  /** True: messages stay on their way, as to a thread that stands still. */
  isHeld = false
  readonly #onWay: (() => void)[] = []
  #isClosed = false

  constructor() {
    this.main = new End(this, () => this.thread)
    this.thread = new End(this, () => this.main)
  }

  /** Messages on their way are lost, and both ends hear that the other is gone. */
  kill(): void {
    this.#onWay.length = 0
    this.close()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.carry(() => {
      this.main.tellClosed()
      this.thread.tellClosed()
    })
  }

  /** Lets everything arrive that was held. */
  release(): void {
    this.isHeld = false
    this.#deliver()
  }

  carry(arrive: () => void): void {
    this.#onWay.push(arrive)
    setImmediate(() => {
      this.#deliver()
    })
  }

  #deliver(): void {
    while (!this.isHeld) {
      const arrive = this.#onWay.shift()
      if (arrive === undefined) return
      arrive()
    }
  }
}

class End implements QueryPort {
  readonly #channel: QueryChannel
  readonly #other: () => End
  readonly #messageListeners: ((message: unknown) => void)[] = []
  readonly #closeListeners: (() => void)[] = []
  /** What was posted here. */
  readonly posted: unknown[] = []

  constructor(channel: QueryChannel, other: () => End) {
    this.#channel = channel
    this.#other = other
  }

  postMessage(message: unknown): void {
    const clone: unknown = structuredClone(message)
    this.posted.push(clone)
    this.#channel.carry(() => {
      for (const listener of this.#other().#messageListeners) listener(clone)
    })
  }

  on(event: 'message' | 'close', listener: ((message: unknown) => void) | (() => void)): void {
    if (event === 'message') this.#messageListeners.push(listener)
    else this.#closeListeners.push(listener as () => void)
  }

  close(): void {
    this.#channel.close()
  }

  tellClosed(): void {
    for (const listener of this.#closeListeners) listener()
  }
}
