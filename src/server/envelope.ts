import { StreamsError, messageOf } from '../errors.ts'
import type { StoreRow } from '../query/query-target.ts'
import { encodeCursor } from '../query/page.ts'
import type { CountAnswer, GetAnswer, PageAnswer, QueryMeta } from '../query/request.ts'
import type { AnyStore } from '../store/descriptor.ts'
import { jsonText } from './json-text.ts'
import { formatKey, type KeyFormat } from './key-format.ts'

/**
 * How rows are written: for people, with keys in their format and values as JSON; for another
 * instance (a hop), with the bytes of both, so that nothing is lost on the way.
 */
export interface RowFormat {
  readonly store: AnyStore
  readonly key: KeyFormat
  readonly value: 'json' | 'bytes'
}

/** The body of one value: `{ key, value, timestamp?, meta }`. */
export function valueBody(format: RowFormat, row: StoreRow, meta: QueryMeta): string {
  return `{${rowMembers(format, row)},"meta":${JSON.stringify(meta)}}`
}

/** The body of a page: `{ rows, cursor, meta }`; `cursor` is null behind the last row. */
export function pageBody(format: RowFormat, answer: PageAnswer, cursor: string | null): string {
  const rows = answer.rows.map((row) => `{${rowMembers(format, row)}}`)
  return `{"rows":[${rows.join(',')}],"cursor":${JSON.stringify(cursor)},"meta":${JSON.stringify(answer.meta)}}`
}

/** A page as NDJSON: a line for each row, and `{ cursor, meta }` as the last one. */
export function pageLines(format: RowFormat, answer: PageAnswer, cursor: string | null): string {
  const lines = answer.rows.map((row) => `{${rowMembers(format, row)}}\n`)
  lines.push(`{"cursor":${JSON.stringify(cursor)},"meta":${JSON.stringify(answer.meta)}}\n`)
  return lines.join('')
}

/** The body of a count: `{ approximate, meta }`. */
export function countBody({ approximate, meta }: CountAnswer): string {
  return `{"approximate":${approximate},"meta":${JSON.stringify(meta)}}`
}

/** Where the next page begins; null: this was the last one. */
export function cursorOf(answer: PageAnswer, reverse: boolean, after?: Buffer): string | null {
  if (!answer.more) return null
  const last = answer.rows.at(-1)?.keyBytes ?? after
  return last === undefined ? null : encodeCursor(last, reverse)
}

/** The value with its key as a row. */
export function rowOf(
  store: AnyStore,
  keyBytes: Buffer,
  { value, timestamp }: NonNullable<GetAnswer['found']>,
): StoreRow {
  return { keyBytes, key: store.key.deserialize(keyBytes), value, timestamp }
}

function rowMembers(format: RowFormat, row: StoreRow): string {
  const key = JSON.stringify(formatKey(format.store, format.key, row))
  const timestamp = row.timestamp < 0 ? '' : `,"timestamp":${row.timestamp}`
  return `"key":${key},"value":${valueText(format, row.value)}${timestamp}`
}

function valueText({ store, value: form }: RowFormat, value: unknown): string {
  const serde = store.value
  try {
    if (form === 'json') return jsonText(value)
    return jsonText(serde.serialize(value))
  } catch (error) {
    const detail = messageOf(error)
    const operation = form === 'json' ? 'show as JSON' : 'serialize'
    throw new StreamsError(
      'SERDE_FAILED',
      { serde: serde.name, operation, detail },
      { cause: error },
    )
  }
}
