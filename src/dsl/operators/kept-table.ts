import type { NodeContext } from '../../processor/processor.ts'
import type { ValueAndTimestamp } from '../../store/key-value-store.ts'
import type { PutVersion } from '../../store/versioned-store.ts'
import { TableForwarder, type StoredTable } from './table-forwarder.ts'

/** The store of a table: a timestamped one, whose put tells nothing, or one that keeps versions. */
interface RowStore {
  get(key: unknown): ValueAndTimestamp<unknown> | undefined
  // oxlint-disable-next-line typescript/no-invalid-void-type -- what the one kind of store returns
  put(key: unknown, value: unknown, timestamp: number): PutVersion | void
}

/**
 * A table that is kept: an operator puts its rows, and what it puts goes on as a change. Java's
 * KeyValueStoreWrapper and TimestampedTupleForwarder together.
 */
export class KeptTable {
  readonly #store: RowStore
  readonly #forwarder: TableForwarder

  constructor(context: NodeContext, { storeName, sendOldValues }: StoredTable) {
    this.#store = context.store(storeName) as RowStore
    this.#forwarder = new TableForwarder(context, storeName, { sendOldValues })
  }

  /** The row of a key, of several versions the latest. Live: read it at once. */
  get(key: unknown): ValueAndTimestamp<unknown> | undefined {
    return this.#store.get(key)
  }

  /** Undefined stands for no value. What is too late for a versioned table does not go on either. */
  put(key: unknown, newValue: unknown, oldValue: unknown, timestamp: number): void {
    const validTo = this.#store.put(key, newValue, timestamp)
    if (validTo === 'not-put') return
    this.#forwarder.maybeForward(key, newValue, oldValue, timestamp, validTo === undefined)
  }
}
