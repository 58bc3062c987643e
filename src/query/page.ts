/**
 * Pages over several partitions. Each partition (or instance) gives its rows in the order of their
 * key bytes; a page is the merge of their beginnings. A source that was cut off ends the merge where
 * it ends: what comes next there is not known, and rows of others must not overtake it.
 *
 *     partition 0   a d f |more            page with limit 4:  a b c d, cursor behind d
 *     partition 1   b c   |more            then behind c:      nothing may pass c of partition 1
 */
import { BinaryHeap } from '../base/heap.ts'
import { compareBytes } from '../base/bytes.ts'
import { StreamsError } from '../errors.ts'
import type { StoreRow } from './query-target.ts'

/** Rows of one partition or instance, in order. */
export interface RowSource {
  readonly rows: Iterator<StoreRow>
  /** False: more rows may follow behind the last one. */
  readonly complete: boolean
}

export interface MergeOptions {
  readonly reverse?: boolean
  readonly limit: number
  /** The page ends once its rows have so many bytes by `sizeOf`; at least one row is in it. */
  readonly bytesMax: number
  readonly sizeOf: (row: StoreRow) => number
  /** Rows with this key are passed over: the last one of the page before. */
  readonly after?: Buffer
}

interface Head {
  readonly row: StoreRow
  readonly source: number
}

/** The first rows of all sources together, in the order of their key bytes. */
export function mergeRows(
  sources: readonly RowSource[],
  options: MergeOptions,
): { rows: StoreRow[]; more: boolean } {
  const { limit, bytesMax, sizeOf, after } = options
  const direction = options.reverse === true ? -1 : 1
  const heap = new BinaryHeap<Head>(
    (a, b) => direction * compareBytes(a.row.keyBytes, b.row.keyBytes) || a.source - b.source,
  )
  /** False: the source has ended and may have more, so the merge ends with it. */
  const pull = (index: number): boolean => {
    const source = sources[index] as RowSource
    let next = source.rows.next()
    if (next.done !== true && after !== undefined && next.value.keyBytes.equals(after)) {
      next = source.rows.next()
    }
    if (next.done === true) return source.complete
    heap.push({ row: next.value, source: index })
    return true
  }
  const rows: StoreRow[] = []
  let bytes = 0
  for (let index = 0; index < sources.length; index += 1) {
    if (!pull(index)) return { rows, more: true }
  }
  while (rows.length < limit && bytes < bytesMax) {
    const head = heap.pop()
    if (head === undefined) return { rows, more: false }
    rows.push(head.row)
    bytes += sizeOf(head.row)
    if (!pull(head.source)) return { rows, more: true }
  }
  return { rows, more: heap.size > 0 }
}

/** First byte of a cursor; another format gets another one. */
const cursorVersion = 1
const forwardMark = 0
const reverseMark = 1

/** Where a page ended, as an opaque text for the next question. */
export function encodeCursor(lastKey: Buffer, reverse: boolean): string {
  const head = Buffer.from([cursorVersion, reverse ? reverseMark : forwardMark])
  return Buffer.concat([head, lastKey]).toString('base64url')
}

/** The key behind which the next page begins. Throws `QUERY_INVALID` for what is not such a cursor. */
export function decodeCursor(cursor: string, reverse: boolean): Buffer {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.toString('base64url') !== cursor || bytes[0] !== cursorVersion || bytes.length < 2) {
    throw new StreamsError('QUERY_INVALID', { detail: 'the cursor is not one of ours' })
  }
  if (bytes[1] !== (reverse ? reverseMark : forwardMark)) {
    throw new StreamsError('QUERY_INVALID', {
      detail: 'the cursor belongs to a page in the other direction; repeat its question unchanged',
    })
  }
  return bytes.subarray(2)
}
