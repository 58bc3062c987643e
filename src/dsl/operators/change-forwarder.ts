import { Change } from '../../processor/change.ts'
import type { NodeContext } from '../../processor/processor.ts'

/** Forwards changes of a table with one Change object for all of them: children do not keep it. */
export class ChangeForwarder {
  readonly #context: NodeContext
  readonly #change = new Change<unknown>(undefined, undefined)
  /** The one object is on its way down. It stays so after a step below has thrown, which is harmless. */
  #inUse = false

  constructor(context: NodeContext) {
    this.#context = context
  }

  /** Undefined stands for no value. */
  forward(
    key: unknown,
    newValue: unknown,
    oldValue: unknown,
    timestamp: number,
    isLatest = true,
  ): void {
    if (this.#inUse) {
      // A step below wrote so much that a cache above gives up entries meanwhile, and a change
      // arrives here inside another one: children that did not see the outer one yet must get it.
      this.#context.forwardAt(key, new Change(newValue, oldValue, isLatest), timestamp)
      return
    }
    const change = this.#change
    change.newValue = newValue
    change.oldValue = oldValue
    change.isLatest = isLatest
    this.#inUse = true
    this.#context.forwardAt(key, change, timestamp)
    this.#inUse = false
  }
}
