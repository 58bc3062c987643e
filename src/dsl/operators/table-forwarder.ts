import type { NodeContext } from '../../processor/processor.ts'
import { ChangeForwarder } from './change-forwarder.ts'

/** What an operator is told of the table that it makes. */
export interface Table {
  /** The store to write; undefined: the table is not kept. */
  readonly storeName: string | undefined
  /** Say in each change which value it replaces. */
  readonly sendOldValues: boolean
}

/** A table whose operator always has a store: an aggregation. */
export interface StoredTable extends Table {
  readonly storeName: string
}

/**
 * Forwards the changes of a table's store: at once when the store is not cached, else when they
 * leave the cache, the last one of each key. Java's TimestampedTupleForwarder and
 * TimestampedCacheFlushListener.
 */
export class TableForwarder {
  readonly #changes: ChangeForwarder
  readonly #sendOldValues: boolean
  readonly #cached: boolean

  constructor(context: NodeContext, store: string, options: { sendOldValues: boolean }) {
    this.#changes = new ChangeForwarder(context)
    this.#sendOldValues = options.sendOldValues
    this.#cached = context.onStoreFlush(
      store,
      (key, newValue, oldValue, timestamp) =>
        this.#changes.forward(key, newValue, oldValue, timestamp),
      options,
    )
  }

  /** Undefined stands for no value. The timestamp is that of the change. */
  maybeForward(
    key: unknown,
    newValue: unknown,
    oldValue: unknown,
    timestamp: number,
    isLatest = true,
  ): void {
    if (this.#cached) return
    const replaced = this.#sendOldValues ? oldValue : undefined
    this.#changes.forward(key, newValue, replaced, timestamp, isLatest)
  }
}
