/**
 * Answers from what this instance holds, and the reasons why it cannot: Java's
 * QueryableStoreProvider, with one code for each of its situations (KIP-216). Tasks are found anew
 * for each question, so that nothing here goes stale when they come and go.
 */
import { StreamsError } from '../errors.ts'
import { partitionForKey } from '../protocol/murmur2.ts'
import type { AnyStore } from '../store/descriptor.ts'
import { allowsStale, leastRole, roleOf, type ConsistencyOptions } from './consistency.ts'
import { mergeRows } from './page.ts'
import { askHolder, isHeldFor, workerFor } from './partition-holder.ts'
import type {
  AnyStoreView,
  LocalPartition,
  QueryTarget,
  StorePosition,
  StoreRow,
  StoreValue,
  StoreView,
} from './query-target.ts'
import { scatter } from './scatter.ts'
import { rangeOf } from './scan-bounds.ts'
import {
  assertAskable,
  pageBytesMax,
  type CountAnswer,
  type CountRequest,
  type GetAnswer,
  type GetRequest,
  type PageAnswer,
  type PageRequest,
  type QueryExecutor,
  type QueryMeta,
} from './request.ts'
import type { AnsweringPartition, PartitionsAnswer, WorkerQueries } from './worker-queries.ts'

/** Estimated bytes of a value whose serde does not estimate. */
const valueBytesDefault = 64

/** A partition that answers. */
export interface ReadablePartition extends LocalPartition {
  readonly partition: number
  readonly lag: number
  readonly view: StoreView
}

/**
 * The store as the topology has it. Throws `STORE_UNKNOWN`, and `STREAMS_NOT_STARTED` or
 * `STREAMS_STOPPED` when this instance answers nothing at all.
 */
export function queryableDescriptor(target: QueryTarget, store: string): AnyStore {
  const descriptor = target.descriptor(store)
  if (descriptor === undefined) throw new StreamsError('STORE_UNKNOWN', { store })
  const { availability } = target
  if (availability === 'not-started') throw new StreamsError('STREAMS_NOT_STARTED', { store })
  if (availability === 'stopped') {
    const cause = target.failure
    throw new StreamsError('STREAMS_STOPPED', { store, state: availability }, { cause })
  }
  return descriptor
}

/** Partitions of a store. Throws `STREAMS_REBALANCING` while that is not known. */
export function partitionCountOf(target: QueryTarget, store: string): number {
  const count = target.partitionCount(store)
  if (count === undefined) throw new StreamsError('STREAMS_REBALANCING', { store })
  return count
}

/** The partition in which a key is, by the hash that Kafka's producers use. */
export function partitionOfKey(target: QueryTarget, request: GetRequest): number {
  return partitionForKey(request.keyBytes, partitionCountOf(target, request.store))
}

/** As `queryableDescriptor`, of a key-value store; others answer other questions (`QUERY_INVALID`). */
export function keyValueDescriptor(target: QueryTarget, store: string): AnyStore {
  const descriptor = queryableDescriptor(target, store)
  if (descriptor.kind !== 'key-value') throw otherKind(store, descriptor.kind)
  return descriptor
}

function otherKind(store: string, kind: string): StreamsError {
  const detail = `${store} is a ${kind} store: it is read in the program, with streams.store, and cannot be asked as a key-value store`
  return new StreamsError('QUERY_INVALID', { store, detail })
}

/** As `readableView`, of a key-value store; others answer other questions (`QUERY_INVALID`). */
export function readablePartition(
  target: QueryTarget,
  store: string,
  partition: number,
  consistency: ConsistencyOptions,
): ReadablePartition {
  const local = readableView(target, store, partition, consistency)
  const { view } = local
  if (view.kind !== 'key-value') throw otherKind(store, view.kind)
  return { ...local, view }
}

/**
 * A partition that this thread can read as truly as is asked for. Throws `STREAMS_REBALANCING` before
 * the first assignment, `STORE_MIGRATED` for one that is elsewhere, `STORE_NOT_AVAILABLE` while it is
 * being restored or nobody knows how far it lags, `STALE` when that is too far.
 */
export function readableView(
  target: QueryTarget,
  store: string,
  partition: number,
  consistency: ConsistencyOptions,
): LocalPartition & {
  readonly partition: number
  readonly lag: number
  readonly view: AnyStoreView
} {
  const local = heldFor(target, store, partition, consistency)
  if (local === undefined) {
    const code = target.hostsKnown ? 'STORE_MIGRATED' : 'STREAMS_REBALANCING'
    throw new StreamsError(code, { store, partition })
  }
  const { view, lag, state } = local
  const isRefused = state === 'restoring' && !allowsStale(consistency)
  if (view === undefined || lag === undefined || isRefused) {
    const missing = lag === undefined ? '' : `, ${lag} records are missing`
    const detail = `partition ${partition} is being restored${missing}`
    throw new StreamsError('STORE_NOT_AVAILABLE', { store, partition, lag, detail })
  }
  const { maxLag = Infinity } = consistency
  if (local.isCutOff === true && consistency.maxLag !== undefined) {
    const detail = `the instance is cut off from its group, and does not know how far partition ${partition} lags`
    throw new StreamsError('STORE_NOT_AVAILABLE', { store, partition, detail })
  }
  if (lag > maxLag) throw new StreamsError('STALE', { store, partition, lag, maxLag })
  return { ...local, view, lag, partition }
}

/** A partition that this thread holds, and in the role that is asked for. */
function heldFor(
  target: QueryTarget,
  store: string,
  partition: number,
  consistency: ConsistencyOptions,
): LocalPartition | undefined {
  const local = target.local(store, partition)
  return local?.role === 'standby' && !allowsStale(consistency) ? undefined : local
}

/** Numbers of the partitions that this instance holds; an error when there is none. */
export function partitionsHere(
  target: QueryTarget,
  store: string,
  consistency: ConsistencyOptions,
): number[] {
  const count = partitionCountOf(target, store)
  const partitions: number[] = []
  for (let partition = 0; partition < count; partition += 1) {
    if (isHeldFor(target, store, partition, consistency)) partitions.push(partition)
  }
  if (partitions.length === 0) throw noneHere(target, store)
  return partitions
}

function noneHere(target: QueryTarget, store: string): StreamsError {
  const code = target.hostsKnown ? 'STORE_MIGRATED' : 'STREAMS_REBALANCING'
  return new StreamsError(code, { store, partition: 'all' })
}

/** Rows of several partitions of this thread, read in one go. */
export function readRows(
  partitions: readonly ReadablePartition[],
  descriptor: AnyStore,
  request: PageRequest,
): { rows: StoreRow[]; more: boolean } {
  const { bounds, after, limit } = request
  const range = rangeOf(bounds, after)
  if (range === undefined) return { rows: [], more: false }
  const scans = partitions.map(({ view }) => view.byteRows(range))
  try {
    return mergeRows(
      scans.map((rows) => ({ rows, complete: true })),
      {
        reverse: bounds.reverse ?? false,
        limit,
        bytesMax: pageBytesMax,
        sizeOf: (row) => rowBytes(descriptor, row),
        after,
      },
    )
  } finally {
    for (const scan of scans) scan[Symbol.dispose]()
  }
}

/** Estimated bytes of a row. */
export function rowBytes({ value: serde }: AnyStore, { keyBytes, value }: StoreRow): number {
  return keyBytes.length + (serde.sizeOf?.(value) ?? valueBytesDefault)
}

/** The positions of several partitions as one. */
export function mergePositions(positions: Iterable<StorePosition>): StorePosition {
  const merged: Record<string, Record<string, number>> = {}
  for (const position of positions) {
    for (const [topic, offsets] of Object.entries(position)) {
      merged[topic] = { ...merged[topic], ...offsets }
    }
  }
  return merged
}

/** What a question to several partitions of this instance comes to. */
export interface ScatteredAnswer<A> {
  /** Undefined: none of the partitions can answer. */
  readonly answer: A | undefined
  /** Why the others cannot, by partition. */
  readonly failures: ReadonlyMap<number, unknown>
}

/** Questions to this instance alone, as Java's KafkaStreams#store: to this thread and the others that have stores. */
export class LocalQuery implements QueryExecutor {
  readonly #target: QueryTarget
  readonly #servedBy: string

  /** @param servedBy how this instance names itself in answers. */
  constructor(target: QueryTarget, servedBy: string) {
    this.#target = target
    this.#servedBy = servedBy
  }

  async get(request: GetRequest): Promise<GetAnswer> {
    assertAskable(request)
    keyValueDescriptor(this.#target, request.store)
    return this.getFrom(partitionOfKey(this.#target, request), request)
  }

  /** The value in a partition that must be here: at once, when this thread has it. */
  getFrom(partition: number, request: GetRequest): GetAnswer | Promise<GetAnswer> {
    const { store } = request
    if (workerFor(this.#target, store, partition, request) === undefined) {
      return this.#getHere(partition, request)
    }
    return askHolder(this.#target, {
      store,
      partition,
      consistency: request,
      here: () => this.#getHere(partition, request),
      there: async (worker) => {
        const { part, found } = await worker.get(partition, request)
        return this.#getAnswer(store, part, found)
      },
    })
  }

  #getHere(partition: number, request: GetRequest): GetAnswer {
    const { store, keyBytes } = request
    const readable = readablePartition(this.#target, store, partition, request)
    return this.#getAnswer(store, readable, readable.view.getBytes(keyBytes))
  }

  #getAnswer(store: string, part: AnsweringPartition, found: StoreValue | undefined): GetAnswer {
    const meta = {
      store,
      // A global store is one thing.
      ...(part.role !== 'global' && { partition: part.partition }),
      servedBy: this.#servedBy,
      role: roleOf(part),
      lag: part.lag,
      position: part.position,
      partial: false,
    }
    return { kind: 'get', found, meta }
  }

  async page(request: PageRequest): Promise<PageAnswer> {
    return this.#wholeOf(await this.pageOf(this.#allHere(request), request), request)
  }

  /** Rows of partitions of this instance. */
  async pageOf(
    partitions: readonly number[],
    request: PageRequest,
  ): Promise<ScatteredAnswer<PageAnswer>> {
    const { store } = request
    const descriptor = keyValueDescriptor(this.#target, store)
    const scattered = await this.#scatter(partitions, request, (worker, its) =>
      worker.page(its, request),
    )
    const { readable, answers, failures } = scattered
    const parts = [...readable, ...answers.flatMap((answer) => answer.parts)]
    if (parts.length === 0 && failures.size > 0) return { answer: undefined, failures }
    const own = readRows(readable, descriptor, request)
    const pages = answers.filter((answer) => answer.parts.length > 0)
    const { rows, more } =
      pages.length === 0 ? own : mergePages([own, ...pages], descriptor, request)
    return { answer: { kind: 'page', rows, more, meta: this.#metaOf(store, parts) }, failures }
  }

  async count(request: CountRequest): Promise<CountAnswer> {
    return this.#wholeOf(await this.countOf(this.#allHere(request), request), request)
  }

  /** About how many rows partitions of this instance have. */
  async countOf(
    partitions: readonly number[],
    request: CountRequest,
  ): Promise<ScatteredAnswer<CountAnswer>> {
    const scattered = await this.#scatter(partitions, request, (worker, its) =>
      worker.count(its, request),
    )
    const { readable, answers, failures } = scattered
    const parts = [...readable, ...answers.flatMap((answer) => answer.parts)]
    if (parts.length === 0 && failures.size > 0) return { answer: undefined, failures }
    let approximate = 0
    for (const { view } of readable) approximate += view.approximateEntryCount()
    for (const answer of answers) approximate += answer.approximate
    const meta = this.#metaOf(request.store, parts)
    return { answer: { kind: 'count', approximate, meta }, failures }
  }

  /** What other threads say, and what this one can read, as late as can be. */
  async #scatter<A extends PartitionsAnswer>(
    partitions: readonly number[],
    request: PageRequest | CountRequest,
    ask: (worker: WorkerQueries, partitions: readonly number[]) => Promise<A>,
  ): Promise<{
    readonly answers: readonly A[]
    readonly readable: readonly ReadablePartition[]
    readonly failures: ReadonlyMap<number, unknown>
  }> {
    const { answers, rest, failures } = await scatter(this.#target, partitions, request, ask)
    const readable: ReadablePartition[] = []
    for (const partition of rest) {
      try {
        readable.push(readablePartition(this.#target, request.store, partition, request))
      } catch (error) {
        failures.set(partition, error)
      }
    }
    return { answers, readable, failures }
  }

  /** A partition that cannot answer is a failure, not a gap; one that has left meanwhile is not asked for. */
  #wholeOf<A>({ answer, failures }: ScatteredAnswer<A>, request: PageRequest | CountRequest): A {
    const { store } = request
    for (const partition of [...failures.keys()].sort((a, b) => a - b)) {
      if (isHeldFor(this.#target, store, partition, request)) throw failures.get(partition)
    }
    if (answer === undefined) throw noneHere(this.#target, store)
    return answer
  }

  /** All partitions that this instance holds. */
  #allHere(request: PageRequest | CountRequest): number[] {
    assertAskable(request)
    keyValueDescriptor(this.#target, request.store)
    return partitionsHere(this.#target, request.store, request)
  }

  #metaOf(store: string, given: readonly AnsweringPartition[]): QueryMeta {
    const parts = given.toSorted((a, b) => a.partition - b.partition)
    const role = leastRole(parts.map(roleOf))
    return {
      store,
      ...(parts[0]?.role !== 'global' && { partitions: parts.map(({ partition }) => partition) }),
      servedBy: [this.#servedBy],
      role,
      lag: Math.max(0, ...parts.map(({ lag }) => lag)),
      position: mergePositions(parts.map(({ position }) => position)),
      partial: false,
    }
  }
}

/** Pages of several threads as one. */
function mergePages(
  pages: readonly { readonly rows: readonly StoreRow[]; readonly more: boolean }[],
  descriptor: AnyStore,
  { bounds, limit }: PageRequest,
): { rows: StoreRow[]; more: boolean } {
  return mergeRows(
    pages.map(({ rows, more }) => ({ rows: rows.values(), complete: !more })),
    {
      reverse: bounds.reverse ?? false,
      limit,
      bytesMax: pageBytesMax,
      sizeOf: (row) => rowBytes(descriptor, row),
    },
  )
}
