/**
 * Versions of rows, so that readers see a table as it was when they began while writes go on.
 *
 * Every write has a version. A reader (a snapshot or an iterator) notes the version at which it
 * began; while readers are open, a row that is overwritten keeps the values that they see:
 *
 *     row: value 7 (version 12) -> value 5 (version 9) -> value 1 (version 3)
 *     a reader of version 10 sees 5
 */
import type { SortedRow } from './sorted-rows.ts'

/** What a row was before, for the readers that still see it. */
interface OldValue {
  readonly value: string | undefined
  readonly version: number
  older: OldValue | undefined
}

export interface VersionedRow extends SortedRow {
  /** Undefined: deleted, and kept for readers or until the next clearing. */
  value: string | undefined
  version: number
  older: OldValue | undefined
}

/** Rows with old values are looked through again when they are more than this, or have doubled. */
const chainedRowsMax = 1024

/** The value of a row at a version. */
export function valueAt(row: VersionedRow, version: number): string | undefined {
  if (row.version <= version) return row.value
  let old = row.older
  while (old !== undefined && old.version > version) old = old.older
  return old?.value
}

/** Counts versions, and knows which of them readers hold. */
export class RowVersions {
  /** Of the last write. */
  current = 0
  /** The newest version that an open reader holds; -1: there is none. */
  newestReader = -1
  readonly #readers = new Map<number, number>()
  /** Rows that keep old values. */
  #chained: VersionedRow[] = []
  #chainedLimit = chainedRowsMax

  /** The oldest version that an open reader holds, or the current one. */
  get oldest(): number {
    // In the order of insertion, which is the order of the versions.
    for (const version of this.#readers.keys()) return version
    return this.current
  }

  /** A reader begins: at the current version, or at one that another open reader holds. */
  open(version: number): void {
    this.#readers.set(version, (this.#readers.get(version) ?? 0) + 1)
    if (version > this.newestReader) this.newestReader = version
  }

  close(version: number): void {
    const count = this.#readers.get(version) as number
    if (count > 1) {
      this.#readers.set(version, count - 1)
      return
    }
    this.#readers.delete(version)
    if (this.#readers.size === 0) {
      this.newestReader = -1
      for (const row of this.#chained) row.older = undefined
      this.#chained = []
    } else if (version === this.newestReader) {
      this.newestReader = [...this.#readers.keys()].at(-1) as number
    }
  }

  /** Keeps the value of a row, which an open reader sees. */
  keep(row: VersionedRow): void {
    if (row.older === undefined) this.#chained.push(row)
    row.older = { value: row.value, version: row.version, older: row.older }
    if (this.#chained.length > this.#chainedLimit) this.#trim()
  }

  /** Forgets what no reader sees any more. */
  #trim(): void {
    const oldest = this.oldest
    this.#chained = this.#chained.filter((row) => {
      if (row.version <= oldest) row.older = undefined
      let last = row.older
      while (last !== undefined && last.version > oldest) last = last.older
      if (last !== undefined) last.older = undefined
      return row.older !== undefined
    })
    this.#chainedLimit = Math.max(chainedRowsMax, this.#chained.length * 2)
  }
}
