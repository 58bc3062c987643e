import type { TimeBasedWindows } from '../windows.ts'

/** Called with the start and the end of a window. */
export type VisitWindow = (start: number, end: number) => void

/** Finds the windows of a moment, without an object for each. Java's Windows#windowsFor. */
export interface WindowAssignment {
  /** Visits the windows that hold that moment, by their start. */
  visit(timestamp: number, window: VisitWindow): void
  /** True: the same windows hold both moments. */
  isSame(timestamp: number, other: number): boolean
}

export function windowAssignment(windows: TimeBasedWindows): WindowAssignment {
  switch (windows.kind) {
    case 'time':
      return new AlignedWindows(windows)
    case 'unlimited':
      return {
        visit(timestamp, window) {
          if (timestamp >= windows.start) window(windows.start, Infinity)
        },
        isSame: (timestamp, other) => timestamp >= windows.start === other >= windows.start,
      }
    case 'custom':
      return {
        visit(timestamp, window) {
          for (const { start, end } of windows.windowsFor(timestamp)) {
            if (start >= 0 && end > start) window(start, end)
            else throw new RangeError(`there is no window from ${start} to ${end}`)
          }
        },
        isSame: (timestamp, other) => timestamp === other,
      }
    default:
      throw new TypeError(windows satisfies never)
  }
}

class AlignedWindows implements WindowAssignment {
  readonly #size: number
  readonly #advance: number

  constructor({ size, advance }: { readonly size: number; readonly advance: number }) {
    this.#size = size
    this.#advance = advance
  }

  visit(timestamp: number, window: VisitWindow): void {
    const size = this.#size
    const advance = this.#advance
    let start = this.#first(timestamp)
    for (; start <= timestamp; start += advance) window(start, start + size)
  }

  isSame(timestamp: number, other: number): boolean {
    return (
      this.#first(timestamp) === this.#first(other) && this.#last(timestamp) === this.#last(other)
    )
  }

  #first(timestamp: number): number {
    const advance = this.#advance
    return Math.floor(Math.max(0, timestamp - this.#size + advance) / advance) * advance
  }

  #last(timestamp: number): number {
    return Math.floor(timestamp / this.#advance) * this.#advance
  }
}
