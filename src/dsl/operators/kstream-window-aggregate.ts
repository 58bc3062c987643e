import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { StampedWindowStore } from '../../store/typed-window-stores.ts'
import { windowSizeOf, closingTimeOf, type TimeBasedWindows } from '../windows.ts'
import type { Aggregation } from './aggregation.ts'
import type { ClosingTime } from './closing-time.ts'
import { droppedExpiredWindow, droppedNullKey } from './dropped-reason.ts'
import { windowAssignment, type VisitWindow } from './window-assignment.ts'
import { WindowedAggregateNode, type WindowedAggregateParts } from './windowed-aggregate-node.ts'
import type { WindowedTable } from './windowed-table.ts'

/**
 * Folds the values of a key into the windows of their time. An aggregate's timestamp is the latest
 * of its records; what comes for a window that has closed is dropped. Java's KStreamWindowAggregate.
 */
export function kstreamWindowAggregate(
  table: WindowedTable,
  windows: TimeBasedWindows,
  aggregation: Aggregation,
): NodeSupplier {
  return (context) =>
    new WindowAggregate({ context, table, aggregation, timestamps: 'of-values' }, windows)
}

class WindowAggregate extends WindowedAggregateNode<StampedWindowStore<unknown, unknown>> {
  readonly #assignment: ReturnType<typeof windowAssignment>
  readonly #size: number
  readonly #grace: number
  // The record that is being processed.
  #key: unknown
  #value: unknown
  /** Windows that end then, or before, have closed. */
  #closeTime = -1

  constructor(parts: WindowedAggregateParts<Aggregation>, windows: TimeBasedWindows) {
    super(parts)
    this.#assignment = windowAssignment(windows)
    this.#size = windowSizeOf(windows)
    this.#grace = closingTimeOf(windows)
  }

  process(key: unknown, value: unknown): void {
    const context = this.context
    if (key === null || key === undefined) {
      context.dropped(droppedNullKey)
      return
    }
    const { timestamp } = context
    this.#key = key
    this.#value = value
    this.#closeTime = this.advanceTo(timestamp) - this.#grace
    this.#assignment.visit(timestamp, this.#update)
    this.emitWhenDue(this.#closeTime)
  }

  readonly #update: VisitWindow = (start, end) => {
    const context = this.context
    if (end <= this.#closeTime) {
      context.dropped(droppedExpiredWindow)
      return
    }
    const key = this.#key
    const entry = this.store.fetch(key, start)
    let { timestamp } = context
    let oldAggregate: unknown
    if (entry === undefined) {
      oldAggregate = settled(this.aggregation.initializer(), context.node)
    } else {
      oldAggregate = entry.value
      if (entry.timestamp > timestamp) timestamp = entry.timestamp
    }
    const given = this.aggregation.aggregator(oldAggregate, this.#value, key)
    const newAggregate = settled(given, context.node) ?? undefined
    this.store.put(key, newAggregate, timestamp, start)
    if (this.forwarder.isSilent) return
    const windowed = { key, window: { start, end } }
    this.forwarder.update(windowed, newAggregate, oldAggregate ?? undefined, timestamp)
  }

  protected override emitClosed(closing: ClosingTime, closeTime: number): void {
    const latest = closeTime - this.#size
    // Before that, no window can have closed.
    if (latest < 0) return
    const { last } = closing
    const earliest = last === undefined ? 0 : Math.max(0, last - this.#size) + 1
    if (last !== undefined && this.#assignment.isSame(latest, earliest - 1)) return
    using closed = this.store.closedWindows(earliest, latest)
    for (const [windowed, { value, timestamp }] of closed) {
      this.forwarder.final(windowed, value, timestamp)
    }
    closing.advance(closeTime)
  }
}
