import type { Timer } from '../base/clock.ts'
import { isStreamsError, messageOf, StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { produce } from '../protocol/messages/0-produce.ts'
import type { Compression } from '../protocol/compression.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import { lifeController } from './deadline.ts'
import { isLeaderError, kafkaFailure } from './kafka-failure.ts'
import type { ConnectionPurpose, KafkaClient } from './kafka-client.ts'
import { LeaderRefresh } from './leader-refresh.ts'
import { groupByTopic } from './list-offsets.ts'
import type { ProducerBatch } from './producer-batch.ts'
import type { ProducerPartition } from './producer-partition.ts'
import type { ProducerIdentity, ProducerSession } from './producer-session.ts'
import { isGap, isOfRecord, isTooLarge, type RefusalHandler } from './refusal.ts'

/** Requests under way to one broker at most. */
const inFlightPerBrokerMax = 5

/** All in-sync replicas: what idempotence needs. */
const acksAll = -1

/** What a request adds to the record batches of one partition, at most: names, lengths, numbers. */
const partitionOverheadBytes = 300

/** Wait before a batch is sent again that came while the last transaction was being completed. */
const concurrentTransactionsMs = 20

/** Bounds of what is sent, and who is told what came of it. */
export interface ProducerSenderOptions {
  readonly session: ProducerSession
  readonly requestBytesMax: number
  readonly deliveryTimeoutMs: number
  readonly compression: Compression
  readonly onAcknowledged: (batch: ProducerBatch) => void
  /** It is given up: nothing more will come of it. */
  readonly onDropped: (batch: ProducerBatch) => void
  readonly onReplaced: (batch: ProducerBatch, parts: readonly ProducerBatch[]) => void
  /** Undefined: nobody is asked, and the partition fails. */
  readonly onRefused: RefusalHandler | undefined
  /** The partition has lost records; its batches are to be dropped. */
  readonly onFailed: (partition: ProducerPartition, error: StreamsError) => void
}

interface SentBatch {
  readonly topic: string
  readonly partition: ProducerPartition
  readonly batch: ProducerBatch
}

/**
 * Sends finished batches to the leaders of their partitions, several at once, and again when that can
 * help: with the same sequence numbers, so that the broker writes each once.
 *
 * When a batch of a partition fails, those that were sent after it are refused too, because theirs
 * would leave a gap. So all of them come back first, and then go out again from the lowest number.
 */
export class ProducerSender {
  readonly #client: KafkaClient
  readonly #options: ProducerSenderOptions
  readonly #purpose: ConnectionPurpose
  /** Partitions with finished batches; who was served last stands at the end. */
  readonly #pending = new Set<ProducerPartition>()
  readonly #inFlight = new Map<number, number>()
  readonly #running = new Set<Promise<void>>()
  #isInitializing = false
  #isDue = false
  #retryTimer: Timer | undefined
  readonly #life = lifeController()
  readonly #leaders: LeaderRefresh

  constructor(client: KafkaClient, options: ProducerSenderOptions) {
    this.#client = client
    this.#options = options
    this.#purpose = client.uniquePurpose('produce')
    options.session.listener = () => this.#schedule()
    this.#leaders = new LeaderRefresh(client, {
      life: this.#life.signal,
      topics: () => new Set([...this.#pending].map(({ topic }) => topic)),
      onEnd: () => this.#schedule(),
      onClosed: (error) => this.#failPending(error),
    })
  }

  /** Undefined until the first batch is sent. */
  get producer(): ProducerIdentity | undefined {
    return this.#options.session.identity
  }

  /** The partition has a finished batch. */
  add(partition: ProducerPartition): void {
    this.#pending.add(partition)
    this.#schedule()
  }

  /** Stops sending and waits for what is under way. Idempotent. */
  async close(): Promise<void> {
    this.#life.abort()
    this.#retryTimer?.cancel()
    const ended = [this.#leaders.ended(), ...this.#running]
    await Promise.all([this.#client.release(this.#purpose), ...ended])
  }

  /** Sends, once for all that happens in this turn. */
  #schedule(): void {
    if (this.#isDue || this.#life.signal.aborted) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      if (!this.#life.signal.aborted) this.#dispatch()
    })
  }

  #dispatch(): void {
    const { session } = this.#options
    if (session.failure !== undefined) {
      this.#failPending(session.failure)
      return
    }
    const now = this.#client.clock.monotonic()
    const byNode = new Map<number, ProducerPartition[]>()
    let retryAt = Infinity
    let needsLeader = false
    for (const partition of this.#pending) {
      if (partition.batches.length === 0) {
        this.#pending.delete(partition)
        continue
      }
      if (this.#isExpired(partition, now)) continue
      if (partition.retryAt > now) {
        retryAt = Math.min(retryAt, partition.retryAt)
        continue
      }
      const leader = this.#client.leaderOf(partition.topic, partition.partition)
      if (leader === undefined) {
        // The first time we only ask who leads it; when nobody knows, again after a wait.
        if (this.#leaders.isRunning) continue
        if (partition.isLeaderless) partition.postpone(now, leaderMissing(partition))
        if (partition.isLeaderless) retryAt = Math.min(retryAt, partition.retryAt)
        else needsLeader = true
        partition.isLeaderless = !partition.isLeaderless
        continue
      }
      partition.isLeaderless = false
      if (session.identity === undefined || !session.mayWriteTo(partition)) continue
      const { nodeId } = leader.node
      const ofNode = byNode.get(nodeId)
      if (ofNode === undefined) byNode.set(nodeId, [partition])
      else ofNode.push(partition)
    }
    if (session.identity === undefined) {
      if (this.#pending.size > 0) this.#initialize()
    } else for (const [node, partitions] of byNode) this.#sendTo(node, partitions, now)
    if (needsLeader) this.#leaders.start()
    this.#armRetryTimer(retryAt - now)
  }

  /** Gives a partition up whose first batch has waited too long; true when it did. */
  #isExpired(partition: ProducerPartition, now: number): boolean {
    const first = partition.batches[0]
    const { deliveryTimeoutMs } = this.#options
    if (first === undefined || now - first.createdAt < deliveryTimeoutMs) return false
    // What is under way may still be acknowledged; its request ends by its own timeout.
    if (partition.batches.some((batch) => batch.isInFlight)) return false
    const last = partition.lastFailure
    const why = last === undefined ? '' : `; last: ${last.message}`
    // Without a try at all when the process stood still: it, too, can be made good by sending anew.
    const cause = last ?? timedOut(partition, deliveryTimeoutMs)
    const detail = `no acknowledgement within ${deliveryTimeoutMs} ms${why}`
    // In a transaction its place can be given to another only when it is certain that it was not written.
    const mayDrop = this.#options.session.transactionalId === null || first.attempts === 0
    if (mayDrop && this.#isPassedOver(partition, first, cause)) this.#schedule()
    else if (partition.failure === undefined) this.#fail(partition, detail, cause)
    return true
  }

  #armRetryTimer(ms: number): void {
    this.#retryTimer?.cancel()
    this.#retryTimer = undefined
    if (ms === Infinity) return
    this.#retryTimer = this.#client.clock.setTimer(Math.ceil(ms), () => this.#schedule())
  }

  #sendTo(node: number, partitions: ProducerPartition[], now: number): void {
    let inFlight = this.#inFlight.get(node) ?? 0
    while (inFlight < inFlightPerBrokerMax) {
      const sent = this.#collect(partitions, now)
      if (sent.length === 0) return
      inFlight += 1
      this.#inFlight.set(node, inFlight)
      this.#run(this.#send(node, sent))
    }
  }

  /** The next batch of each partition, as far as they fit into one request. */
  #collect(partitions: ProducerPartition[], now: number): SentBatch[] {
    const producer = this.producer
    const sent: SentBatch[] = []
    let bytes = 0
    for (const partition of partitions) {
      const batch = partition.next(now)
      if (batch === undefined) continue
      if (bytes > 0 && bytes + batch.bytes.length > this.#options.requestBytesMax) continue
      bytes += batch.bytes.length
      if (producer !== undefined) partition.sent(batch, producer)
      sent.push({ topic: partition.topic, partition, batch })
    }
    // To the end of the line, so that large batches of some do not keep others from being sent.
    for (const { partition } of sent) {
      this.#pending.delete(partition)
      this.#pending.add(partition)
    }
    return sent
  }

  async #send(node: number, sent: readonly SentBatch[]): Promise<void> {
    const { transactionalId, produceVersionMax: versionMax } = this.#options.session
    const bytes = sent.reduce(
      (sum, { batch }) => sum + batch.bytes.length + partitionOverheadBytes,
      partitionOverheadBytes,
    )
    try {
      const response = await this.#client.request(
        produce,
        {
          transactionalId,
          acks: acksAll,
          timeoutMs: this.#client.requestTimeoutMs,
          topicData: groupByTopic(sent).map(([name, rows]) => ({
            name,
            partitionData: rows.map(({ partition, batch }) => ({
              index: partition.partition,
              records: batch.bytes,
            })),
          })),
        },
        { node },
        {
          purpose: this.#purpose,
          retry: 'none',
          bytesHint: bytes,
          signal: this.#life.signal,
          ...(versionMax !== undefined && { versionMax }),
        },
      )
      this.#takeResponse(response, sent)
    } catch (error) {
      for (const entry of sent) this.#takeRequestFailure(entry, error)
      this.#leaders.start()
    } finally {
      this.#inFlight.set(node, (this.#inFlight.get(node) ?? 1) - 1)
    }
  }

  #takeResponse(response: ResponseOf<typeof produce>, sent: readonly SentBatch[]): void {
    const open = new Set(sent)
    for (const { name, partitionResponses } of response.responses) {
      for (const answer of partitionResponses) {
        const entry = sent.find(
          ({ topic, partition }) => topic === name && partition.partition === answer.index,
        )
        if (entry === undefined || !open.delete(entry)) continue
        const detail = answer.errorMessage ?? answer.recordErrors[0]?.batchIndexErrorMessage
        this.#takeAnswer(entry, answer.errorCode, { baseOffset: answer.baseOffset, detail })
      }
    }
    for (const entry of open) {
      const broker = 'the leader'
      const detail = 'its answer to Produce lacks a partition'
      this.#takeRequestFailure(entry, new StreamsError('CONNECTION_CLOSED', { broker, detail }))
    }
  }

  #takeAnswer(
    { partition, batch }: SentBatch,
    code: number,
    answer: { baseOffset: number; detail: string | null | undefined },
  ): void {
    partition.returned(batch)
    if (partition.failure !== undefined) return
    if (code === errorCode.NONE || code === errorCode.DUPLICATE_SEQUENCE_NUMBER) {
      partition.acknowledged(batch, code === errorCode.NONE ? answer.baseOffset : -1)
      this.#options.onAcknowledged(batch)
      return
    }
    const subject = `${partition.topic}-${partition.partition}`
    const error = kafkaFailure(produce.name, code, { subject, detail: answer.detail })
    this.#client.log.debug('A batch was refused', { subject, error: kafkaError(code).name })
    const mayAsk = this.#options.onRefused !== undefined && isOfRecord(code)
    // The epoch of a transaction is not ours to raise.
    const isAlone = this.#options.session.transactionalId === null
    if ((isTooLarge(code) || mayAsk) && batch.recordCount > 1) {
      const parts = batch.split(this.#options.compression)
      partition.replace(batch, parts)
      this.#options.onReplaced(batch, parts)
    } else if (isGap(code) && partition.hasGapBefore(batch)) {
      // It follows one that is not written yet, and is sent again after that one.
      partition.sendAgain()
    } else if (code === errorCode.UNKNOWN_PRODUCER_ID && batch.attempts === 1 && isAlone) {
      // Retention took all that this producer had written, and with it the memory of it (KIP-360). It
      // was refused the first time it was sent, so nothing of it can be in the log.
      partition.bumpEpoch()
    } else if (kafkaError(code).retriable) {
      const now = this.#client.clock.monotonic()
      if (code === errorCode.CONCURRENT_TRANSACTIONS) {
        partition.postpone(now, error, concurrentTransactionsMs)
      } else partition.postpone(now, error)
      if (isLeaderError(code)) this.#leaders.start()
    } else if (!(mayAsk && this.#isPassedOver(partition, batch, error))) {
      if (partition.failure === undefined) this.#fail(partition, error.message, error)
    }
  }

  /** Asks about the records of a batch; true: it is dropped. It may fail the partition with an error of its own. */
  #isPassedOver(partition: ProducerPartition, batch: ProducerBatch, error: StreamsError): boolean {
    const { onRefused, onDropped, onFailed } = this.#options
    if (onRefused === undefined) return false
    const { topic, partition: number } = partition
    try {
      for (const record of batch.records()) {
        if (onRefused({ topic, partition: number, ...record }, error) === 'retry') return false
      }
    } catch (thrown) {
      if (!(thrown instanceof StreamsError)) throw thrown
      this.#pending.delete(partition)
      onFailed(partition, thrown)
      return false
    }
    partition.drop(batch)
    onDropped(batch)
    return true
  }

  /** Nobody knows whether the batch was written: it is sent again with the same numbers. */
  #takeRequestFailure({ partition, batch }: SentBatch, cause: unknown): void {
    if (!batch.isInFlight) return
    partition.returned(batch)
    if (partition.failure !== undefined || this.#life.signal.aborted) return
    const isFinal =
      isStreamsError(cause, 'CLIENT_CLOSED') ||
      isStreamsError(cause, 'PROTOCOL_UNSUPPORTED_VERSION')
    if (!(cause instanceof StreamsError) || isFinal) {
      this.#fail(partition, messageOf(cause), cause)
      return
    }
    partition.postpone(this.#client.clock.monotonic(), cause)
  }

  #fail(partition: ProducerPartition, detail: string, cause: unknown): void {
    this.#pending.delete(partition)
    const { topic, partition: number } = partition
    const context = { topic, partition: number, detail }
    this.#options.onFailed(partition, new StreamsError('DELIVERY_FAILED', context, { cause }))
  }

  #failPending(cause: unknown): void {
    for (const partition of this.#pending) this.#fail(partition, messageOf(cause), cause)
  }

  #initialize(): void {
    if (this.#isInitializing) return
    this.#isInitializing = true
    const { session, deliveryTimeoutMs: deadlineMs } = this.#options
    this.#run(
      session
        .initialize({ deadlineMs, signal: this.#life.signal })
        .catch((error: unknown) => {
          if (this.#life.signal.aborted) return
          this.#failPending(error)
        })
        .finally(() => {
          this.#isInitializing = false
        }),
    )
  }

  #run(work: Promise<void>): void {
    const run = work.finally(() => {
      this.#running.delete(run)
      this.#schedule()
    })
    this.#running.add(run)
  }
}

function leaderMissing({ topic, partition }: ProducerPartition): StreamsError {
  const subject = `${topic}-${partition}`
  return kafkaFailure('Metadata', errorCode.LEADER_NOT_AVAILABLE, { subject })
}

function timedOut({ topic, partition }: ProducerPartition, timeoutMs: number): StreamsError {
  const broker = `the leader of ${topic}-${partition}`
  return new StreamsError('REQUEST_TIMEOUT', { api: produce.name, broker, timeoutMs })
}
