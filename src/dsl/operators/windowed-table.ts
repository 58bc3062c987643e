import { Change } from '../../processor/change.ts'
import type { NodeContext } from '../../processor/processor.ts'
import type { Windowed } from '../../serde/windowed.ts'
import { noHeaders } from '../../store/state-store.ts'
import type { EmitStrategy } from '../emit-strategy.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import type { StoredTable } from './table-forwarder.ts'

/** What an operator is told of the windowed table that it makes. */
export interface WindowedTable extends StoredTable {
  readonly emit: EmitStrategy
}

/**
 * Forwards what a windowed aggregation has to say: updates, at once or when they leave the cache of
 * its store, or final results. Java's TimestampedTupleForwarder, TimestampedCacheFlushListener and
 * SessionCacheFlushListener.
 */
export class WindowedForwarder {
  /** Updates need not be told: the cache tells them, or only final results are wanted. */
  readonly isSilent: boolean
  readonly #context: NodeContext
  readonly #changes: ChangeForwarder
  readonly #sendOldValues: boolean

  /** `timestamps`: a change has that of its value, or of the end of its window. */
  constructor(
    context: NodeContext,
    { storeName, sendOldValues, emit }: WindowedTable,
    timestamps: 'of-values' | 'of-windows',
  ) {
    this.#context = context
    this.#changes = new ChangeForwarder(context)
    this.#sendOldValues = sendOldValues
    this.isSilent = emit === 'on-window-close' || this.#listen(storeName, timestamps)
  }

  #listen(storeName: string, timestamps: 'of-values' | 'of-windows'): boolean {
    const ofWindows = timestamps === 'of-windows'
    return this.#context.onStoreFlush(
      storeName,
      (key, newValue, oldValue, timestamp) => {
        const time = ofWindows ? (key as Windowed<unknown>).window.end : timestamp
        this.#changes.forward(key, newValue, oldValue, time)
      },
      { sendOldValues: this.#sendOldValues },
    )
  }

  /** Undefined stands for no value. Not to be called when it is silent. */
  update(key: Windowed<unknown>, newValue: unknown, oldValue: unknown, timestamp: number): void {
    this.#changes.forward(key, newValue, this.#sendOldValues ? oldValue : undefined, timestamp)
  }

  /** As `update`, without the headers of the record that caused it. */
  updateWithoutHeaders(
    key: Windowed<unknown>,
    newValue: unknown,
    oldValue: unknown,
    timestamp: number,
  ): void {
    const change = new Change(newValue, this.#sendOldValues ? oldValue : undefined)
    this.#context.forwardRecord(key, change, timestamp, noHeaders)
  }

  final(key: Windowed<unknown>, value: unknown, timestamp: number): void {
    this.#changes.forward(key, value, undefined, timestamp)
  }
}
