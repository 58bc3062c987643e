/**
 * Finds who can answer, and asks there: the instance that holds the partition of a key, or all that
 * hold a part of the store. A partition that this instance holds is read here, whatever the map says:
 * nobody else has it before this instance has given it up. Everything else goes one hop, and whoever
 * receives a hop answers from what it holds or refuses (`MISDIRECTED`); nothing is forwarded twice.
 *
 * Where a question allows it, those with a standby are asked when the owner is unknown, cannot be
 * reached, or says that it cannot answer: first this instance, then the others one after the other.
 *
 * The partition of a key depends on the number of partitions of the topic alone. Were it taken modulo
 * those that are assigned at the moment, a rebalance would send questions to a live but wrong
 * instance, which would truthfully say "absent" (KAFKA-20887).
 */
import { StreamsError } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import { allowsStale, leastRole, type ConsistencyOptions } from './consistency.ts'
import {
  LocalQuery,
  mergePositions,
  partitionCountOf,
  partitionOfKey,
  keyValueDescriptor,
  rowBytes,
  type ScatteredAnswer,
} from './local-query.ts'
import { mergeRows } from './page.ts'
import { isHeldFor, roleHere } from './partition-holder.ts'
import type { PartitionHosts, QueryTarget } from './query-target.ts'
import { Unanswered, mayAskOthers, moreTelling, movedMeanwhile } from './unanswered.ts'
import {
  assertAskable,
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

/** Who can be asked: this instance, or another one. */
type Place = 'here' | Endpoint

/** Partitions by who is asked for them at a time. */
interface Shares {
  readonly here: number[]
  readonly elsewhere: Map<string, { peer: Endpoint; partitions: number[] }>
}

/** A round asks for each partition that has no answer yet; one for the owner, one for each copy. */
const roundsMax = 8

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
    assertAskable(request)
    const { store } = request
    keyValueDescriptor(this.#target, store)
    const partition = partitionOfKey(this.#target, request)
    let failure: StreamsError | undefined
    for (const place of this.#places(partition, request)) {
      try {
        if (place === 'here') return await this.#local.getFrom(partition, request)
        return await this.#peers.get(place, request)
      } catch (error) {
        failure = moreTelling(failure, movedMeanwhile(error, store, partition))
        if (!mayAskOthers(failure)) break
      }
    }
    throw failure ?? this.#reasonOfNone(store, partition)
  }

  page(request: PageRequest): Promise<PageAnswer> {
    return this.#scatter(request, {
      here: (partitions) => this.#local.pageOf(partitions, request),
      there: (peer, partitions) => this.#peers.page(peer, partitions, request),
      gather: (answers, meta) => this.#gatherPages(answers, request, meta),
    })
  }

  count(request: CountRequest): Promise<CountAnswer> {
    return this.#scatter(request, {
      here: (partitions) => this.#local.countOf(partitions, request),
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
    assertAskable(request)
    keyValueDescriptor(this.#target, request.store)
    const partition = partitionOfKey(this.#target, request)
    this.#assertHere(partition, request)
    return this.#local.getFrom(partition, request)
  }

  /** The answer to a hop for rows: of those of the partitions that can be read here. */
  pageHere(partitions: readonly number[], request: PageRequest): Promise<PageAnswer> {
    return this.#answerHere(partitions, request, (its) => this.#local.pageOf(its, request))
  }

  /** The answer to a hop for a count: of those of the partitions that can be read here. */
  countHere(partitions: readonly number[], request: CountRequest): Promise<CountAnswer> {
    return this.#answerHere(partitions, request, (its) => this.#local.countOf(its, request))
  }

  /** Who may answer for a partition, in the order in which they are asked. */
  #places(partition: number, request: ConsistencyOptions & { readonly store: string }): Place[] {
    const { store } = request
    const places: Place[] = []
    const role = roleHere(this.#target, store, partition)
    const isOwner = role !== undefined && role !== 'standby'
    const { active, standby } = this.#hosts(store, partition)
    if (isOwner) places.push('here')
    else if (active !== undefined && !this.#isSelf(active)) places.push(active)
    if (!allowsStale(request)) return places
    if (role === 'standby') places.push('here')
    for (const host of standby) if (!this.#isSelf(host)) places.push(host)
    return places
  }

  #hosts(store: string, partition: number): PartitionHosts {
    if (!this.#target.hostsKnown) return { active: undefined, standby: [] }
    return this.#target.hosts(store, partition)
  }

  #isSelf(endpoint: Endpoint): boolean {
    return endpointName(endpoint) === endpointName(this.#self)
  }

  /** Why nobody can be asked for a partition. */
  #reasonOfNone(store: string, partition: number): StreamsError {
    if (!this.#target.hostsKnown) return new StreamsError('STREAMS_REBALANCING', { store })
    const { active } = this.#target.hosts(store, partition)
    // Assigned to this instance, which has not made the task yet.
    const code = active === undefined ? 'OWNER_UNKNOWN' : 'STREAMS_REBALANCING'
    return new StreamsError(code, { store, partition })
  }

  #assertHere(partition: number, request: ConsistencyOptions & { readonly store: string }): void {
    const { store } = request
    if (isHeldFor(this.#target, store, partition, request)) return
    const { active } = this.#hosts(store, partition)
    const isComing = active !== undefined && this.#isSelf(active)
    const code = isComing || !this.#target.hostsKnown ? 'STREAMS_REBALANCING' : 'MISDIRECTED'
    throw new StreamsError(code, { store, partition })
  }

  /** Throws when none of the partitions can be read. */
  async #answerHere<A extends ScatterAnswer>(
    partitions: readonly number[],
    request: ScatterRequest,
    read: (partitions: readonly number[]) => Promise<ScatteredAnswer<A>>,
  ): Promise<A> {
    assertAskable(request)
    const { store } = request
    keyValueDescriptor(this.#target, store)
    const count = partitionCountOf(this.#target, store)
    const failures = new Map<number, unknown>()
    for (const partition of partitions) {
      if (partition >= count)
        throw new StreamsError('STORE_PARTITION_INVALID', { store, partition })
      try {
        this.#assertHere(partition, request)
      } catch (error) {
        failures.set(partition, error)
      }
    }
    const scattered = await read(partitions.filter((partition) => !failures.has(partition)))
    for (const [partition, failure] of scattered.failures) failures.set(partition, failure)
    const missing = partitions.filter((partition) => failures.has(partition))
    const isNone = missing.length === partitions.length && missing.length > 0
    if (scattered.answer === undefined || isNone) throw failures.get(missing[0] as number)
    return { ...scattered.answer, meta: withMissing(scattered.answer.meta, missing) }
  }

  async #scatter<A extends ScatterAnswer>(
    request: ScatterRequest,
    steps: {
      here: (partitions: readonly number[]) => Promise<ScatteredAnswer<A>>
      there: (peer: Endpoint, partitions: readonly number[]) => Promise<A>
      gather: (answers: readonly A[], meta: QueryMeta) => A
    },
  ): Promise<A> {
    assertAskable(request)
    const { store } = request
    keyValueDescriptor(this.#target, store)
    const count = partitionCountOf(this.#target, store)
    const places = Array.from({ length: count }, (_, partition) => this.#places(partition, request))
    const unanswered = new Unanswered(store, count)
    const answers: A[] = []
    for (let round = 0; round < roundsMax; round += 1) {
      const shares = sharesOf(unanswered, places, round)
      if (shares === undefined) break
      const asked = [...shares.elsewhere.values()]
      const theirs = await Promise.allSettled(
        asked.map(({ peer, partitions }) => steps.there(peer, partitions)),
      )
      // Nobody waits any more for what would be read here.
      assertNotAborted(request)
      for (const [index, outcome] of theirs.entries()) {
        const { partitions } = asked[index] as { partitions: number[] }
        if (outcome.status === 'fulfilled') answers.push(outcome.value)
        noteOutcome(unanswered, store, partitions, outcome)
      }
      // Read after the peers have answered: the rows of one answer then are as close in time as can be,
      // and a partition that moved here or away meanwhile is judged by how things are now.
      if (shares.here.length === 0) continue
      const { answer, failures } = await steps.here(shares.here)
      if (answer !== undefined) answers.push(answer)
      for (const partition of shares.here) {
        const failure = failures.get(partition)
        if (failure === undefined) unanswered.answered(partition)
        else unanswered.failed(partition, failure)
      }
    }
    const missing = unanswered.partitions
    const [first] = missing
    if (first !== undefined && (request.allowPartial !== true || answers.length === 0)) {
      throw unanswered.failure(first) ?? this.#reasonOfNone(store, first)
    }
    return steps.gather(answers, gatheredMeta(store, answers, missing))
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

/** Who is asked for what has no answer, in this round; undefined: nobody is left. */
function sharesOf(
  unanswered: Unanswered,
  places: readonly (readonly Place[])[],
  round: number,
): Shares | undefined {
  const here: number[] = []
  const elsewhere: Shares['elsewhere'] = new Map()
  for (const partition of unanswered.askable) {
    const place = places[partition]?.[round]
    if (place === 'here') here.push(partition)
    else if (place !== undefined) {
      const name = endpointName(place)
      const share = elsewhere.get(name) ?? { peer: place, partitions: [] }
      share.partitions.push(partition)
      elsewhere.set(name, share)
    }
  }
  return here.length === 0 && elsewhere.size === 0 ? undefined : { here, elsewhere }
}

function noteOutcome(
  unanswered: Unanswered,
  store: string,
  partitions: readonly number[],
  outcome: PromiseSettledResult<ScatterAnswer>,
): void {
  if (outcome.status === 'rejected') {
    for (const partition of partitions) unanswered.failed(partition, outcome.reason)
    return
  }
  const answered = new Set(outcome.value.meta.partitions)
  for (const partition of partitions) {
    if (answered.has(partition)) {
      unanswered.answered(partition)
      continue
    }
    const detail = `partition ${partition} is not ready on its instance`
    unanswered.failed(
      partition,
      new StreamsError('STORE_NOT_AVAILABLE', { store, partition, detail }),
    )
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
    servedBy: [...new Set(metas.flatMap(({ servedBy }) => servedBy))].sort(),
    role: leastRole(metas.map(({ role }) => role)),
    lag: Math.max(0, ...metas.map(({ lag }) => lag)),
    position: mergePositions(metas.map(({ position }) => position)),
    partial: false,
  }
  return withMissing(meta, missing.toSorted(byNumber))
}
