import type { Change } from '../../processor/change.ts'
import type { NodeContext, NodeSupplier } from '../../processor/processor.ts'
import type { OpenTransformer, TransformedRow } from '../../processor/user-value-transformer.ts'
import { noHeaders } from '../../store/state-store.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { KeptTable } from './kept-table.ts'
import type { Table } from './table-forwarder.ts'
import type { TableView, ValueGetter } from './table-view.ts'

/** Makes the user's transformer, which sees of a row what the second argument says. */
export type TransformerOpener = (context: NodeContext, row: TransformedRow) => OpenTransformer

/**
 * Replaces the value of each row by what the user's transformer makes of it, also when it is gone.
 * Java's KTableTransformValues.
 */
export function ktableTransformValues(table: Table, opener: TransformerOpener): NodeSupplier {
  const { storeName, sendOldValues } = table
  return (context) => {
    const transformer = opener(context, context)
    const close = (): void => transformer.close()
    if (storeName === undefined) {
      const changes = new ChangeForwarder(context)
      return {
        process(key: unknown, change: Change) {
          const { oldValue, isLatest } = change
          const newResult = transformer.transform(change.newValue, key)
          const oldResult = sendOldValues ? transformer.transform(oldValue, key) : undefined
          changes.forward(key, newResult, oldResult, context.timestamp, isLatest)
        },
        close,
      }
    }
    const kept = new KeptTable(context, { storeName, sendOldValues })
    return {
      process(key: unknown, { newValue }: Change) {
        const newResult = transformer.transform(newValue, key)
        const oldResult = sendOldValues ? kept.get(key)?.value : undefined
        kept.put(key, newResult, oldResult, context.timestamp)
      },
      close,
    }
  }
}

/** The rows of a transformed table that is not kept: each is worked out when it is asked for. */
export function transformedView(above: TableView, opener: TransformerOpener): TableView {
  return {
    storeNames: above.storeNames,
    open: (context) => new TransformedRows(context, above.open(context), opener),
  }
}

class TransformedRows implements ValueGetter, TransformedRow {
  timestamp = -1
  readonly headers = noHeaders
  readonly recordMetadata = undefined
  readonly #above: ValueGetter
  readonly #transformer: OpenTransformer

  constructor(context: NodeContext, above: ValueGetter, opener: TransformerOpener) {
    this.#above = above
    this.#transformer = opener(context, this)
  }

  get isVersioned(): boolean {
    return this.#above.isVersioned
  }

  get(key: unknown): unknown {
    return this.#transformed(this.#above.get(key), key)
  }

  getAsOf(key: unknown, time: number): unknown {
    return this.#transformed(this.#above.getAsOf(key, time), key)
  }

  #transformed(value: unknown, key: unknown): unknown {
    this.timestamp = value === undefined ? -1 : this.#above.timestamp
    return this.#transformer.transform(value, key)
  }

  close(): void {
    this.#above.close?.()
    this.#transformer.close()
  }
}
