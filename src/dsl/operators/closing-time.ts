import type { NodeContext } from '../../processor/processor.ts'

/** Nothing was emitted yet. */
const never = -1

/**
 * Tells an operator that emits on window close when to look for windows that have closed: when the time
 * up to which windows are closed has moved, and not too often by the wall clock. How far it has come
 * goes with the committed offsets. Java's KStreamImplJoin.TimeTracker and what its users keep.
 */
export class ClosingTime {
  readonly #context: NodeContext
  readonly #storeName: string
  /** Of the wall clock. */
  #nextLook = 0
  #last: number

  constructor(context: NodeContext, storeName: string) {
    this.#context = context
    this.#storeName = storeName
    this.#last = context.metadata(storeName) ?? never
  }

  /** Windows that closed before it were emitted; undefined: none was. */
  get last(): number | undefined {
    return this.#last === never ? undefined : this.#last
  }

  /** True: it is time to look for windows that have closed by `closeTime`. */
  isDue(closeTime: number): boolean {
    const now = this.#context.wallClockTime()
    if (now < this.#nextLook) return false
    this.#nextLook = now + this.#context.emitIntervalMs
    return this.#last === never || this.#last < closeTime
  }

  /** All windows that have closed by then were emitted. */
  advance(closeTime: number): void {
    this.#last = closeTime
    this.#context.setMetadata(this.#storeName, closeTime)
  }
}
