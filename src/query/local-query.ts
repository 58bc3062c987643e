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
import type {
  AnyStoreView,
  LocalPartition,
  QueryTarget,
  StorePosition,
  StoreRow,
  StoreView,
} from './query-target.ts'
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
    throw new StreamsError('STREAMS_STOPPED', { store, state: availability })
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
 * A partition that this instance can read as truly as is asked for. Throws `STREAMS_REBALANCING` before
 * the first assignment, `STORE_MIGRATED` for one that is elsewhere, `STORE_NOT_AVAILABLE` while it is
 * being restored or nobody has said how far it lags, `STALE` when that is too far.
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
  if (lag > maxLag) throw new StreamsError('STALE', { store, partition, lag, maxLag })
  return { ...local, view, lag, partition }
}

/** A partition that this instance holds, and in the role that is asked for. */
export function heldFor(
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
    if (heldFor(target, store, partition, consistency) !== undefined) partitions.push(partition)
  }
  if (partitions.length > 0) return partitions
  const code = target.hostsKnown ? 'STORE_MIGRATED' : 'STREAMS_REBALANCING'
  throw new StreamsError(code, { store, partition: 'all' })
}

/** Rows of several partitions of this instance, read in one go. */
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

/** Questions to this instance alone, as Java's KafkaStreams#store. */
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

  /** The value in a partition that must be here. */
  getFrom(partition: number, request: GetRequest): GetAnswer {
    const { store, keyBytes } = request
    const held = readablePartition(this.#target, store, partition, request)
    const { view, lag, position } = held
    const meta = {
      store,
      // A global store is one thing.
      ...(held.role !== 'global' && { partition }),
      servedBy: this.#servedBy,
      role: roleOf(held),
      lag,
      position,
      partial: false,
    }
    return { kind: 'get', found: view.getBytes(keyBytes), meta }
  }

  async page(request: PageRequest): Promise<PageAnswer> {
    assertAskable(request)
    return this.pageFrom(this.#allHere(request), request)
  }

  /** Rows of partitions that are here. */
  pageFrom(partitions: readonly ReadablePartition[], request: PageRequest): PageAnswer {
    const descriptor = keyValueDescriptor(this.#target, request.store)
    const { rows, more } = readRows(partitions, descriptor, request)
    return { kind: 'page', rows, more, meta: this.#metaOf(request.store, partitions) }
  }

  async count(request: CountRequest): Promise<CountAnswer> {
    assertAskable(request)
    return this.countOf(this.#allHere(request), request.store)
  }

  /** About how many rows partitions that are here have. */
  countOf(partitions: readonly ReadablePartition[], store: string): CountAnswer {
    let approximate = 0
    for (const { view } of partitions) approximate += view.approximateEntryCount()
    return { kind: 'count', approximate, meta: this.#metaOf(store, partitions) }
  }

  /** All partitions that this instance holds; one that cannot answer is a failure, not a gap. */
  #allHere(request: PageRequest | CountRequest): ReadablePartition[] {
    const { store } = request
    keyValueDescriptor(this.#target, store)
    return partitionsHere(this.#target, store, request).map((partition) =>
      readablePartition(this.#target, store, partition, request),
    )
  }

  #metaOf(store: string, parts: readonly ReadablePartition[]): QueryMeta {
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
