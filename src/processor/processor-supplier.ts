import type { FixedKeyRecord } from './fixed-key-record.ts'
import type { Stores } from './local-store.ts'
import type { FixedKeyProcessorContext, ProcessorContext } from './processor-context.ts'
import type { StreamRecord } from './stream-record.ts'

/**
 * Is given each record of a task, in its turn. It must be done when it returns: a promise is refused
 * with `PROCESSOR_ASYNC`.
 */
export type ProcessFunction<K, V> = (record: StreamRecord<K, V>) => void

/** A processor that is more than a function. Java's Processor. */
export interface Processor<K, V> {
  /** Called with each record, in its turn. */
  process(record: StreamRecord<K, V>): void
  /** Called once, when the task goes to another instance or the application stops. */
  close?(): void
}

/**
 * Makes the processor of one task: called once for each task that runs the step, with what it sees of
 * the task. There is no `init`: what is done before the first record is done here. Java's
 * ProcessorSupplier.
 *
 * @example
 * const countSteps: ProcessorSupplier<string, number, string, number> = ({ forward }) => {
 *   let sum = 0
 *   return (record) => {
 *     sum += record.value
 *     forward({ ...record, value: sum })
 *   }
 * }
 */
export type ProcessorSupplier<K, V, K2, V2, S extends Stores = Stores> = (
  context: ProcessorContext<K2, V2, S>,
) => ProcessFunction<K, V> | Processor<K, V>

/** As {@link ProcessFunction}, of records whose key stays. */
export type FixedKeyProcessFunction<K, V> = (record: FixedKeyRecord<K, V>) => void

/** As {@link Processor}, of records whose key stays. Java's FixedKeyProcessor. */
export interface FixedKeyProcessor<K, V> {
  /** Called with each record, in its turn. */
  process(record: FixedKeyRecord<K, V>): void
  /** Called once, when the task goes to another instance or the application stops. */
  close?(): void
}

/** As {@link ProcessorSupplier}, of records whose key stays. Java's FixedKeyProcessorSupplier. */
export type FixedKeyProcessorSupplier<K, V, V2, S extends Stores = Stores> = (
  context: FixedKeyProcessorContext<K, V2, S>,
) => FixedKeyProcessFunction<K, V> | FixedKeyProcessor<K, V>
