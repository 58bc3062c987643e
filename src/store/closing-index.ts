import { BinaryHeap } from '../base/heap.ts'

/**
 * Rows of a store by the time at which their windows begin or their sessions end, for an operator that
 * emits what has closed: it asks for one stretch of time after the other, and for none twice. So a row
 * is in the index only until it was asked for, and a look costs as much as there is to emit. It stands
 * for the index that Kafka Streams keeps on disk in its time-ordered stores.
 */
export class ClosingIndex {
  readonly #times = new BinaryHeap<number>((one, other) => one - other)
  /** Keys of rows by their latin1 text. */
  readonly #rows = new Map<number, Map<string, Buffer>>()
  #floor: number

  /** Rows before `floor` are of no interest any more. */
  constructor(floor: number) {
    this.#floor = floor
  }

  /** Rows before it were asked for, and are not here any more. */
  get floor(): number {
    return this.#floor
  }

  /** The key is kept. */
  add(time: number, key: Buffer, text: string): void {
    if (time < this.#floor) return
    let rows = this.#rows.get(time)
    if (rows === undefined) {
      rows = new Map()
      this.#rows.set(time, rows)
      this.#times.push(time)
    }
    rows.set(text, key)
  }

  delete(time: number, text: string): void {
    this.#rows.get(time)?.delete(text)
  }

  /** Takes out the rows up to that time, which is included: their keys by time, else in no order. */
  take(to: number): Buffer[] {
    const keys: Buffer[] = []
    for (
      let time = this.#times.peek();
      time !== undefined && time <= to;
      time = this.#times.peek()
    ) {
      // One by one: a call does not take as many arguments as a time may have rows.
      for (const key of this.#rows.get(time)?.values() ?? []) keys.push(key)
      this.#times.pop()
      this.#rows.delete(time)
    }
    this.#floor = Math.max(this.#floor, to + 1)
    return keys
  }
}
