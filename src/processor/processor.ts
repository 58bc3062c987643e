import type { AsyncQueue, AsyncStepOptions } from './async-step.ts'
import type { RecordContext, RecordHeaders } from '../store/state-store.ts'
import type { RecordMetadata, TaskId } from './record-metadata.ts'

/**
 * One node's code in one task. Java's Processor, without an object for each record: key and value
 * are arguments, timestamp and headers are on the context. Synchronous.
 */
export interface NodeProcessor<K = unknown, V = unknown> {
  process(key: K, value: V): void
  /** Called once, when the task closes. */
  close?(): void
}

/** Called once for each task that runs the node. */
export type NodeSupplier = (context: NodeContext) => NodeProcessor

/** What a node sees of its task. Valid during `process`, a punctuation or a cache flush. */
export interface NodeContext {
  readonly applicationId: string
  /** Name of the node itself. */
  readonly node: string
  readonly taskId: TaskId
  /** Of the record being processed; milliseconds. */
  readonly timestamp: number
  /** Of the record being processed. */
  readonly headers: RecordHeaders
  /** Where the record being processed came from; undefined in a punctuation. */
  readonly recordMetadata: RecordMetadata | undefined
  /** The largest timestamp that this task has taken, -1 before the first. */
  readonly streamTime: number
  /** Milliseconds since the epoch, from the task's clock. */
  wallClockTime(): number
  /** To every child, with the timestamp and headers of the current record. */
  forward(key: unknown, value: unknown): void
  /** To every child, with another timestamp. */
  forwardAt(key: unknown, value: unknown, timestamp: number): void
  /** To every child, or to one by name, with a timestamp and headers of one's own. */
  forwardRecord(
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders,
    child?: string,
  ): void
  /** To every child, as the record that came from there: for what was held back. */
  forwardFrom(key: unknown, value: unknown, origin: Readonly<RecordContext>): void
  /**
   * A store that this node is connected to: the typed interface of its kind (for the DSL's tables
   * a TimestampedKeyValueStore). Throws `STORE_NOT_CONNECTED`.
   */
  store(name: string): unknown
  /**
   * Asks for each change that leaves the store's cache; at most one listener a store. True: the
   * store is cached, the node forwards only what the listener hears. False: it is not, the listener
   * is never called and the node forwards each change at once. Java's setFlushListener.
   *
   * While the listener runs, timestamp and headers are those of the entry's last update, and
   * forwards go to this node's children. It may run inside a `process` of this very node.
   */
  onStoreFlush(
    name: string,
    listener: (key: unknown, newValue: unknown, oldValue: unknown, timestamp: number) => void,
    options: { sendOldValues: boolean },
  ): boolean
  /**
   * Calls back at intervals of stream time or wall-clock time; with a `start` (milliseconds since the
   * epoch) only at that time and whole intervals after it.
   */
  schedule(
    intervalMs: number,
    type: PunctuationType,
    punctuator: (timestamp: number) => void,
    options?: { readonly start?: number },
  ): Disposable
  /** A queue for records of this node whose code answers later. Asked for when the node is made. */
  asyncStep(options: AsyncStepOptions): AsyncQueue
  /** Asks for a commit at the end of this turn. */
  commit(): void
  /**
   * Milliseconds of wall-clock time between two looks for results that have become final: they cost
   * scans of stores. 0: look at each record.
   */
  readonly emitIntervalMs: number
  /**
   * A number that is kept with the committed offsets, so that another instance goes on from it;
   * undefined: none was set. Java's processorMetadataForKey.
   */
  metadata(key: string): number | undefined
  setMetadata(key: string, value: number): void
  /** Counts a record that was dropped, with the reason (Java: dropped-records). */
  dropped(reason: string): void
}

/** The clock of a punctuation: that of the records, or that of the machine. */
export type PunctuationType = 'stream-time' | 'wall-clock-time'
