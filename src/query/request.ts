import { StreamsError } from '../errors.ts'
import { assertConsistency, type AnswerRole, type ConsistencyOptions } from './consistency.ts'
import type { StorePosition, StoreRow, StoreValue } from './query-target.ts'
import type { ScanBounds } from './scan-bounds.ts'

/** Rows of a page when the question does not say. */
export const pageRowsDefault = 100

/** Rows of a page at most. Who wants more follows the cursor. */
export const pageRowsMax = 1000

/** Estimated bytes of the rows of a page, after which it ends early (with a cursor). */
export const pageBytesMax = 8 * 1024 * 1024

/** Bytes of a key or of a bound of a scan; no engine stores longer keys. */
export const keyBytesMax = 16 * 1024

/** A question for one value. */
export interface GetRequest extends ConsistencyOptions {
  readonly kind: 'get'
  readonly store: string
  readonly keyBytes: Buffer
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** A question for rows in the order of their key bytes, over all partitions. */
export interface PageRequest extends ConsistencyOptions {
  readonly kind: 'page'
  readonly store: string
  readonly bounds: ScanBounds
  /** The last key of the page before: this one begins behind it. */
  readonly after?: Buffer
  readonly limit: number
  /** Answer from the partitions that can be reached, and name the others. */
  readonly allowPartial?: boolean
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** A question for about how many rows there are. */
export interface CountRequest extends ConsistencyOptions {
  readonly kind: 'count'
  readonly store: string
  readonly allowPartial?: boolean
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** A question about a store. */
export type QueryRequest = GetRequest | PageRequest | CountRequest

/** How true an answer is: from which partitions it comes, who gave it, and how far they had come. */
export interface QueryMeta {
  readonly store: string
  /** Of an answer from one partition. */
  readonly partition?: number
  /** Of an answer from several. */
  readonly partitions?: readonly number[]
  /** `host:port` of the instance that answered; of several, for an answer from several partitions. */
  readonly servedBy: string | readonly string[]
  /** Of several, the one that is trusted least. */
  readonly role: AnswerRole
  /** Records that the answering store is behind its changelog; the largest of several. */
  readonly lag: number
  readonly position: StorePosition
  /** True only when the question allowed it, and partitions are missing. */
  readonly partial: boolean
  readonly missingPartitions?: readonly number[]
}

export interface GetAnswer {
  readonly kind: 'get'
  /** Undefined: the owner says that there is no value for this key. */
  readonly found: StoreValue | undefined
  readonly meta: QueryMeta
}

export interface PageAnswer {
  readonly kind: 'page'
  readonly rows: readonly StoreRow[]
  /** True: there may be rows behind the last one. */
  readonly more: boolean
  readonly meta: QueryMeta
}

export interface CountAnswer {
  readonly kind: 'count'
  readonly approximate: number
  readonly meta: QueryMeta
}

/** Whoever answers questions: this instance alone, or the application through it. */
export interface QueryExecutor {
  get(request: GetRequest): Promise<GetAnswer>
  page(request: PageRequest): Promise<PageAnswer>
  count(request: CountRequest): Promise<CountAnswer>
}

/**
 * Throws `ABORTED` when nobody waits for the answer any more, and `QUERY_INVALID` when it cannot be as
 * true as is asked for.
 */
export function assertAskable(request: QueryRequest): void {
  assertNotAborted(request)
  assertConsistency(request)
}

/** Throws `ABORTED` when nobody waits for the answer any more. */
export function assertNotAborted(request: Pick<QueryRequest, 'store' | 'signal'>): void {
  if (request.signal?.aborted === true) {
    throw new StreamsError('ABORTED', { what: `an answer of the store ${request.store}` })
  }
}
