/**
 * Finds who can answer, and asks there: the instance that holds the partition of a key, or all that
 * hold a part of the store. A partition that this instance holds is read here, whatever the map says:
 * nobody else has it before this instance has given it up. Everything else goes one hop, and whoever
 * receives a hop answers from what it holds or refuses (`MISDIRECTED`); nothing is forwarded twice.
 *
 * The partition of a key depends on the number of partitions of the topic alone. Were it taken modulo
 * those that are assigned at the moment, a rebalance would send questions to a live but wrong
 * instance, which would truthfully say "absent" (KAFKA-20887).
 */
import { StreamsError, isStreamsError } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import {
  LocalQuery,
  mergePositions,
  partitionCountOf,
  partitionOfKey,
  keyValueDescriptor,
  readablePartition,
  rowBytes,
  type ReadablePartition,
} from './local-query.ts'
import { mergeRows } from './page.ts'
import type { QueryTarget } from './query-target.ts'
import {
  assertNotAborted,
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

/**
 * Asks another instance. Each rejects with the error that the peer told, `PEER_UNREACHABLE`,
 * `QUERY_TIMEOUT` or `ABORTED`.
 */
export interface QueryPeers {
  get(peer: Endpoint, request: GetRequest): Promise<GetAnswer>
  /** Of these partitions; the answer names those that it lacks. */
  page(peer: Endpoint, partitions: readonly number[], request: PageRequest): Promise<PageAnswer>
  count(peer: Endpoint, partitions: readonly number[], request: CountRequest): Promise<CountAnswer>
}

export interface RouterOptions {
  readonly target: QueryTarget
  /** Where other instances reach this one. */
  readonly self: Endpoint
  readonly peers: QueryPeers
}

type ScatterRequest = PageRequest | CountRequest
type ScatterAnswer = PageAnswer | CountAnswer

/** Partitions by who is asked for them, and why nobody can be asked for the others. */
interface Plan {
  readonly here: ReadablePartition[]
  readonly elsewhere: Map<string, { peer: Endpoint; partitions: number[] }>
  readonly missing: Map<number, StreamsError>
}

/** Questions to the whole application. */
export class QueryRouter implements QueryExecutor {
  readonly #target: QueryTarget
  readonly #self: Endpoint
  readonly #peers: QueryPeers
  readonly #local: LocalQuery

  constructor({ target, self, peers }: RouterOptions) {
    this.#target = target
    this.#self = self
    this.#peers = peers
    this.#local = new LocalQuery(target, endpointName(self))
  }

  async get(request: GetRequest): Promise<GetAnswer> {
    assertNotAborted(request)
    const { store, keyBytes } = request
    keyValueDescriptor(this.#target, store)
    const partition = partitionOfKey(this.#target, request)
    if (this.#target.local(store, partition) !== undefined) {
      return this.#local.getFrom(partition, store, keyBytes)
    }
    const peer = this.#ownerElsewhere(store, partition)
    try {
      return await this.#peers.get(peer, request)
    } catch (error) {
      throw movedMeanwhile(error, store, partition)
    }
  }

  page(request: PageRequest): Promise<PageAnswer> {
    return this.#scatter(request, {
      here: (partitions) => this.#local.pageFrom(partitions, request),
      there: (peer, partitions) => this.#peers.page(peer, partitions, request),
      gather: (answers, meta) => this.#gatherPages(answers, request, meta),
    })
  }

  count(request: CountRequest): Promise<CountAnswer> {
    return this.#scatter(request, {
      here: (partitions) => this.#local.countOf(partitions, request.store),
      there: (peer, partitions) => this.#peers.count(peer, partitions, request),
      gather: (answers, meta) => ({
        kind: 'count',
        approximate: answers.reduce((sum, { approximate }) => sum + approximate, 0),
        meta,
      }),
    })
  }

  /** The answer to a hop for one key: from here, or `MISDIRECTED`. */
  async getHere(request: GetRequest): Promise<GetAnswer> {
    assertNotAborted(request)
    const { store, keyBytes } = request
    keyValueDescriptor(this.#target, store)
    const partition = partitionOfKey(this.#target, request)
    this.#assertHere(store, partition)
    return this.#local.getFrom(partition, store, keyBytes)
  }

  /** The answer to a hop for rows: of those of the partitions that can be read here. */
  async pageHere(partitions: readonly number[], request: PageRequest): Promise<PageAnswer> {
    assertNotAborted(request)
    const { readable, missing } = this.#readableOf(request.store, partitions)
    const answer = this.#local.pageFrom(readable, request)
    return { ...answer, meta: withMissing(answer.meta, missing) }
  }

  /** The answer to a hop for a count: of those of the partitions that can be read here. */
  async countHere(partitions: readonly number[], request: CountRequest): Promise<CountAnswer> {
    assertNotAborted(request)
    const { readable, missing } = this.#readableOf(request.store, partitions)
    const answer = this.#local.countOf(readable, request.store)
    return { ...answer, meta: withMissing(answer.meta, missing) }
  }

  #ownerElsewhere(store: string, partition: number): Endpoint {
    if (!this.#target.hostsKnown) throw new StreamsError('STREAMS_REBALANCING', { store })
    const { active } = this.#target.hosts(store, partition)
    if (active === undefined) throw new StreamsError('OWNER_UNKNOWN', { store, partition })
    if (endpointName(active) === endpointName(this.#self)) {
      // Assigned to this instance, which has not made the task yet.
      throw new StreamsError('STREAMS_REBALANCING', { store, partition })
    }
    return active
  }

  #assertHere(store: string, partition: number): void {
    if (this.#target.local(store, partition) !== undefined) return
    const owner = this.#target.hostsKnown ? this.#target.hosts(store, partition).active : undefined
    const isComing = owner !== undefined && endpointName(owner) === endpointName(this.#self)
    const code = isComing || !this.#target.hostsKnown ? 'STREAMS_REBALANCING' : 'MISDIRECTED'
    throw new StreamsError(code, { store, partition })
  }

  /** Throws when none of the partitions can be read. */
  #readableOf(
    store: string,
    partitions: readonly number[],
  ): { readable: ReadablePartition[]; missing: number[] } {
    keyValueDescriptor(this.#target, store)
    const count = partitionCountOf(this.#target, store)
    const readable: ReadablePartition[] = []
    const missing: number[] = []
    let failure: unknown
    for (const partition of partitions) {
      if (partition >= count)
        throw new StreamsError('STORE_PARTITION_INVALID', { store, partition })
      try {
        this.#assertHere(store, partition)
        readable.push(readablePartition(this.#target, store, partition))
      } catch (error) {
        failure ??= error
        missing.push(partition)
      }
    }
    if (readable.length === 0 && failure !== undefined) throw failure
    return { readable, missing }
  }

  async #scatter<A extends ScatterAnswer>(
    request: ScatterRequest,
    steps: {
      here: (partitions: ReadablePartition[]) => A
      there: (peer: Endpoint, partitions: readonly number[]) => Promise<A>
      gather: (answers: readonly A[], meta: QueryMeta) => A
    },
  ): Promise<A> {
    assertNotAborted(request)
    const plan = this.#plan(request.store)
    const asked = [...plan.elsewhere.values()]
    const theirs = await Promise.allSettled(
      asked.map(({ peer, partitions }) => steps.there(peer, partitions)),
    )
    // Nobody waits any more for what would be read here.
    assertNotAborted(request)
    const answers: A[] = []
    for (const [index, outcome] of theirs.entries()) {
      const { partitions } = asked[index] as { partitions: number[] }
      if (outcome.status === 'fulfilled') answers.push(outcome.value)
      noteMissing(plan.missing, request.store, partitions, outcome)
    }
    // Read after the peers have answered: the rows of one answer then are as close in time as can be,
    // and a partition that moved here or away meanwhile is judged by how things are now.
    const here = plan.here.flatMap(({ partition }) => {
      try {
        return [readablePartition(this.#target, request.store, partition)]
      } catch (error) {
        plan.missing.set(partition, movedMeanwhile(error, request.store, partition))
        return []
      }
    })
    if (here.length > 0) answers.push(steps.here(here))
    const [failure] = plan.missing.values()
    if (failure !== undefined && (request.allowPartial !== true || answers.length === 0)) {
      throw failure
    }
    return steps.gather(answers, gatheredMeta(request.store, answers, [...plan.missing.keys()]))
  }

  #plan(store: string): Plan {
    keyValueDescriptor(this.#target, store)
    const plan: Plan = { here: [], elsewhere: new Map(), missing: new Map() }
    const count = partitionCountOf(this.#target, store)
    for (let partition = 0; partition < count; partition += 1) {
      try {
        if (this.#target.local(store, partition) !== undefined) {
          plan.here.push(readablePartition(this.#target, store, partition))
          continue
        }
        const peer = this.#ownerElsewhere(store, partition)
        const name = endpointName(peer)
        const share = plan.elsewhere.get(name) ?? { peer, partitions: [] }
        share.partitions.push(partition)
        plan.elsewhere.set(name, share)
      } catch (error) {
        if (!isStreamsError(error)) throw error
        plan.missing.set(partition, error)
      }
    }
    return plan
  }

  #gatherPages(answers: readonly PageAnswer[], request: PageRequest, meta: QueryMeta): PageAnswer {
    const descriptor = keyValueDescriptor(this.#target, request.store)
    const { rows, more } = mergeRows(
      answers.map((answer) => ({ rows: answer.rows.values(), complete: !answer.more })),
      {
        reverse: request.bounds.reverse ?? false,
        limit: request.limit,
        bytesMax: pageBytesMax,
        sizeOf: (row) => rowBytes(descriptor, row),
      },
    )
    return { kind: 'page', rows, more, meta }
  }
}

/** How an instance is named in answers and in the map of the group. */
export function endpointName({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Between the look at the map and the answer, the partition has moved: for the asker, it migrated. */
function movedMeanwhile(error: unknown, store: string, partition: number): StreamsError {
  if (!isStreamsError(error)) throw error
  if (error.code !== 'MISDIRECTED') return error
  return new StreamsError('STORE_MIGRATED', { store, partition }, { cause: error })
}

function noteMissing(
  missing: Map<number, StreamsError>,
  store: string,
  partitions: readonly number[],
  outcome: PromiseSettledResult<ScatterAnswer>,
): void {
  if (outcome.status === 'rejected') {
    for (const partition of partitions) {
      missing.set(partition, movedMeanwhile(outcome.reason, store, partition))
    }
    return
  }
  const answered = new Set(outcome.value.meta.partitions)
  for (const partition of partitions) {
    if (answered.has(partition)) continue
    const detail = `partition ${partition} is not ready on its instance`
    missing.set(partition, new StreamsError('STORE_NOT_AVAILABLE', { store, partition, detail }))
  }
}

function withMissing(meta: QueryMeta, missing: readonly number[]): QueryMeta {
  if (missing.length === 0) return meta
  return { ...meta, partial: true, missingPartitions: missing }
}

function gatheredMeta(
  store: string,
  answers: readonly ScatterAnswer[],
  missing: readonly number[],
): QueryMeta {
  const metas = answers.map(({ meta }) => meta)
  const global = metas.find(({ role }) => role === 'global')
  if (global !== undefined) return global
  const byNumber = (a: number, b: number): number => a - b
  const meta: QueryMeta = {
    store,
    partitions: metas.flatMap(({ partitions }) => partitions ?? []).sort(byNumber),
    servedBy: metas.flatMap(({ servedBy }) => servedBy).sort(),
    role: 'active',
    lag: Math.max(0, ...metas.map(({ lag }) => lag)),
    position: mergePositions(metas.map(({ position }) => position)),
    partial: false,
  }
  return withMissing(meta, missing.toSorted(byNumber))
}
