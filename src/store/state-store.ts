import type { KvEngine } from '../kv/kv.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { RestoreBudget } from './restore-budget.ts'

/**
 * Where the record that causes a write came from: a mutable object that the task owns and reuses,
 * read by the stores at the moment of a write. Java's ProcessorRecordContext.
 */
export interface RecordContext {
  /** Milliseconds; -1 outside a record. */
  timestamp: number
  offset: number
  topic: string
  partition: number
  headers: RecordHeaders
  /** The bytes that the record had when it came; undefined: nobody needs them, or nobody knows. */
  source?: SourceBytes | undefined
}

/** Key and value of a record before they were read. */
export interface SourceBytes {
  readonly key: Buffer | null
  readonly value: Buffer | null
}

/** Headers of a record in their order; names may repeat. Never changed in place: replaced. */
export type RecordHeaders = readonly (readonly [name: string, value: Buffer | null])[]

/** The one empty list of headers. */
export const noHeaders: RecordHeaders = Object.freeze([])

/** Takes a change of a store for its changelog topic; the task's record collector behind it. */
export interface ChangelogWriter {
  /**
   * `value` null is a tombstone. The bytes may be kept: they are not changed afterwards. The timestamp
   * -1 stands for the time of the writing. Default: no headers.
   */
  write(
    store: string,
    key: Buffer,
    value: Buffer | null,
    timestamp: number,
    headers?: RecordHeaders,
  ): void
}

/** A record of a changelog: where it was, and what it has beside key and value. */
export type ChangelogRecord = Readonly<RecordContext>

/** What a task gives to its stores when it makes them. */
export interface StoreContext {
  readonly taskId: string
  readonly partition: number
  readonly record: RecordContext
  /** Engine of this task for stores of that persistence; asked for once per store. */
  engine(persistent: boolean): KvEngine
  readonly changelog: ChangelogWriter
  /** Bytes that the record caches of this task may hold together; 0: no caching. */
  readonly cacheBytesMax: number
  /** Shared by the tasks of a worker. Default: each engine has one of its own. */
  readonly restoreBudget?: RestoreBudget | undefined
  readonly metrics: StreamsMetrics
  /** Decides about an update that leaves the cache of a store, and that its serdes refuse; may throw. */
  readonly unwritable?: (
    store: string,
    row: { key: unknown; value: unknown },
    error: unknown,
  ) => void
}

/**
 * Called with each change that leaves the record cache. Old values are there only when they were
 * asked for. The timestamp is that of the new value, or of the record that deleted it.
 */
export type FlushListener<K, V> = (
  key: K,
  newValue: V | undefined,
  oldValue: V | undefined,
  timestamp: number,
) => void

/** A record of a changelog where it lies; a RecordBatchReader is one. */
export interface ChangelogRow {
  readonly buffer: Buffer
  readonly keyStart: number
  readonly keyEnd: number
  /** False: a tombstone. */
  readonly hasValue: boolean
  readonly valueStart: number
  readonly valueEnd: number
  readonly timestamp: number
}

/**
 * A store as the task sees it: to restore, flush, commit and close. What processors see are the
 * typed interfaces, such as KeyValueStore. Java's StateStore.
 *
 * The life of a write: `put` → record cache (object, dirty) → `flush` (serialised once: changelog
 * record, and pinned in the write-behind buffer) → `committed(offset)` (the buffer up to the flush may
 * go to the engine, in background slices, as one batch tagged with the changelog offset).
 */
export interface StateStore {
  readonly name: string
  readonly persistent: boolean
  readonly logged: boolean
  /** One record of the changelog, while restoring. Null: a tombstone. Both are borrowed. */
  restore(key: Buffer, value: Buffer | null, timestamp: number): void
  /** As `restore`, for a store that needs no Buffer for each of both. */
  restoreRow?(row: ChangelogRow): void
  /** In place of `restore`, for a store that needs the whole record. Key and value are borrowed. */
  restoreRecord?(key: Buffer, value: Buffer | null, record: ChangelogRecord): void
  /** Makes all restored rows durable up to and including that changelog offset. */
  restored(offset: number): void
  /** The next changelog offset to restore from, as the engine has it; 0 when nothing is stored. */
  restoreOffset(): number
  /**
   * Empties the record cache: forwards, writes the changelog, pins the bytes. Called before a commit.
   * False: there was nothing in it.
   */
  flush(): boolean
  /**
   * The commit stands: everything flushed so far may be written to the engine, tagged with `offset`,
   * the next offset of the changelog (last written + 1). Undefined for a store without changelog.
   */
  committed(offset: number | undefined): void
  /**
   * Writes a slice of what is committed to the engine; returns true while there is more. The last
   * slice makes all of it visible in one atomic step. A task calls it between its records.
   */
  writeBehind(): boolean
  /** Bytes in the cache and in the write-behind buffer. */
  memoryBytes(): number
  /** Bytes held back because they are not in the engine yet. */
  dirtyBytes(): number
  /** Those of them that are not committed. */
  uncommittedBytes(): number
  close(): void
}
