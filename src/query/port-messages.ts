/**
 * What main and a thread say to each other about its stores. Each message that is posted is an array: what
 * is asked in one turn of the event loop goes as one, and is answered as one, since a message costs
 * far more than what is in it.
 *
 *     main    [{ id, ask, … }, …]              questions, and `end` of what nobody waits for any more
 *     thread  [{ held }, { id, answer }, …]    a change of what is held comes before the answers
 */
import type { AnyStore } from '../store/descriptor.ts'
import type { VersionedRecord } from '../store/versioned-store.ts'
import type { Windowed } from '../store/windowed.ts'
import type { ConsistencyOptions } from './consistency.ts'
import { keyBytesOf } from './descriptor-serdes.ts'
import type { PointQuestion, ScanQuestion } from './partition-question.ts'
import type { LocalPartition, StoreRow, StoreValue } from './query-target.ts'
import { readBytes, writeBytes, type WireBytes, type WireError } from './wire-values.ts'
import type { AnsweringPartition, PartitionStatus } from './worker-queries.ts'
import type { ScanBounds } from './scan-bounds.ts'

/** What is asked, apart from its number. */
export type Ask =
  | (AskOne & { readonly ask: 'get'; readonly key: WireBytes })
  | (AskMany & {
      readonly ask: 'page'
      readonly from: WireBytes | undefined
      readonly to: WireBytes | undefined
      readonly prefix: WireBytes | undefined
      readonly reverse: boolean | undefined
      readonly after: WireBytes | undefined
      readonly limit: number
    })
  | (AskMany & { readonly ask: 'count' })
  | (AskMany & { readonly ask: 'check' })
  | (AskMany & { readonly ask: 'status' })
  | (AskOne & { readonly ask: 'point'; readonly question: PointQuestion })
  | (AskOne & {
      readonly ask: 'scan'
      readonly question: ScanQuestion
      readonly limit: number | undefined
    })
  /** More rows of the scan of that number. */
  | { readonly ask: 'next'; readonly store: string; readonly scan: number }

interface AskOne extends ConsistencyOptions {
  readonly store: string
  readonly partition: number
}

interface AskMany extends ConsistencyOptions {
  readonly store: string
  readonly partitions: readonly number[]
}

/** A question; keys in it are bytes. */
export type Question = Ask & { readonly id: number }

/** Nobody waits for the answer, or for more rows of that scan. */
export interface QuestionEnd {
  readonly ask: 'end'
  readonly id: number
}

/** Of a row of a key-value store. */
export type WireRow = readonly [key: WireBytes, value: WireBytes, timestamp: number]

/** By the kind of a question. */
export interface Answers {
  readonly get: { readonly part: AnsweringPartition; readonly found: WireFound | undefined }
  readonly page: AnswerOfMany & { readonly rows: readonly WireRow[]; readonly more: boolean }
  readonly count: AnswerOfMany & { readonly approximate: number }
  readonly check: AnswerOfMany
  readonly status: readonly PartitionStatus[]
  readonly point: { readonly found: readonly unknown[] | undefined }
  readonly scan: ScanPage
  readonly next: ScanPage
}

type WireFound = readonly [value: WireBytes, timestamp: number]

interface AnswerOfMany {
  readonly parts: readonly AnsweringPartition[]
  readonly failures: readonly (readonly [partition: number, WireError])[]
}

/** Rows of a scan; `more`: the scan is still open. */
export interface ScanPage {
  readonly rows: readonly (readonly unknown[])[]
  readonly more: boolean
}

/** What a thread says. */
export type Reply =
  | { readonly held: HeldStores }
  | { readonly id: number; readonly answer: Answers[keyof Answers] }
  | { readonly id: number; readonly error: WireError }

/** True for what a thread can say to such a question. */
export function isAnswerTo<A extends Ask['ask']>(ask: A, answer: unknown): answer is Answers[A] {
  const { part, parts, failures, rows, more, approximate } = (answer ?? {}) as Record<
    string,
    unknown
  >
  const isOfMany = Array.isArray(parts) && Array.isArray(failures)
  const hasRows = Array.isArray(rows) && rows.every(Array.isArray) && typeof more === 'boolean'
  const asked: Ask['ask'] = ask
  switch (asked) {
    case 'get':
      return typeof part === 'object' && part !== null
    case 'page':
      return isOfMany && hasRows
    case 'count':
      return isOfMany && typeof approximate === 'number'
    case 'scan':
    case 'next':
      return hasRows
    case 'check':
      return isOfMany
    case 'status':
      return Array.isArray(answer)
    case 'point':
      return typeof answer === 'object' && answer !== null
    default:
      return asked satisfies never
  }
}

/** Roles by store and partition; null: not held. */
export type HeldStores = Readonly<Record<string, readonly (LocalPartition['role'] | null)[]>>

/** The same question with the bytes of its keys. */
export function writeQuestion<Q extends PointQuestion | ScanQuestion>(
  descriptor: AnyStore,
  question: Q,
): Q {
  if ('key' in question) {
    return { ...question, key: writeBytes(keyBytesOf(descriptor, question.key)) }
  }
  const bound = (key: unknown): WireBytes | undefined =>
    key === undefined ? undefined : writeBytes(keyBytesOf(descriptor, key))
  const { from, to } = question
  return { ...question, from: bound(from), to: bound(to) }
}

/** The question with its keys, of `writeQuestion`. */
export function readQuestion<Q extends PointQuestion | ScanQuestion>(
  { key: serde }: AnyStore,
  question: Q,
): Q {
  const keyOf = (bytes: unknown): unknown => serde.deserialize(readBytes(bytes)) as unknown
  if ('key' in question) return { ...question, key: keyOf(question.key) }
  const { from, to } = question
  return {
    ...question,
    from: from === undefined ? undefined : keyOf(from),
    to: to === undefined ? undefined : keyOf(to),
  }
}

/** What a view gave, as it crosses. */
export function writeFound(
  { key, value }: AnyStore,
  kind: PointQuestion['kind'] | ScanQuestion['kind'],
  found: unknown,
): readonly unknown[] {
  switch (kind) {
    case 'window':
    case 'session':
      return [writeBytes(value.serialize(found))]
    case 'version':
    case 'versions-of-key': {
      const version = found as VersionedRecord<unknown>
      return [writeBytes(value.serialize(version.value)), version.timestamp, version.validTo]
    }
    case 'windows-of-key': {
      const [start, one] = found as [number, unknown]
      return [writeBytes(value.serialize(one)), start]
    }
    case 'windows':
    case 'sessions-of-key':
    case 'sessions': {
      const [windowed, one] = found as [Windowed<unknown>, unknown]
      const { start, end } = windowed.window
      return [writeBytes(value.serialize(one)), start, end, writeBytes(key.serialize(windowed.key))]
    }
    default:
      return kind satisfies never
  }
}

/** What the view gave, of `writeFound`. */
export function readFound(
  { key: keySerde, value: valueSerde }: AnyStore,
  kind: PointQuestion['kind'] | ScanQuestion['kind'],
  [bytes, first, second, keyBytes]: readonly unknown[],
): unknown {
  const value: unknown = valueSerde.deserialize(readBytes(bytes))
  switch (kind) {
    case 'window':
    case 'session':
      return value
    case 'version':
    case 'versions-of-key':
      return second === undefined
        ? { value, timestamp: first }
        : { value, timestamp: first, validTo: second }
    case 'windows-of-key':
      return [first, value]
    case 'windows':
    case 'sessions-of-key':
    case 'sessions': {
      const key: unknown = keySerde.deserialize(readBytes(keyBytes))
      return [{ key, window: { start: first, end: second } }, value]
    }
    default:
      return kind satisfies never
  }
}

/** A value with its timestamp, as it crosses. */
export function writeValue({ value: serde }: AnyStore, found: StoreValue): WireFound {
  return [writeBytes(serde.serialize(found.value)), found.timestamp]
}

/** The value, of `writeValue`. */
export function readValue({ value: serde }: AnyStore, [bytes, timestamp]: WireFound): StoreValue {
  return { value: serde.deserialize(readBytes(bytes)) as unknown, timestamp }
}

/** A row as it crosses. */
export function writeRow({ value: serde }: AnyStore, row: StoreRow): WireRow {
  return [writeBytes(row.keyBytes), writeBytes(serde.serialize(row.value)), row.timestamp]
}

/** The row, of `writeRow`. */
export function readRow(descriptor: AnyStore, [keyWire, value, timestamp]: WireRow): StoreRow {
  const keyBytes = readBytes(keyWire)
  return {
    key: descriptor.key.deserialize(keyBytes) as unknown,
    keyBytes,
    value: descriptor.value.deserialize(readBytes(value)) as unknown,
    timestamp,
  }
}

/** The bounds of a page, of what was asked. */
export function readBounds({ from, to, prefix, reverse }: Ask & { ask: 'page' }): ScanBounds {
  return { from: optional(from), to: optional(to), prefix: optional(prefix), reverse }
}

/** Bytes, or nothing. */
export function optional(wire: WireBytes | undefined): Buffer | undefined {
  return wire === undefined ? undefined : readBytes(wire)
}
