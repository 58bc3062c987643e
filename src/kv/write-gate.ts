/**
 * A thread that is ended from outside while it has a write transaction of LMDB open never ends: the package
 * waits for a lock that the thread itself has, and no JavaScript runs any more that could give it up. So
 * whoever ends a thread closes its gate first, and waits until the thread is outside:
 *
 *     thread      enter ─► begin, put, …, commit ─► leave        enter, closed: waits there for its end
 *     main        close ─► is it inside? ─► terminate
 */
import { assert } from '../base/assert.ts'

/** Bits of the word that both threads see. */
const inside = 1
const closed = 2

/** How often its thread has entered, or has got on: one that is stuck inside is told from one that works. */
const stepsAt = 1

/** The gate of one thread. */
export class WriteGate {
  /** What is given to the thread. */
  readonly shared: Int32Array
  /** Of this thread: transactions of several engines may be open. */
  #depth = 0

  constructor(
    shared: Int32Array = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)),
  ) {
    this.shared = shared
  }

  /** In the thread, before it begins to write. Does not return once the gate is closed. */
  enter(): void {
    this.#depth += 1
    if (this.#depth > 1) return
    this.step()
    // Not inside for a moment and out again: who ends the thread may look just then.
    if (Atomics.compareExchange(this.shared, 0, 0, inside) === 0) return
    for (;;) Atomics.wait(this.shared, 0, closed)
  }

  /** In the thread, now and then while it writes much: it gets on. */
  step(): void {
    Atomics.add(this.shared, stepsAt, 1)
  }

  /** In the thread, when what it has begun is ended. */
  leave(): void {
    assert(this.#depth > 0, 'who leaves has entered')
    this.#depth -= 1
    if (this.#depth === 0) this.#leave()
  }

  #leave(): void {
    Atomics.and(this.shared, 0, ~inside)
    Atomics.notify(this.shared, 0)
  }

  /** Elsewhere: the thread does not begin to write any more. */
  close(): void {
    Atomics.or(this.shared, 0, closed)
  }

  /** Elsewhere: the thread writes. */
  get isInside(): boolean {
    return (Atomics.load(this.shared, 0) & inside) !== 0
  }

  /** Elsewhere: another number than before when it has got on, or left, meanwhile. */
  get steps(): number {
    return Atomics.load(this.shared, stepsAt)
  }

  /**
   * Elsewhere, of a gate that is closed: stands still until the thread is outside; false: it is not after so
   * many milliseconds.
   */
  waitOutside(ms: number): boolean {
    Atomics.wait(this.shared, 0, inside | closed, ms)
    return !this.isInside
  }
}

let own = new WriteGate()

/** The gate of this thread. */
export function ownGate(): WriteGate {
  return own
}

/** Once, before anything is written: others may end this thread by this gate. */
export function setOwnGate(gate: WriteGate): void {
  own = gate
}
