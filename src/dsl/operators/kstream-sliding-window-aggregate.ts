import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { ValueAndTimestamp } from '../../store/key-value-store.ts'
import type { StampedWindowStore } from '../../store/typed-window-stores.ts'
import type { SlidingWindows } from '../windows.ts'
import type { Aggregation } from './aggregation.ts'
import type { ClosingTime } from './closing-time.ts'
import { droppedExpiredWindow, droppedNullKeyOrValue } from './dropped-reason.ts'
import { WindowedAggregateNode, type WindowedAggregateParts } from './windowed-aggregate-node.ts'
import type { WindowedTable } from './windowed-table.ts'

/**
 * Folds the values of a key into sliding windows. A record at t is in every window from t - d to t that
 * is there already, and may be the reason for up to three new ones:
 *
 *     previous record p      record t
 *          ·─────────────────────·
 *           [p + 1, p + 1 + d]          the right window of the record before, if t is in it
 *     [t - d, t]                        the left window of t, which ends with it
 *                                 [t + 1, t + 1 + d]   its right window, if there are records in it
 *
 * A window's timestamp is that of its latest record, which tells where its records end. Records before d
 * share the window from 0 on. Java's KStreamSlidingWindowAggregate.
 */
export function kstreamSlidingWindowAggregate(
  table: WindowedTable,
  windows: SlidingWindows,
  aggregation: Aggregation,
): NodeSupplier {
  return (context) =>
    new SlidingWindowAggregate({ context, table, aggregation, timestamps: 'of-values' }, windows)
}

/** What is known of the windows around a record. */
interface Neighbours {
  /** What the window has that ends before the record: its latest record is the one before. */
  left: ValueAndTimestamp<unknown> | undefined
  /** What a window has that holds the record and, maybe, later ones. */
  right: ValueAndTimestamp<unknown> | undefined
  hasLeft: boolean
  hasRight: boolean
  /** The time of the record before. */
  previous: number | undefined
}

class SlidingWindowAggregate extends WindowedAggregateNode<StampedWindowStore<unknown, unknown>> {
  readonly #difference: number
  readonly #grace: number
  // The record that is being processed.
  #key: unknown
  #value: unknown
  #timestamp = -1
  /** Windows that end before have closed. */
  #closeTime = -1
  /** Starts of the windows that were found for it. */
  readonly #starts: number[] = []

  constructor(parts: WindowedAggregateParts<Aggregation>, windows: SlidingWindows) {
    super(parts)
    this.#difference = windows.timeDifference
    this.#grace = windows.grace
  }

  process(key: unknown, value: unknown): void {
    const context = this.context
    if (key === null || key === undefined || value === null || value === undefined) {
      context.dropped(droppedNullKeyOrValue)
      return
    }
    const { timestamp } = context
    this.#key = key
    this.#value = value
    this.#timestamp = timestamp
    this.#closeTime = this.advanceTo(timestamp) - this.#grace
    this.#starts.length = 0
    if (timestamp + this.#difference < this.#closeTime) {
      context.dropped(droppedExpiredWindow)
      return
    }
    if (timestamp < this.#difference) {
      // As in Java, such a record is no occasion to emit what has closed.
      this.#processEarly()
      return
    }
    this.#processInWindows()
    this.emitWhenDue(this.#closeTime)
  }

  /** Updates the windows that hold the record, latest first, then makes those that are missing. */
  #processInWindows(): void {
    const timestamp = this.#timestamp
    const found: Neighbours = {
      left: undefined,
      right: undefined,
      hasLeft: false,
      hasRight: false,
      previous: undefined,
    }
    const earliest = Math.max(0, timestamp - 2 * this.#difference)
    {
      using windows = this.store.fetchRange(this.#key, earliest, timestamp + 1, { reverse: true })
      for (const [start, entry] of windows) {
        this.#starts.push(start)
        const { value, timestamp: latest } = entry
        const end = start + this.#difference
        if (start === timestamp + 1) {
          found.hasRight = true
        } else if (end > timestamp) {
          found.right ??= { value, timestamp: latest }
          this.#update(start, value, latest)
        } else if (end === timestamp) {
          found.hasLeft = true
          this.#update(start, value, latest)
          // Another record of this very moment has made all windows already.
          if (latest === timestamp) return
          found.previous = latest
        } else {
          found.left = { value, timestamp: latest }
          found.previous = latest
          break
        }
      }
    }
    this.#makeMissing(found)
  }

  #makeMissing({ left, right, hasLeft, hasRight, previous }: Neighbours): void {
    const timestamp = this.#timestamp
    const difference = this.#difference
    const isPreviousNear = previous !== undefined && previous + 1 + difference >= timestamp
    if (isPreviousNear && !this.#starts.includes(previous + 1)) this.#begin(previous + 1)
    if (!hasLeft) {
      const hasPrevious = previous !== undefined && timestamp - difference <= previous
      if (hasPrevious) this.#update(timestamp - difference, left?.value, timestamp)
      else this.#begin(timestamp - difference)
    }
    if (!hasRight) this.#makeRight(right)
  }

  /** Below the time difference windows would begin before 0: one from 0 on takes their place. */
  #processEarly(): void {
    const timestamp = this.#timestamp
    let first: ValueAndTimestamp<unknown> | undefined
    let right: ValueAndTimestamp<unknown> | undefined
    let hasRight = false
    let previous: number | undefined
    {
      using windows = this.store.fetchRange(this.#key, 0, timestamp + 1)
      for (const [start, entry] of windows) {
        this.#starts.push(start)
        const { value, timestamp: latest } = entry
        if (start === 0) {
          first = { value, timestamp: latest }
          if (latest < timestamp) previous = latest
        } else if (start <= timestamp) {
          right = { value, timestamp: latest }
          this.#update(start, value, latest)
        } else {
          hasRight = true
        }
      }
    }
    // All that the first window has is later, or some record before it would have made another window.
    if (right === undefined && first !== undefined && first.timestamp > timestamp) right = first
    if (!hasRight) this.#makeRight(right)
    if (previous !== undefined && !this.#starts.includes(previous + 1)) this.#begin(previous + 1)
    if (first === undefined) this.#begin(0)
    else this.#update(0, first.value, first.timestamp)
  }

  /** The right window of the record, if a later record is in it: with all that came later. */
  #makeRight(right: ValueAndTimestamp<unknown> | undefined): void {
    if (right === undefined || right.timestamp <= this.#timestamp) return
    const start = this.#timestamp + 1
    this.store.put(this.#key, right.value, right.timestamp, start)
    this.#tell(start, right.value, undefined, right.timestamp)
  }

  /** A window of which the record is the first. */
  #begin(start: number): void {
    const initial = settled(this.aggregation.initializer(), this.context.node)
    this.#update(start, initial, this.#timestamp)
  }

  #update(start: number, oldAggregate: unknown, latest: number): void {
    const context = this.context
    if (start + this.#difference < this.#closeTime) {
      context.dropped(droppedExpiredWindow)
      return
    }
    const { aggregator } = this.aggregation
    const newAggregate =
      settled(aggregator(oldAggregate, this.#value, this.#key), context.node) ?? undefined
    const known = oldAggregate ?? undefined
    const timestamp = known === undefined ? this.#timestamp : Math.max(this.#timestamp, latest)
    this.store.put(this.#key, newAggregate, timestamp, start)
    this.#tell(start, newAggregate, known, timestamp)
  }

  #tell(start: number, newValue: unknown, oldValue: unknown, timestamp: number): void {
    if (this.forwarder.isSilent) return
    const windowed = { key: this.#key, window: { start, end: start + this.#difference } }
    this.forwarder.update(windowed, newValue, oldValue, timestamp)
  }

  protected override emitClosed(closing: ClosingTime, closeTime: number): void {
    // The end belongs to a window: one that ends at the closing time is still open.
    const latest = closeTime - this.#difference - 1
    if (latest < 0) return
    const { last } = closing
    const earliest = last === undefined ? 0 : Math.max(0, last - this.#difference)
    using closed = this.store.closedWindows(earliest, latest)
    for (const [windowed, { value, timestamp }] of closed) {
      this.forwarder.final(windowed, value, timestamp)
    }
    closing.advance(closeTime)
  }
}
