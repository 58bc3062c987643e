import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { Window, Windowed } from '../../serde/windowed.ts'
import type { TypedSessionStore } from '../../store/typed-session-store.ts'
import type { SessionWindows } from '../windows.ts'
import type { Aggregation } from './aggregation.ts'
import type { ClosingTime } from './closing-time.ts'
import { droppedExpiredWindow, droppedNullKey } from './dropped-reason.ts'
import type { AggregateFunction } from './user-function.ts'
import { WindowedAggregateNode, type WindowedAggregateParts } from './windowed-aggregate-node.ts'
import type { WindowedTable } from './windowed-table.ts'

/** The functions of an aggregation over sessions. */
export interface SessionAggregation extends Aggregation {
  /** Makes one aggregate of those of two sessions; the first may be what the initializer gave. */
  readonly merger: AggregateFunction
}

/**
 * Folds the values of a key into sessions: a record joins the sessions that are near, or begins one. A
 * session that grows is another one: the old one is deleted. Java's KStreamSessionWindowAggregate.
 */
export function kstreamSessionWindowAggregate(
  table: WindowedTable,
  windows: SessionWindows,
  aggregation: SessionAggregation,
): NodeSupplier {
  return (context) =>
    new SessionWindowAggregate({ context, table, aggregation, timestamps: 'of-windows' }, windows)
}

class SessionWindowAggregate extends WindowedAggregateNode<
  TypedSessionStore<unknown, unknown>,
  SessionAggregation
> {
  readonly #windows: SessionWindows
  /** Sessions that a record joins; only while it is processed. */
  readonly #joined: [Windowed<unknown>, unknown][] = []

  constructor(parts: WindowedAggregateParts<SessionAggregation>, windows: SessionWindows) {
    super(parts)
    this.#windows = windows
  }

  process(key: unknown, value: unknown): void {
    const context = this.context
    if (key === null || key === undefined) {
      context.dropped(droppedNullKey)
      return
    }
    const { timestamp } = context
    const { grace, gap } = this.#windows
    const closeTime = this.advanceTo(timestamp) - grace - gap
    const joined = this.#joined
    joined.length = 0
    let aggregate = settled(this.aggregation.initializer(), context.node)
    let start = timestamp
    let end = timestamp
    {
      using sessions = this.store.findSessions(key, timestamp - gap, timestamp + gap)
      for (const session of sessions) {
        joined.push(session)
        const [{ window }, other] = session
        aggregate = settled(this.aggregation.merger(aggregate, other, key), context.node)
        if (window.start < start) start = window.start
        if (window.end > end) end = window.end
      }
    }
    if (end < closeTime) {
      context.dropped(droppedExpiredWindow)
    } else {
      // A session of this very moment is put again; any other becomes part of this one.
      if (start !== timestamp || end !== timestamp) this.#removeJoined()
      aggregate = settled(this.aggregation.aggregator(aggregate, value, key), context.node)
      this.#put(key, { start, end }, aggregate ?? undefined)
    }
    this.emitWhenDue(closeTime)
  }

  #removeJoined(): void {
    for (const [session, aggregate] of this.#joined) {
      this.store.remove(session)
      if (this.forwarder.isSilent) continue
      this.forwarder.updateWithoutHeaders(session, undefined, aggregate, session.window.end)
    }
  }

  #put(key: unknown, window: Window, aggregate: unknown): void {
    const session = { key, window }
    this.store.put(session, aggregate)
    if (this.forwarder.isSilent) return
    this.forwarder.updateWithoutHeaders(session, aggregate, undefined, window.end)
  }

  protected override emitClosed(closing: ClosingTime, closeTime: number): void {
    // The end belongs to a session: one that ends at the closing time is still open.
    const latestEnd = closeTime - 1
    const earliestEnd = Math.max(0, closing.last ?? 0)
    if (latestEnd < earliestEnd) return
    using closed = this.store.closedSessions(earliestEnd, latestEnd)
    for (const [session, aggregate] of closed) {
      this.forwarder.final(session, aggregate, session.window.end)
    }
    closing.advance(closeTime)
  }
}
