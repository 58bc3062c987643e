/**
 * Gives the rows of a store timestamps, in slices: each is one batch, with a mark that says how far it goes.
 * So a store may be larger than the memory, and a crash at any moment leaves rows of which it is known
 * which ones have a timestamp. In place of the kind of the store stands then
 *
 *     {"layout":"timestamped window","table":"store/60000/28","after":"a2V5"}
 *
 * All tables before that one are done, and the rows of it up to and including that key.
 */
import type { KvBatch, KvEngine } from '../kv/kv.ts'
import { noTimestamp, timestampedFormat } from './stored-value.ts'

/** What a slice reads and writes, about: two milliseconds (measured). */
const sliceBytes = 64 * 1024
const sliceRows = 512

/** How far rows have timestamps. */
export interface LayoutChange {
  readonly table: string
  /** The last key of it that is done. */
  readonly after: Buffer
}

/** What is written in the place of a store's kind. */
export interface LayoutMark extends LayoutChange {
  /** What the store becomes. */
  readonly layout: string
}

/** In words for a human, too: it is in the message when nobody can go on with it. */
export function formatMark({ layout, table, after }: LayoutMark): string {
  return JSON.stringify({ layout, table, after: after.toString('base64') })
}

/** Undefined: it is no mark, or none that can be read. */
export function parseMark(text: string): LayoutMark | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const { layout, table, after } = JSON.parse(text) as Record<string, unknown>
    if (typeof layout !== 'string' || typeof table !== 'string') return undefined
    if (typeof after !== 'string') return undefined
    const key = Buffer.from(after, 'base64')
    return key.toString('base64') === after ? { layout, table, after: key } : undefined
  } catch {
    return undefined
  }
}

/**
 * Puts a slice of rows with timestamps into a batch. `from`: what is done; undefined: nothing. Returns what
 * is done with it; undefined: everything.
 */
export function addTimestamps(
  engine: KvEngine,
  batch: KvBatch,
  { tables, from }: { tables: readonly string[]; from: LayoutChange | undefined },
): LayoutChange | undefined {
  let bytes = 0
  let count = 0
  for (const name of tables) {
    if (from !== undefined && name < from.table) continue
    const table = engine.table(name)
    using rows = table.range(name === from?.table ? { from: successor(from.after) } : {})
    for (const { key, value } of rows) {
      batch.put(table, key, timestampedFormat.encode(value, noTimestamp))
      bytes += key.length + value.length
      count += 1
      if (bytes >= sliceBytes || count >= sliceRows) return { table: name, after: key }
    }
  }
  return undefined
}

/** The next key in the order of bytes. */
function successor(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.alloc(1)])
}
