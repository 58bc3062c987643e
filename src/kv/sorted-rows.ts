/**
 * Rows in the order of their keys, for tables that find a row by a Map and need the order only now
 * and then: what was added waits unsorted until somebody looks. Whoever has looked once will look
 * again: from then on no more than a bounded number waits, so that no later look takes long.
 *
 * A key is the latin1 string of its bytes: comparing those strings is comparing unsigned bytes.
 * Rows lie in chunks. A view shares the chunks; a chunk that is shared is copied before it changes,
 * so that a view costs nothing and stays as it was.
 */

/** What can be sorted: the latin1 string of the key's bytes. */
export interface SortedRow {
  readonly text: string
}

/** The bytes of a key (or of a value, to hold it) as a latin1 string. */
export function keyText(bytes: Buffer): string {
  return bytes.toString('latin1')
}

/** Bounds of a scan; absent: open. `from` is inclusive, `to` inclusive unless `toExclusive`. */
export interface TextRange {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly toExclusive?: boolean | undefined
  readonly reverse?: boolean | undefined
}

/** Rows in one chunk at most; inserting moves half of them on average. */
const rowsPerChunkMax = 512
/** Rows that wait at most, once somebody has looked: sorting them takes a millisecond. */
const waitingRowsMax = 1024
/** With more new rows than a quarter of the old ones, merging all is cheaper than inserting each. */
const mergeShare = 4

interface Chunk<T> {
  rows: T[]
  /** The generation in which it may be changed; in a later one it is shared with a view. */
  generation: number
}

const byText = (a: SortedRow, b: SortedRow): number =>
  a.text < b.text ? -1 : a.text > b.text ? 1 : 0

/** Index of the first row that is not before the text. */
function lowerBound(rows: readonly SortedRow[], text: string): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rows[middle] as SortedRow).text < text) low = middle + 1
    else high = middle
  }
  return low
}

/** Index of the last chunk that begins at or before the text, or 0. */
function chunkOf(chunks: readonly Chunk<SortedRow>[], text: string): number {
  let low = 0
  let high = chunks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const first = (chunks[middle] as Chunk<SortedRow>).rows[0] as SortedRow
    if (first.text <= text) low = middle + 1
    else high = middle
  }
  return low === 0 ? 0 : low - 1
}

/** A collection of rows that can be read in order. */
export class SortedRows<T extends SortedRow> {
  #chunks: Chunk<T>[] = []
  #generation = 0
  #size = 0
  #wasViewed = false
  /** Added since the last view, in the order of their coming. */
  #added: T[] = []

  /** Rows, those that wait included; one that replaced another counts twice until the next view. */
  get size(): number {
    return this.#size + this.#added.length
  }

  /** Adds a row; it takes the place of one with the same key. */
  add(row: T): void {
    this.#added.push(row)
    if (this.#wasViewed && this.#added.length >= waitingRowsMax) this.#integrate()
  }

  clear(): void {
    this.#chunks = []
    this.#added = []
    this.#size = 0
  }

  /** Keeps only some rows; linear. */
  retain(keep: (row: T) => boolean): void {
    this.#integrate()
    this.#fill(this.#chunks.flatMap(({ rows }) => rows.filter(keep)))
  }

  /** The rows as they are; later changes do not show. */
  view(): SortedView<T> {
    this.#wasViewed = true
    this.#integrate()
    this.#generation += 1
    return new SortedView(this.#chunks)
  }

  #integrate(): void {
    const added = this.#added
    if (added.length === 0) return
    this.#added = []
    // Stable: of two rows with one key the later one comes last, and stays.
    added.sort(byText)
    if (added.length * mergeShare > this.#size) this.#merge(added)
    else this.#insert(added)
  }

  #merge(added: readonly T[]): void {
    const merged: T[] = []
    let at = 0
    const push = (row: T): void => {
      if (merged.at(-1)?.text === row.text) merged[merged.length - 1] = row
      else merged.push(row)
    }
    for (const { rows } of this.#chunks) {
      for (const row of rows) {
        while (at < added.length && (added[at] as T).text < row.text) push(added[at++] as T)
        push(row)
      }
    }
    while (at < added.length) push(added[at++] as T)
    this.#fill(merged)
  }

  /** Half full chunks leave room for what comes. */
  #fill(rows: readonly T[]): void {
    const chunks: Chunk<T>[] = []
    for (let from = 0; from < rows.length; from += rowsPerChunkMax / 2) {
      const part = rows.slice(from, from + rowsPerChunkMax / 2)
      chunks.push({ rows: part, generation: this.#generation })
    }
    this.#chunks = chunks
    this.#size = rows.length
  }

  #insert(added: readonly T[]): void {
    // Views hold the list itself: it is replaced, never changed.
    const chunks = this.#chunks.slice()
    for (const row of added) {
      const index = chunkOf(chunks, row.text)
      const chunk = this.#writable(chunks, index)
      const { rows } = chunk
      const at = lowerBound(rows, row.text)
      if (rows[at]?.text === row.text) {
        rows[at] = row
        continue
      }
      rows.splice(at, 0, row)
      this.#size += 1
      if (rows.length > rowsPerChunkMax) {
        const upper = rows.splice(rowsPerChunkMax / 2)
        chunks.splice(index + 1, 0, { rows: upper, generation: this.#generation })
      }
    }
    this.#chunks = chunks
  }

  #writable(chunks: Chunk<T>[], index: number): Chunk<T> {
    const chunk = chunks[index] as Chunk<T>
    if (chunk.generation === this.#generation) return chunk
    const copy = { rows: chunk.rows.slice(), generation: this.#generation }
    chunks[index] = copy
    return copy
  }
}

/** Rows as they were at one moment. */
export class SortedView<T extends SortedRow> {
  readonly #chunks: readonly Chunk<T>[]

  constructor(chunks: readonly Chunk<T>[]) {
    this.#chunks = chunks
  }

  /** The rows of a range, one after the other. */
  cursor(range: TextRange = {}): SortedCursor<T> {
    return new SortedCursor(this.#chunks, range)
  }
}

/** Walks over the rows of a range. */
export class SortedCursor<T extends SortedRow> {
  readonly #chunks: readonly Chunk<T>[]
  readonly #step: 1 | -1
  /** The bound at the far end. */
  readonly #last: string | undefined
  readonly #isLastExcluded: boolean
  #chunk = 0
  #row = 0

  constructor(chunks: readonly Chunk<T>[], { from, to, toExclusive, reverse }: TextRange) {
    this.#chunks = chunks
    this.#step = reverse === true ? -1 : 1
    this.#last = reverse === true ? from : to
    this.#isLastExcluded = reverse !== true && toExclusive === true
    if (reverse === true) this.#seekLast(to, toExclusive === true)
    else if (from !== undefined) this.#seekFirst(from)
  }

  #seekFirst(from: string): void {
    this.#chunk = chunkOf(this.#chunks, from)
    this.#row = lowerBound(this.#chunks[this.#chunk]?.rows ?? [], from)
  }

  #seekLast(to: string | undefined, isExcluded: boolean): void {
    if (to === undefined) {
      this.#chunk = this.#chunks.length - 1
      this.#row = (this.#chunks[this.#chunk]?.rows.length ?? 0) - 1
      return
    }
    this.#chunk = chunkOf(this.#chunks, to)
    const rows = this.#chunks[this.#chunk]?.rows ?? []
    const at = lowerBound(rows, to)
    this.#row = rows[at]?.text === to && !isExcluded ? at : at - 1
  }

  /** The next row, or undefined at the end. */
  next(): T | undefined {
    let rows = this.#chunks[this.#chunk]?.rows
    // At most one step: chunks are never empty.
    if (rows !== undefined && (this.#row < 0 || this.#row >= rows.length)) {
      this.#chunk += this.#step
      rows = this.#chunks[this.#chunk]?.rows
      this.#row = this.#step === 1 ? 0 : (rows?.length ?? 0) - 1
    }
    const row = rows?.[this.#row]
    if (row === undefined || this.#isBeyond(row.text)) {
      this.#chunk = -1
      return undefined
    }
    this.#row += this.#step
    return row
  }

  #isBeyond(text: string): boolean {
    const last = this.#last
    if (last === undefined) return false
    if (this.#step === -1) return text < last
    return this.#isLastExcluded ? text >= last : text > last
  }
}
