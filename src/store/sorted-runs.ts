import { BinaryHeap } from '../base/heap.ts'
import type { SortedRow } from '../kv/sorted-rows.ts'

const byText = (a: SortedRow, b: SortedRow): number =>
  a.text < b.text ? -1 : a.text > b.text ? 1 : 0

/** A sorted run, and the row of it that comes next. */
class Run<T extends SortedRow> implements SortedRow {
  readonly #rows: readonly T[]
  #next = 0
  text: string

  constructor(rows: readonly T[]) {
    this.#rows = rows
    this.text = (rows[0] as T).text
  }

  take(): T {
    const row = this.#rows[this.#next] as T
    this.#next += 1
    this.text = this.#rows[this.#next]?.text ?? ''
    return row
  }

  get isEmpty(): boolean {
    return this.#next === this.#rows.length
  }
}

/**
 * Sorts rows in small steps: runs are sorted one by one, and merged while they are read. The keys
 * of the rows differ.
 */
export class SortedRuns<T extends SortedRow> {
  readonly #rows: Iterator<T>
  readonly #runs = new BinaryHeap<Run<T>>(byText)

  constructor(rows: Iterator<T>) {
    this.#rows = rows
  }

  /** Sorts the next run of so many rows; true while there are more. */
  sortRun(rowsMax: number): boolean {
    const run: T[] = []
    let isMore = true
    while (run.length < rowsMax) {
      const next = this.#rows.next()
      if (next.done === true) {
        isMore = false
        break
      }
      run.push(next.value)
    }
    if (run.length > 0) this.#runs.push(new Run(run.sort(byText)))
    return isMore
  }

  /** The next row in order, once all runs are sorted. */
  next(): T | undefined {
    const run = this.#runs.peek()
    if (run === undefined) return undefined
    const row = run.take()
    if (run.isEmpty) this.#runs.pop()
    else this.#runs.topChanged()
    return row
  }
}
