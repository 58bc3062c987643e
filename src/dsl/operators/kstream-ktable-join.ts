import { settled } from '../../processor/assert-done.ts'
import type { NodeContext, NodeProcessor, NodeSupplier } from '../../processor/processor.ts'
import type { GiveRecord, RecordBuffer } from '../../store/record-buffer.ts'
import type { RecordContext } from '../../store/state-store.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import type { TableView, ValueGetter } from './table-view.ts'
import type { JoinFunction } from './user-function.ts'

/** A join of a stream with a table. */
export interface TableJoin {
  readonly table: TableView
  readonly joiner: JoinFunction
  readonly kind: 'inner' | 'left'
  /** Where records wait for late changes of the table, and for how many milliseconds of stream time. */
  readonly buffer?: { readonly storeName: string; readonly grace: number } | undefined
}

/**
 * Joins each record of a stream with the row that a table has for its key: the latest, or of a table
 * that keeps versions the one of the record's time. Changes of the table give nothing. Java's
 * KStreamKTableJoin.
 */
export function kstreamKTableJoin(join: TableJoin): NodeSupplier {
  return (context) =>
    join.buffer === undefined
      ? new TableJoinProcessor(context, join)
      : new BufferedTableJoinProcessor(context, join, join.buffer)
}

class TableJoinProcessor implements NodeProcessor {
  protected readonly context: NodeContext
  readonly #rows: ValueGetter
  readonly #joiner: JoinFunction
  readonly #isLeft: boolean

  constructor(context: NodeContext, { table, joiner, kind }: TableJoin) {
    this.context = context
    this.#rows = table.open(context)
    this.#joiner = joiner
    this.#isLeft = kind === 'left'
  }

  process(key: unknown, value: unknown): void {
    const hasKey = key !== null && key !== undefined
    if (value === null || value === undefined || !(hasKey || this.#isLeft)) {
      this.context.dropped(droppedNullKeyOrValue)
      return
    }
    if (hasKey) this.processWhole(key, value)
    else this.context.forward(key, this.#joined(value, undefined, key))
  }

  /** Takes a record with a key and a value. */
  protected processWhole(key: unknown, value: unknown): void {
    const row = this.#rowOf(key, this.context.timestamp)
    if (row === undefined && !this.#isLeft) return
    this.context.forward(key, this.#joined(value, row, key))
  }

  protected joinFrom(key: unknown, value: unknown, origin: Readonly<RecordContext>): void {
    const row = this.#rowOf(key, origin.timestamp)
    if (row === undefined && !this.#isLeft) return
    this.context.forwardFrom(key, this.#joined(value, row, key), origin)
  }

  #joined(value: unknown, row: unknown, key: unknown): unknown {
    return settled(this.#joiner(value, row, key), this.context.node)
  }

  #rowOf(key: unknown, timestamp: number): unknown {
    return this.#rows.isVersioned ? this.#rows.getAsOf(key, timestamp) : this.#rows.get(key)
  }
}

/** Lets records wait until stream time has passed them by the grace (KIP-923). */
class BufferedTableJoinProcessor extends TableJoinProcessor {
  readonly #buffer: RecordBuffer
  readonly #grace: number
  readonly #join: GiveRecord = (key, value, origin) => this.joinFrom(key, value, origin)

  constructor(
    context: NodeContext,
    join: TableJoin,
    { storeName, grace }: { storeName: string; grace: number },
  ) {
    super(context, join)
    this.#buffer = context.store(storeName) as RecordBuffer
    this.#grace = grace
  }

  protected override processWhole(key: unknown, value: unknown): void {
    const buffer = this.#buffer
    // The grace is over for it.
    if (this.context.timestamp < buffer.observedTime - this.#grace) {
      super.processWhole(key, value)
      return
    }
    buffer.put(key, value)
    buffer.takeUntil(buffer.observedTime - this.#grace, this.#join)
  }
}
