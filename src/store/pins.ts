import { SortedRows, type SortedCursor, type SortedRow, type TextRange } from '../kv/sorted-rows.ts'

/** A change that is not in the engine yet. Never changed: replaced. */
export interface Pin extends SortedRow {
  readonly key: Buffer
  /** Null: the row is deleted. */
  readonly value: Buffer | null
  readonly timestamp: number
}

/** One pin: its object, its place in the Map, the objects of two Buffers. */
const pinOverheadBytes = 256

const sizeOf = ({ text, value }: Pin): number =>
  pinOverheadBytes + text.length * 2 + (value?.length ?? 0)

/** The last change of each key in some stretch of time; put in order only when somebody scans. */
export class Pins {
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

  get(text: string): Pin | undefined {
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
}
