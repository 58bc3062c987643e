import { isStreamsError, messageOf } from '../../errors.ts'

/** What a program that the demo has started tells it. */
export type ChildMessage =
  | { readonly type: 'ready'; readonly port: number }
  /** The failure that ends it, in one line. */
  | { readonly type: 'failure'; readonly message: string }

/** What the demo tells it. */
export interface ParentMessage {
  readonly type: 'stop'
}

/** Milliseconds that a program has to end by itself once the demo is gone. */
const orphanTimeoutMs = 8000

/**
 * The end of a program that the demo has started: it stops when it is told to, and when the demo is
 * gone. Nothing that the demo starts outlives it.
 */
export class ParentLink {
  readonly #stop = new AbortController()
  #isOrphan = false

  private constructor() {
    process.on('message', (message: ParentMessage) => {
      if (message.type === 'stop') this.#stop.abort()
    })
    process.once('disconnect', () => {
      this.#isOrphan = !this.#stop.signal.aborted
      this.#stop.abort()
      setTimeout(() => process.exit(1), orphanTimeoutMs).unref()
    })
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => this.#stop.abort())
    }
  }

  /** Undefined for a program that was started by a person. */
  static open(): ParentLink | undefined {
    return process.send === undefined ? undefined : new ParentLink()
  }

  /** Aborts when the program is to stop. */
  get stop(): AbortSignal {
    return this.#stop.signal
  }

  /** True: the demo went away without a word. */
  get isOrphan(): boolean {
    return this.#isOrphan
  }

  ready(port: number): void {
    this.#send({ type: 'ready', port })
  }

  failure(error: unknown): void {
    this.#send({ type: 'failure', message: failureLine(error) })
  }

  /** Lets the program end. */
  close(): void {
    if (process.connected) process.disconnect()
  }

  #send(message: ChildMessage): void {
    // The other end may go at any moment; `disconnect` then says so.
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
  }
}

/** Every command that opens a port has this option. */
const portHint = 'Choose another with --port; 0 takes any free one.'

/** A failure in one line. */
export function failureLine(error: unknown): string {
  const line = messageOf(error).replaceAll(/\s*\n\s*/g, ' ')
  if (!isStreamsError(error)) return line
  const hint = error.code === 'ADDRESS_IN_USE' ? ` ${portHint}` : ''
  return `${line}${hint} (${error.code})`
}
