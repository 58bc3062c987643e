import type { KvTransaction } from '../kv/kv.ts'
import type { SortedRow, TextRange } from '../kv/sorted-rows.ts'
import type { EngineTable } from './engine-table.ts'
import type { RowSource } from './merged-rows.ts'
import type { StoredFormat } from './stored-value.ts'

/** What a row became. */
export interface Change {
  /** Null: the row is deleted. */
  readonly value: Buffer | null
  readonly timestamp: number
}

/** A change that is not in the engine yet, with its key. Never changed: replaced. */
export interface Pin extends Change, SortedRow {
  readonly key: Buffer
}

/** Where the rows of a stage are written to. */
export interface WriteTarget {
  readonly transaction: KvTransaction
  readonly rows: EngineTable
  readonly format: StoredFormat
}

/** How much one slice writes. */
export interface SliceLimits {
  readonly rows: number
  readonly bytes: number
}

/** Writes the rows of a stage, which must not change meanwhile. */
export interface StageWrite {
  /** Before the first slice: does a part of what need not be written for; true while there is more. */
  prepare(): boolean
  /** Writes some of them; true while there is more. */
  slice(target: WriteTarget, limits: SliceLimits): boolean
}

/** The last change of each key in some stretch of time; see pinned-table.ts. */
export interface RowStage {
  readonly size: number
  /** What they take in memory. */
  readonly bytes: number
  /** Borrowed until the next write. */
  get(key: Buffer, text: string): Change | undefined
  set(pin: Pin): void
  /** In no order that means anything; borrowed. */
  values(): Iterable<Pin>
  /** In order, as they are when it begins. */
  cursor(range: TextRange): RowSource<Pin>
  beginWrite(): StageWrite
}
