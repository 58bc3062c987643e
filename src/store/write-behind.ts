/**
 * The write-behind buffer of a persistent engine. A commit needs the changelog, not the engine: what
 * was put stays pinned in memory (see pinned-table.ts) and is written later, in slices that hold the
 * event loop for a moment each, as one transaction with the changelog offsets that it stands for. Where
 * a transaction must not stay open from one turn to the next (LMDB in threads, which could not be ended
 * then), rows are put in order in slices, and written in one turn: that is of one worker alone, and
 * `uncommittedBytesMax` of its commits bounds it, with what its record caches hold beside.
 *
 * All stores of an engine are written in the same transaction: at whatever moment the process dies,
 * the engine holds one committed point. Only while restoring may rows be ahead of their offset;
 * restoring again repairs that.
 *
 * Commits while a batch is being written wait, and are united into the next one. The last slice,
 * which makes all visible, has the operating system take the changed pages: it takes longer when
 * they are many (measured: 2 ms for 50 000 rows of 100 000, 50 ms and more for 50 000 rows that are
 * spread over a million).
 */
import { assert } from '../base/assert.ts'
import type { KvEngine, KvTransaction } from '../kv/kv.ts'
import { SingleTable, type EngineTable } from './engine-table.ts'
import { OffsetTable } from './offset-table.ts'
import { PinnedTable, type PinnedTableHost } from './pinned-table.ts'
import { RestoreBudget } from './restore-budget.ts'
import type { StageWrite } from './row-stage.ts'
import type { StoredFormat } from './stored-value.ts'

/** What one slice writes: a millisecond or two, whatever the size of rows. */
const sliceLimits = { rows: 256, bytes: 256 * 1024 }

/** One table of a batch, and how far it is. */
interface TableWrite {
  readonly table: PinnedTable
  readonly write: StageWrite
}

/** The batch that is being written. */
interface Batch {
  /** Tables that are prepared are in front. */
  preparedTables: number
  /** The last one is the one in work. */
  readonly writes: TableWrite[]
  /** Undefined: all is still being prepared. */
  transaction: KvTransaction | undefined
}

const buffers = new WeakMap<KvEngine, WriteBehind>()

/** The write-behind buffer of all stores of one engine. */
export class WriteBehind implements PinnedTableHost {
  readonly engine: KvEngine
  readonly offsets: OffsetTable
  readonly budget: RestoreBudget
  readonly #tables = new Set<PinnedTable>()
  #batch: Batch | undefined

  constructor(engine: KvEngine, budget = new RestoreBudget()) {
    this.engine = engine
    this.budget = budget
    this.offsets = new OffsetTable(engine)
  }

  /** The one buffer of an engine. `budget`: shared with others; by default it has one of its own. */
  static of(engine: KvEngine, budget?: RestoreBudget): WriteBehind {
    let buffer = buffers.get(engine)
    if (buffer === undefined) {
      buffer = new WriteBehind(engine, budget)
      buffers.set(engine, buffer)
    }
    return buffer
  }

  /** `rows`: where they lie; by default in the table of that name. */
  table(
    name: string,
    format: StoredFormat,
    rows: EngineTable = new SingleTable(this.engine, name),
  ): PinnedTable {
    const table = new PinnedTable(name, { rows, format, host: this })
    this.#tables.add(table)
    return table
  }

  remove(table: PinnedTable): void {
    this.#tables.delete(table)
  }

  /**
   * Writes a slice, or the whole batch where a transaction must end in the turn in which it begins; true
   * while there is more.
   *
   * @throws `DISK_FAILED`; nothing is lost, a later slice begins the batch anew.
   */
  writeSlice(): boolean {
    const batch = (this.#batch ??= this.#begin())
    if (batch === undefined) return false
    if (prepare(batch)) return true
    batch.transaction ??= this.engine.begin()
    const { transaction } = batch
    if (!transaction.isOpen) {
      // A batch that was discarded by another write, or by a failure, is written from its beginning.
      this.#batch = undefined
      return true
    }
    try {
      do this.#write(batch, transaction)
      while (this.engine.transactionSpan === 'one-turn' && this.#batch !== undefined)
    } catch (error) {
      // Rows were taken that are not written: going on would leave them out.
      transaction.discard()
      throw error
    }
    return this.#batch !== undefined || this.#isReady()
  }

  #write({ writes }: Batch, transaction: KvTransaction): void {
    const last = writes.at(-1)
    if (last === undefined) {
      this.#commit(transaction)
      return
    }
    const { rows, format } = last.table
    if (!last.write.slice({ transaction, rows, format }, sliceLimits)) writes.pop()
  }

  #isReady(): boolean {
    for (const table of this.#tables) {
      if (table.isReady || table.writing !== undefined) return true
    }
    return false
  }

  #begin(): Batch | undefined {
    for (const table of this.#tables) {
      if (table.writing === undefined && table.isReady) table.beginWrite()
    }
    const writes: TableWrite[] = []
    for (const table of this.#tables) {
      const { writing } = table
      if (writing === undefined) continue
      writes.push({ table, write: writing.beginWrite() })
    }
    return writes.length === 0 ? undefined : { preparedTables: 0, writes, transaction: undefined }
  }

  #commit(transaction: KvTransaction): void {
    this.#batch = undefined
    const written = [...this.#tables].filter((table) => table.writing !== undefined)
    for (const { name, writingOffset } of written) {
      if (writingOffset !== undefined) this.offsets.put(transaction, name, writingOffset)
    }
    const isVisible = transaction.commit()
    assert(isVisible, 'a transaction that is open can be committed')
    for (const table of written) table.endWrite()
  }
}

/** A part of what comes before the transaction; true while there is more. */
function prepare(batch: Batch): boolean {
  const next = batch.writes[batch.preparedTables]
  if (batch.transaction !== undefined || next === undefined) return false
  if (!next.write.prepare()) batch.preparedTables += 1
  return true
}
