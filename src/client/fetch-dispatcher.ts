import type { Timer } from '../base/clock.ts'
import { isStreamsError, messageOf, StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import { lifeController } from './deadline.ts'
import type { FetchBuffer } from './fetch-buffer.ts'
import type { FetchPartition } from './fetch-partition.ts'
import { isolationLevel, type Isolation } from './isolation.ts'
import { isLeaderError, kafkaFailure } from './kafka-failure.ts'
import type { ConnectionPurpose, KafkaClient } from './kafka-client.ts'
import { LeaderRefresh } from './leader-refresh.ts'
import { groupByTopic } from './list-offsets.ts'
import { OpenQuestions, PositionQuestions, type AskedPartition } from './position-questions.ts'

/** From v13 on Fetch names topics by id only, which older brokers do not tell. */
const fetchVersionMax = 12

/** How long a broker may hold a request that bridges the time until the long poll returns. */
const bridgeWaitMs = 20

/** Bounds of what is asked for, and what of transactions. */
export interface FetchLimits {
  readonly isolation: Isolation
  readonly fetchMaxWaitMs: number
  readonly fetchMinBytes: number
  readonly fetchMaxBytes: number
  readonly maxPartitionFetchBytes: number
  readonly bufferBytesMax: number
}

/**
 * `bulk` asks for what is known to be there, and is answered at once. `tail` is the long poll: the
 * broker holds it until something new comes. With one lane alone, a partition that is resumed would
 * wait until the long poll for the others returns.
 */
type Lane = 'bulk' | 'tail'

type PartitionAnswer = ResponseOf<typeof fetch>['responses'][number]['partitions'][number]

/**
 * Asks brokers for what the partitions of a buffer lack.
 *
 * Everything that changes what could be asked (an assignment, a poll, an answer, the end of a wait)
 * leads to `schedule`, which sends to each broker what is due: at most one request in each lane.
 */
export class FetchDispatcher {
  readonly #client: KafkaClient
  readonly #limits: FetchLimits
  readonly #buffer: FetchBuffer
  readonly #purpose: `fetch:${string}`
  /** Lanes in use, as `node/lane`. */
  readonly #busy = new Set<string>()
  /** Nodes whose last request failed: told once, not with each try. */
  readonly #failing = new Set<number>()
  readonly #running = new Set<Promise<void>>()
  #isDue = false
  #retryTimer: Timer | undefined
  readonly #positions: PositionQuestions
  readonly #life = lifeController()
  readonly #leaders: LeaderRefresh

  constructor(client: KafkaClient, buffer: FetchBuffer, limits: FetchLimits) {
    this.#client = client
    this.#buffer = buffer
    this.#limits = limits
    this.#purpose = client.uniquePurpose('fetch')
    this.#leaders = new LeaderRefresh(client, {
      life: this.#life.signal,
      topics: () => buffer.topics,
      onEnd: () => this.schedule(),
      onClosed: () => this.#life.abort(),
    })
    this.#positions = new PositionQuestions({
      client,
      buffer,
      isolation: limits.isolation,
      signal: this.#life.signal,
      onError: (partition, api, code) => this.#takeError(partition, api, code),
      postpone: (partition) => this.#postpone(partition),
    })
  }

  /** Aborts on close. */
  get life(): AbortSignal {
    return this.#life.signal
  }

  /** Asks, once for all that happens in this turn. */
  schedule(): void {
    if (this.#isDue || this.#life.signal.aborted) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      this.#dispatch()
    })
  }

  /** Stops asking and waits for what is under way. Idempotent. */
  async close(): Promise<void> {
    this.#life.abort()
    this.#retryTimer?.cancel()
    await Promise.all([
      this.#client.release(this.#purposeOf('bulk')),
      this.#client.release(this.#purposeOf('tail')),
      this.#leaders.ended(),
      ...this.#running,
    ])
  }

  #purposeOf(lane: Lane): ConnectionPurpose {
    return lane === 'bulk' ? this.#purpose : `${this.#purpose}:tail`
  }

  #dispatch(): void {
    if (this.#life.signal.aborted) return
    const isFull = this.#buffer.pollableBytes >= this.#limits.bufferBytesMax
    const now = this.#client.clock.monotonic()
    let retryAt = Infinity
    let needsLeader = false
    const dueByNode = new Map<number, FetchPartition[]>()
    for (const partition of this.#buffer.partitions()) {
      if (!this.#mayAsk(partition, isFull)) continue
      if (partition.retryAt > now) {
        retryAt = Math.min(retryAt, partition.retryAt)
        continue
      }
      const leader = this.#client.leaderOf(partition.topic, partition.partition)
      if (leader === undefined) {
        // The first time we only ask who leads it; when nobody knows, again after a wait.
        if (this.#leaders.isRunning) continue
        if (partition.isLeaderless) partition.postpone(now)
        if (partition.isLeaderless) retryAt = Math.min(retryAt, partition.retryAt)
        else needsLeader = true
        partition.isLeaderless = !partition.isLeaderless
      } else {
        partition.isLeaderless = false
        const due = dueByNode.get(leader.node.nodeId)
        if (due === undefined) dueByNode.set(leader.node.nodeId, [partition])
        else due.push(partition)
      }
    }
    for (const [node, due] of dueByNode) this.#ask(node, due)
    if (needsLeader) this.#leaders.start()
    this.#armRetryTimer(retryAt - now)
  }

  #mayAsk(partition: FetchPartition, isFull: boolean): boolean {
    if (partition.isAsked || partition.isStopped) return false
    if (partition.wanted !== undefined) return true
    return (
      !isFull && !partition.isPaused && partition.aheadBytes < this.#limits.maxPartitionFetchBytes
    )
  }

  #armRetryTimer(ms: number): void {
    this.#retryTimer?.cancel()
    this.#retryTimer = undefined
    if (ms === Infinity) return
    this.#retryTimer = this.#client.clock.setTimer(Math.ceil(ms), () => this.schedule())
  }

  #ask(node: number, due: FetchPartition[]): void {
    const lost = due.filter((partition) => partition.wanted !== undefined)
    if (lost.length > 0) this.#run(node, lost, (asked) => this.#positions.find(node, asked))
    const moved = due.filter((partition) => partition.mustCheck(this.#leaderEpochOf(partition)))
    if (moved.length > 0) this.#run(node, moved, (asked) => this.#positions.check(node, asked))
    const fetched = due.filter((partition) => partition.wanted === undefined && !partition.isAsked)
    if (fetched.length === 0) return
    fetched.sort((a, b) => a.turn - b.turn)
    const isTailFree = !this.#busy.has(`${node}/tail`)
    const tail = isTailFree ? fetched.filter((partition) => partition.isCaughtUp) : []
    const bulk = isTailFree ? fetched.filter((partition) => !partition.isCaughtUp) : fetched
    if (tail.length > 0) this.#fetchIn('tail', node, tail, this.#limits.fetchMaxWaitMs)
    if (bulk.length === 0 || this.#busy.has(`${node}/bulk`)) return
    // Partitions that have caught up wait here, briefly, until they can join the long poll.
    const isBridge = bulk.every((partition) => partition.isCaughtUp)
    this.#fetchIn('bulk', node, bulk, isBridge ? bridgeWaitMs : 0)
  }

  #leaderEpochOf({ topic, partition }: FetchPartition): number {
    return this.#client.leaderOf(topic, partition)?.leaderEpoch ?? -1
  }

  #fetchIn(lane: Lane, node: number, due: FetchPartition[], waitMs: number): void {
    const name = `${node}/${lane}`
    this.#busy.add(name)
    this.#run(node, due, async (asked) => {
      try {
        await this.#fetch(lane, node, asked, Math.min(waitMs, this.#limits.fetchMaxWaitMs))
      } finally {
        this.#busy.delete(name)
      }
    })
  }

  /** Runs a question to a node about these partitions; whatever it ends in, the next dispatch follows. */
  #run(
    node: number,
    due: FetchPartition[],
    question: (asked: AskedPartition[]) => Promise<void>,
  ): void {
    const asked = due.map((partition) => {
      partition.isAsked = true
      const { generation } = partition
      return { partition, generation, leaderEpoch: this.#leaderEpochOf(partition) }
    })
    const run = question(asked)
      .then(() => {
        this.#failing.delete(node)
      })
      .catch((error: unknown) => this.#failed(node, asked, error))
      .finally(() => {
        this.#running.delete(run)
        for (const { partition, generation } of asked) {
          if (partition.generation === generation) partition.isAsked = false
        }
        this.schedule()
      })
    this.#running.add(run)
  }

  async #fetch(
    lane: Lane,
    node: number,
    asked: AskedPartition[],
    maxWaitMs: number,
  ): Promise<void> {
    const { fetchMinBytes, fetchMaxBytes, maxPartitionFetchBytes, bufferBytesMax } = this.#limits
    const room = bufferBytesMax - this.#buffer.pollableBytes
    const rows = asked.map(({ partition, leaderEpoch }) => ({
      topic: partition.topic,
      partition: partition.partition,
      currentLeaderEpoch: leaderEpoch,
      fetchOffset: partition.fetchOffset,
      partitionMaxBytes: maxPartitionFetchBytes,
    }))
    const topics = groupByTopic(rows).map(([topic, partitions]) => ({ topic, partitions }))
    const response = await this.#client.request(
      fetch,
      {
        maxWaitMs,
        minBytes: maxWaitMs === 0 ? 1 : fetchMinBytes,
        maxBytes: Math.max(1, Math.min(fetchMaxBytes, room)),
        isolationLevel: isolationLevel[this.#limits.isolation],
        topics,
      },
      { node },
      {
        purpose: this.#purposeOf(lane),
        retry: 'none',
        timeoutMs: this.#client.requestTimeoutMs + maxWaitMs,
        versionMax: fetchVersionMax,
        signal: this.#life.signal,
      },
    )
    if (response.errorCode !== errorCode.NONE) {
      throw kafkaFailure(fetch.name, response.errorCode, { subject: `node ${node}` })
    }
    this.#takeResponse(response, asked)
  }

  #takeResponse(response: ResponseOf<typeof fetch>, asked: AskedPartition[]): void {
    const open = new OpenQuestions(this.#buffer, asked)
    const additionsBefore = this.#buffer.additions
    for (const { topic, partitions } of response.responses) {
      for (const answer of partitions) {
        const question = open.take(topic, answer.partitionIndex)
        if (question !== undefined) this.#takeAnswer(question, answer)
      }
    }
    for (const partition of open.unanswered()) this.#postpone(partition)
    if (this.#buffer.additions === additionsBefore) this.#postponeUnfulfilled(asked)
    this.#buffer.wakeIfReady()
  }

  /** Something should be there, but a whole response brought nothing: not again at once. */
  #postponeUnfulfilled(asked: AskedPartition[]): void {
    for (const { partition, generation } of asked) {
      const isSame = partition.generation === generation && partition.wanted === undefined
      if (isSame && !partition.isCaughtUp && !partition.isStopped) this.#postpone(partition)
    }
  }

  #takeAnswer({ partition, leaderEpoch }: AskedPartition, answer: PartitionAnswer): void {
    if (answer.errorCode !== errorCode.NONE) {
      this.#takeError(partition, fetch.name, answer.errorCode)
      return
    }
    try {
      this.#buffer.add(partition, answer, leaderEpoch)
    } catch (error) {
      if (!(error instanceof StreamsError)) throw error
      this.#buffer.stop(partition, error)
    }
  }

  #takeError(partition: FetchPartition, api: string, code: number): void {
    const { topic, partition: number, fetchOffset } = partition
    const subject = `${topic}-${number}`
    if (code === errorCode.OFFSET_OUT_OF_RANGE) {
      this.#client.log.warn('The offset to be fetched is not in the log', {
        topic,
        partition: number,
        offset: fetchOffset,
        offsetReset: partition.offsetReset,
      })
      if (partition.resetByPolicy(this.#client.clock.now())) return
      const detail = 'it was deleted, or the topic was made anew; no offset reset is allowed here'
      const context = { topic, partition: number, offset: fetchOffset, detail }
      this.#buffer.stop(partition, new StreamsError('OFFSET_OUT_OF_RANGE', context))
      return
    }
    const mayPass = kafkaError(code).retriable || code === errorCode.UNKNOWN_SERVER_ERROR
    // Damage on the broker's disk does not pass by itself.
    if (!mayPass || code === errorCode.CORRUPT_MESSAGE) {
      this.#buffer.stop(partition, kafkaFailure(api, code, { subject }))
      return
    }
    this.#client.log.debug('A partition is asked for again', {
      subject,
      error: kafkaError(code).name,
    })
    this.#postpone(partition)
    if (isLeaderError(code)) this.#leaders.start()
  }

  #postpone(partition: FetchPartition): void {
    partition.postpone(this.#client.clock.monotonic())
  }

  /** A whole request failed: its broker may be away, so its partitions may be led by another. */
  #failed(node: number, asked: AskedPartition[], error: unknown): void {
    if (this.#life.signal.aborted || this.#endsWith(error)) return
    const now = this.#client.clock.monotonic()
    const level = this.#failing.has(node) ? 'debug' : 'warn'
    this.#failing.add(node)
    this.#client.log[level]('Fetching from a broker fails and is tried again', {
      node,
      reason: messageOf(error),
    })
    for (const { partition, generation } of asked) {
      if (partition.generation === generation) partition.postpone(now)
    }
    this.#leaders.start()
  }

  /** A client that is closed refuses in the same turn: to ask it again would never end. */
  #endsWith(error: unknown): boolean {
    if (!isStreamsError(error, 'CLIENT_CLOSED')) return false
    this.#life.abort()
    return true
  }
}
