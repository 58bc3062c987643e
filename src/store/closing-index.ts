import { BinaryHeap } from '../base/heap.ts'

/**
 * Rows in memory by the time at which their windows begin or their sessions end, for an operator that
 * emits what has closed: it asks for one stretch of time after the other, and for none twice. So a row
 * is in the index only until it was asked for, and a look costs as much as there is to emit. What lies in
 * an engine on disk has its index there: see segment-tables.ts.
 */
export class ClosingIndex<Id, Row> {
  readonly #times = new BinaryHeap<number>((one, other) => one - other)
  /** What is in the heap: a time may be without rows, and get some again. */
  readonly #known = new Set<number>()
  readonly #rows = new Map<number, Map<Id, Row>>()
  #floor = 0

  /** Rows before it were asked for, and are not here any more. */
  get floor(): number {
    return this.#floor
  }

  /** A row takes the place of the one with the same id. */
  add(time: number, id: Id, row: Row): void {
    if (time < this.#floor) return
    let rows = this.#rows.get(time)
    if (rows === undefined) {
      rows = new Map()
      this.#rows.set(time, rows)
      if (!this.#known.has(time)) {
        this.#known.add(time)
        this.#times.push(time)
      }
    }
    rows.set(id, row)
  }

  delete(time: number, id: Id): void {
    const rows = this.#rows.get(time)
    if (rows?.delete(id) === true && rows.size === 0) this.#rows.delete(time)
  }

  /** Takes out the rows up to that time, which is included: by time, else in no order. */
  take(to: number): Row[] {
    const taken: Row[] = []
    // One by one: a call does not take as many arguments as a time may have rows.
    this.#takeOut(to, (row) => taken.push(row))
    this.#floor = Math.max(this.#floor, to + 1)
    return taken
  }

  /** Forgets the rows before that time, which the store has forgotten: nobody may ever ask, as in a standby. */
  forget(before: number): void {
    this.#takeOut(before - 1, undefined)
  }

  #takeOut(to: number, tell: ((row: Row) => void) | undefined): void {
    const times = this.#times
    for (let time = times.peek(); time !== undefined && time <= to; time = times.peek()) {
      if (tell !== undefined) for (const row of this.#rows.get(time)?.values() ?? []) tell(row)
      times.pop()
      this.#known.delete(time)
      this.#rows.delete(time)
    }
  }

  clear(): void {
    this.#times.clear()
    this.#known.clear()
    this.#rows.clear()
  }
}
