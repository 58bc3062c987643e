import type { RecordHeaders } from '../store/state-store.ts'
import type { Stores } from './local-store.ts'
import type { ProcessingContext } from './processor-context.ts'

/**
 * What a transformer of `transformValues` sees of its task and of the row at hand. Timestamp, headers
 * and metadata change with each call: read them from the context when they are needed. It forwards
 * nothing: what it returns is the row.
 */
export interface ValueTransformerContext<S extends Stores = Stores> extends ProcessingContext<S> {
  /** Of the row, in milliseconds; -1 for one that is looked up and is not there. */
  readonly timestamp: number
  /** Of the record that changed the row; none when the row is looked up. */
  readonly headers: RecordHeaders
}

/**
 * Gives the value of a row from that of the table above; undefined: the row is gone there. Null or
 * undefined deletes the row.
 */
export type TransformFunction<K, V, V2> = (value: V | undefined, key: K) => V2

/** A transformer that is more than a function. Java's ValueTransformerWithKey. */
export interface ValueTransformer<K, V, V2> {
  /** Gives the value of a row, as a {@link TransformFunction} does. */
  transform(value: V | undefined, key: K): V2
  /** Called once, when the task goes to another instance or the application stops. */
  close?(): void
}

/**
 * Makes a transformer: one for each task that runs the step, and one for each step of a task that
 * looks rows up in a table which is not kept. Java's ValueTransformerWithKeySupplier.
 *
 * @example
 * const numbered: ValueTransformerSupplier<string, Order, NumberedOrder | undefined> =
 *   ({ stores }) =>
 *   (order, id) =>
 *     order && { ...order, number: numberOf(stores, id) }
 */
export type ValueTransformerSupplier<K, V, V2, S extends Stores = Stores> = (
  context: ValueTransformerContext<S>,
) => TransformFunction<K, V, V2> | ValueTransformer<K, V, V2>
