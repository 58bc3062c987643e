import { SortedRows, type SortedCursor, type TextRange } from '../kv/sorted-rows.ts'
import type { Pin, RowStage, SliceLimits, StageWrite, WriteTarget } from './row-stage.ts'
import { SortedRuns } from './sorted-runs.ts'

/** One pin: its object, its place in the Map, the objects of two Buffers. */
const pinOverheadBytes = 256

/** Rows that one slice sorts. */
const sortedPerSlice = 1024

const sizeOf = ({ text, value }: Pin): number =>
  pinOverheadBytes + text.length * 2 + (value?.length ?? 0)

/** The last change of each key in some stretch of time; put in order only when somebody scans. */
export class Pins implements RowStage {
  readonly #pins = new Map<string, Pin>()
  #order: SortedRows<Pin> | undefined
  #bytes = 0

  get size(): number {
    return this.#pins.size
  }

  /** Estimated. */
  get bytes(): number {
    return this.#bytes
  }

  get(_key: Buffer, text: string): Pin | undefined {
    return this.#pins.get(text)
  }

  set(pin: Pin): void {
    const before = this.#pins.get(pin.text)
    this.#bytes += sizeOf(pin) - (before === undefined ? 0 : sizeOf(before))
    this.#pins.set(pin.text, pin)
    this.#order?.add(pin)
  }

  /** In no order that means anything. */
  values(): IterableIterator<Pin> {
    return this.#pins.values()
  }

  cursor(range: TextRange): SortedCursor<Pin> {
    if (this.#order === undefined) {
      this.#order = new SortedRows<Pin>()
      for (const pin of this.#pins.values()) this.#order.add(pin)
    }
    return this.#order.view().cursor(range)
  }

  beginWrite(): StageWrite {
    return new PinsWrite(this.#pins.values())
  }
}

/** Sorts all in small steps, then writes them. */
class PinsWrite implements StageWrite {
  readonly #runs: SortedRuns<Pin>

  constructor(pins: Iterator<Pin>) {
    this.#runs = new SortedRuns(pins)
  }

  prepare(): boolean {
    return this.#runs.sortRun(sortedPerSlice)
  }

  slice({ transaction, rows: table, format }: WriteTarget, limits: SliceLimits): boolean {
    let bytes = 0
    for (let rows = 0; rows < limits.rows && bytes < limits.bytes; rows += 1) {
      const pin = this.#runs.next()
      if (pin === undefined) return false
      const { key, value, timestamp } = pin
      if (value === null) table.delete(transaction, key)
      else table.put(transaction, key, format.encode(value, timestamp))
      bytes += key.length + (value?.length ?? 0)
    }
    return true
  }
}
