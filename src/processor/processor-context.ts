import type { RecordHeaders } from '../store/state-store.ts'
import type { FixedKeyRecord } from './fixed-key-record.ts'
import type { LocalStore, StoreAccess, Stores } from './local-store.ts'
import type { PunctuationType } from './processor.ts'
import type { RecordMetadata, TaskId } from './record-metadata.ts'

/** When a punctuation comes for the first time. */
export interface ScheduleOptions {
  /**
   * Milliseconds since the epoch (KIP-1146). Calls then come at `start`, `start + interval`, and so
   * on, whenever the task begins to run; what lies before that is passed over. Default: by stream
   * time 0, so with the first record; by wall-clock time one interval from now.
   */
  readonly start?: number
}

/** The child that a record goes to. */
export interface ForwardOptions {
  /** Name of a step below. Default: all of them. */
  readonly child?: string
}

/** What every processor sees of its task. Java's ProcessingContext. */
export interface ProcessingContext<S extends Stores = Stores> {
  readonly applicationId: string
  /** `<sub-topology>_<partition>`. */
  readonly taskId: TaskId
  /** The stores that the options of the step name, by the names that they have there. */
  readonly stores: { readonly [name in keyof S]: LocalStore<S[name]> }
  /**
   * A store that the step is connected to, by its descriptor: also one that
   * `connectProcessorAndStateStores` has connected. A global store needs no connection, and is read
   * only.
   *
   * @throws StreamsError `STORE_NOT_CONNECTED`.
   */
  store<D extends StoreAccess>(this: void, descriptor: D): LocalStore<D>
  /** Where the record that is processed came from; undefined in a punctuation. */
  readonly recordMetadata: RecordMetadata | undefined
  /** The largest timestamp that this task has taken, -1 before the first. */
  readonly streamTime: number
  /** Milliseconds since the epoch, from the clock of the engine: a test moves it. */
  wallClockTime(this: void): number
  /**
   * Calls back at intervals (milliseconds, at least 1). `stream-time` moves with the records: without
   * data nothing is called. `wall-clock-time` goes by itself. However many intervals have passed, one
   * call is made. The result ends it.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for an interval below 1, or a start before 1970.
   */
  schedule(
    this: void,
    interval: number,
    type: PunctuationType,
    punctuator: (timestamp: number) => void,
    options?: ScheduleOptions,
  ): Disposable
  /** Asks for a commit as soon as the record at hand is done. */
  commit(this: void): void
}

/** A record to be forwarded. */
export interface ForwardedRecord<K, V> {
  readonly key: K
  readonly value: V
  /** Milliseconds since the epoch, not negative. */
  readonly timestamp: number
  /** Default: none. A record that was derived with `{ ...record, value }` has those of the record. */
  readonly headers?: RecordHeaders
}

/**
 * What a processor of `process` sees of its task. `recordMetadata` and `streamTime` change with each
 * record: read them from the context when they are needed. Java's ProcessorContext.
 */
export interface ProcessorContext<K, V, S extends Stores = Stores> extends ProcessingContext<S> {
  /** Gives a record to the steps below, which are done with it when this returns. */
  forward(this: void, record: ForwardedRecord<K, V>, options?: ForwardOptions): void
}

/** What a processor of `processValues` sees of its task. Java's FixedKeyProcessorContext. */
export interface FixedKeyProcessorContext<
  K,
  V,
  S extends Stores = Stores,
> extends ProcessingContext<S> {
  /** Gives a record to the steps below: the one at hand, or what was derived from it. */
  forward(this: void, record: FixedKeyRecord<K, V>, options?: ForwardOptions): void
}
