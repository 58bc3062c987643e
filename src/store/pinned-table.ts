/**
 * The layer of bytes over a persistent engine: what was put stays pinned in memory, is read from
 * there, and goes to the engine later (see write-behind.ts):
 *
 *     put ──► open ──committed──► waiting ──first slice──► writing ──last slice──► engine
 *
 * Reads ask the stages from left to right. Restored rows come from the changelog, so they are
 * committed: they begin in `waiting`, packed (see packed-rows.ts), since there are many of them.
 */
import { assert } from '../base/assert.ts'
import type { KvEngine, KvRange } from '../kv/kv.ts'
import { SortedRows, keyText, type SortedRow, type TextRange } from '../kv/sorted-rows.ts'
import { assertKeyLength } from './assert-key-length.ts'
import type { ByteTable, IndexQuery, StoredRows } from './byte-table.ts'
import type { EngineTable } from './engine-table.ts'
import type { Rows } from './entry-table.ts'
import { MergedRows, type RowSource } from './merged-rows.ts'
import type { OffsetTable } from './offset-table.ts'
import { PackedRows } from './packed-rows.ts'
import { Pins } from './pins.ts'
import type { RestoreBudget } from './restore-budget.ts'
import type { Pin, RowStage } from './row-stage.ts'
import type { ChangelogRow } from './state-store.ts'
import type { StoredFormat, StoredRow, StoredValue } from './stored-value.ts'

/** Who restores heeds the budget; who does not waits for the engine at this multiple of it. */
const overrunMax = 2

/** What a table asks of the buffer that it belongs to. */
export interface PinnedTableHost {
  readonly engine: KvEngine
  readonly offsets: OffsetTable
  readonly budget: RestoreBudget
  /** Writes a slice; true while there is more. */
  writeSlice(): boolean
  /** Forgets the table. */
  remove(table: PinnedTable): void
}

/** A key of an index. */
interface IndexRow extends SortedRow {
  readonly key: Buffer
}

/** Rows of pins over rows of the engine; deleted ones left out. */
class PinnedRows implements StoredRows {
  readonly #rows: RowSource<Pin>
  readonly #engineRows: StoredRows

  constructor(pins: readonly RowSource<Pin>[], engineRows: StoredRows, reverse: boolean) {
    this.#engineRows = engineRows
    // Rows of the engine have values: it is only pins that say that a row is deleted.
    const inEngine = engineRows as RowSource<Pin>
    this.#rows = pins.length === 0 ? inEngine : new MergedRows([...pins, inEngine], { reverse })
  }

  next(): StoredRow | undefined {
    let row = this.#rows.next()
    while (row !== undefined && row.value === null) row = this.#rows.next()
    return row as StoredRow | undefined
  }

  [Symbol.dispose](): void {
    this.#engineRows[Symbol.dispose]()
  }
}

/** A table with its part of a write-behind buffer. */
export class PinnedTable implements ByteTable {
  readonly name: string
  readonly rows: EngineTable
  readonly format: StoredFormat
  readonly #host: PinnedTableHost
  readonly #keyBytesMax: number
  #open = new Pins()
  #waiting: RowStage = new Pins()
  #writing: RowStage | undefined
  /** What `waiting` stands for; undefined: nothing new. */
  #waitingOffset: number | undefined
  #writingOffset: number | undefined
  #engineOffset: number | undefined
  #isRestoring = false
  /** Was written while restoring: its memory is used again. */
  #spare: PackedRows | undefined

  constructor(
    name: string,
    options: { rows: EngineTable; format: StoredFormat; host: PinnedTableHost },
  ) {
    const { rows, format, host } = options
    this.name = name
    this.rows = rows
    this.format = format
    this.#host = host
    this.#keyBytesMax = host.engine.keyBytesMax
    this.#engineOffset = host.offsets.get(name)
  }

  get keyBytesMax(): number {
    return this.#keyBytesMax
  }

  get(key: Buffer, text: string): StoredValue | undefined {
    const change =
      this.#open.get(key, text) ?? this.#waiting.get(key, text) ?? this.#writing?.get(key, text)
    if (change !== undefined) return change.value === null ? undefined : (change as StoredValue)
    const bytes = this.rows.get(key, text)
    return bytes && this.format.decode(bytes)
  }

  put(key: Buffer, text: string, value: Buffer | null, timestamp: number): void {
    if (this.#isRestoring) this.#endRestoring()
    this.#assertStorable(key, value)
    this.#open.set({ text, key, value, timestamp })
  }

  /** Before anything is written: in the changelog, the row would keep the store from ever being restored. */
  #assertStorable(key: Buffer, value: Buffer | null): void {
    if (value !== null) assertKeyLength(this.name, key, this.#keyBytesMax)
  }

  scan(range: KvRange): StoredRows {
    const { from, to, toExclusive, reverse } = range
    const bounds: TextRange = {
      from: from && keyText(from),
      to: to && keyText(to),
      toExclusive,
      reverse,
    }
    const pins: RowSource<Pin>[] = []
    for (const stage of [this.#open, this.#waiting, this.#writing]) {
      if (stage !== undefined && stage.size > 0) pins.push(stage.cursor(bounds))
    }
    const engineRows = this.rows.scan(range, this.format)
    return new PinnedRows(pins, engineRows, reverse === true)
  }

  /** The pins are looked at one by one: they are few beside what is in the engine. */
  scanIndex({ range, has, indexKeyOf }: IndexQuery): Rows<Buffer> {
    assert(this.rows.scanIndex !== undefined, 'who asks for the index has made it')
    const sources: RowSource<IndexRow>[] = []
    for (const stage of [this.#open, this.#waiting, this.#writing]) {
      const found = new SortedRows<IndexRow>()
      for (const { key, value } of stage?.values() ?? []) {
        if (value === null || !has(key)) continue
        const indexKey = indexKeyOf(key)
        found.add({ key: indexKey, text: keyText(indexKey) })
      }
      if (found.size > 0) sources.push(found.view().cursor())
    }
    const stored = this.rows.scanIndex(range)
    const rows = new MergedRows<IndexRow>([...sources, stored], { reverse: false })
    return {
      next: () => rows.next()?.key,
      [Symbol.dispose]: () => stored[Symbol.dispose](),
    }
  }

  /** What the engine counts, or what waits for it when that is more: new rows are not told from old. */
  approximateEntryCount(): number {
    const waiting = this.#open.size + this.#waiting.size + (this.#writing?.size ?? 0)
    return Math.max(this.rows.approximateEntryCount(), waiting)
  }

  restore(key: Buffer, value: Buffer | null, timestamp: number): void {
    this.#assertStorable(key, value)
    this.#restored().add(key, value, timestamp)
  }

  restoreRow(row: ChangelogRow): void {
    const { buffer, keyStart, keyEnd, hasValue } = row
    if (hasValue && keyEnd - keyStart > this.#keyBytesMax) {
      assertKeyLength(this.name, buffer.subarray(keyStart, keyEnd), this.#keyBytesMax)
    }
    this.#restored().addRow(row)
  }

  /** Where restored rows wait. */
  #restored(): PackedRows {
    if (!this.#isRestoring) this.#beginRestoring()
    if (this.#waiting instanceof PackedRows) return this.#waiting
    const rows = new PackedRows(this.format)
    for (const pin of this.#waiting.values()) rows.set(pin)
    this.#waiting = rows
    return rows
  }

  #beginRestoring(): void {
    this.#isRestoring = true
    this.#host.budget.begin()
  }

  #endRestoring(): void {
    this.#isRestoring = false
    this.#spare = undefined
    this.#host.budget.end()
  }

  restored(offset: number): void {
    this.#waitingOffset = offset + 1
    this.rows.committed()
    const bytesMax = overrunMax * this.#host.budget.heldBytesMax
    while (this.pinnedBytes() > bytesMax && this.#host.writeSlice());
  }

  restoreOffset(): number {
    return this.#engineOffset ?? 0
  }

  committed(offset: number | undefined): void {
    if (this.#isRestoring) this.#endRestoring()
    if (offset !== undefined) this.#waitingOffset = offset
    this.rows.committed()
    if (this.#open.size === 0) return
    if (this.#waiting.size === 0) this.#waiting = this.#open
    else for (const pin of this.#open.values()) this.#waiting.set(pin)
    this.#open = new Pins()
  }

  writeBehind(): boolean {
    return this.#host.writeSlice()
  }

  pinnedBytes(): number {
    return this.#open.bytes + this.#waiting.bytes + (this.#writing?.bytes ?? 0)
  }

  uncommittedBytes(): number {
    return this.#open.bytes
  }

  close(): void {
    this.#open = new Pins()
    if (this.#isRestoring) this.#endRestoring()
    try {
      while ((this.isReady || this.#writing !== undefined) && this.#host.writeSlice());
    } finally {
      this.#host.remove(this)
    }
  }

  /** There is something to write, and it is enough to be worth it. */
  get isReady(): boolean {
    if (this.#isRestoring) return this.#waiting.bytes >= this.#host.budget.runBytes
    const isAhead = this.#waitingOffset !== undefined && this.#waitingOffset !== this.#engineOffset
    return this.#waiting.size > 0 || isAhead
  }

  /** What waits is being written: the pins, until `endWrite`. */
  beginWrite(): void {
    this.#writing = this.#waiting
    this.#writingOffset = this.#waitingOffset
    this.#waiting = this.#spare ?? new Pins()
    this.#spare = undefined
    this.#waitingOffset = undefined
    this.rows.beginWrite()
  }

  get writing(): RowStage | undefined {
    return this.#writing
  }

  /** The next changelog offset when `writing` is in the engine; undefined: as before. */
  get writingOffset(): number | undefined {
    return this.#writingOffset
  }

  /** What was being written is in the engine. */
  endWrite(): void {
    this.#engineOffset = this.#writingOffset ?? this.#engineOffset
    const written = this.#writing
    if (this.#isRestoring && written instanceof PackedRows && written.recycle())
      this.#spare = written
    this.#writing = undefined
    this.#writingOffset = undefined
    this.rows.endWrite()
  }
}
