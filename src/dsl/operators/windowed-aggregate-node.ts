import type { NodeContext, NodeProcessor } from '../../processor/processor.ts'
import type { Aggregation } from './aggregation.ts'
import { ClosingTime } from './closing-time.ts'
import { WindowedForwarder, type WindowedTable } from './windowed-table.ts'

/** What an aggregation into windows or sessions is made of. */
export interface WindowedAggregateParts<A extends Aggregation> {
  readonly context: NodeContext
  readonly table: WindowedTable
  readonly aggregation: A
  /** A change has the time of its value, or the end of its window. */
  readonly timestamps: 'of-values' | 'of-windows'
}

/** What the operators have in common that fold values into the windows of their time. */
export abstract class WindowedAggregateNode<
  Store,
  A extends Aggregation = Aggregation,
> implements NodeProcessor {
  protected readonly context: NodeContext
  protected readonly store: Store
  protected readonly forwarder: WindowedForwarder
  protected readonly aggregation: A
  /** Undefined: updates are emitted. */
  readonly #closing: ClosingTime | undefined
  /** The largest timestamp of a record that counts. */
  #streamTime = -1

  constructor({ context, table, aggregation, timestamps }: WindowedAggregateParts<A>) {
    const { storeName, emit } = table
    this.context = context
    this.store = context.store(storeName) as Store
    this.forwarder = new WindowedForwarder(context, table, timestamps)
    this.aggregation = aggregation
    if (emit === 'on-window-close') this.#closing = new ClosingTime(context, storeName)
  }

  abstract process(key: unknown, value: unknown): void

  /** Emits what has closed by then, and says so to `closing`. */
  protected abstract emitClosed(closing: ClosingTime, closeTime: number): void

  /** Stream time, which a record moves. */
  protected advanceTo(timestamp: number): number {
    if (timestamp > this.#streamTime) this.#streamTime = timestamp
    return this.#streamTime
  }

  /** Emits what has closed by that time, when it is time to look. */
  protected emitWhenDue(closeTime: number): void {
    const closing = this.#closing
    if (closing?.isDue(closeTime) === true) this.emitClosed(closing, closeTime)
  }
}
