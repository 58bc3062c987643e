/**
 * All transactions of the broker (org.apache.kafka.coordinator.transaction.TransactionCoordinator).
 *
 * A change is in the log before it holds, so that after a crash a transaction goes on where it was:
 * one that was ongoing waits for its producer or its timeout, one of which it was decided how it ends
 * gets its markers. These are written at once; where a disk refuses one, it is tried again and the
 * producer is told CONCURRENT_TRANSACTIONS meanwhile.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { isStreamsError, messageOf } from '../errors.ts'
import type { KafkaErrorName } from '../protocol/error-codes.ts'
import type { TransactionMarker } from './log-transactions.ts'
import type { OffsetStore } from './offset-store.ts'
import type { PartitionLog } from './partition-log.ts'
import type { TopicPartition } from './partition-set.ts'
import { Refusal, orRefusal } from './refusal.ts'
import type { Topics } from './topics.ts'
import type { TransactionStore } from './transaction-store.ts'
import {
  completed,
  endVerdict,
  fenced,
  initialized,
  isKnownProducer,
  newTransaction,
  nextIdentity,
  prepared,
  withPartitions,
  type ProducerIdentity,
  type TransactionFacts,
} from './transaction.ts'

/** With more, one that was idle for longest is forgotten. */
const transactionalIdsMax = 10_000

/** Between two attempts to write what the disk has refused. */
const retryMs = 1_000

/**
 * The partition whose records are committed offsets, as it is named in transactions. It is no topic
 * here: the offsets of all groups are in one log.
 */
export const offsetsPartition: TopicPartition = { topic: '__consumer_offsets', partition: 0 }

export interface TransactionCoordinatorOptions {
  readonly clock: Clock
  readonly log: Log
  readonly store: TransactionStore
  readonly topics: Topics
  readonly offsets: OffsetStore
  readonly newProducerId: () => number
  /** Of the markers: one more in each life of the broker. */
  readonly coordinatorEpoch: number
  /** Longer transaction timeouts are refused. */
  readonly timeoutMaxMs: number
  /** Of transactions that the broker aborts by itself; and which version clients are told of. */
  readonly transactionVersion: number
}

/** An InitProducerId request with a transactional id. */
export interface InitializeRequest {
  readonly timeoutMs: number
  /** The producer that wants a newer epoch of its own; undefined for a new one. */
  readonly expected: ProducerIdentity | undefined
}

export class TransactionCoordinator {
  readonly #options: TransactionCoordinatorOptions
  /** By transactional id: what ends transactions that take too long, or tries markers again. */
  readonly #timers = new Map<string, Timer>()

  constructor(options: TransactionCoordinatorOptions) {
    this.#options = options
  }

  /** Goes on where the last life of the broker stopped. */
  start(): void {
    for (const [transactionalId, facts] of this.#store.all()) {
      if (isBeingEnded(facts)) this.#complete(transactionalId, facts)
      else if (facts.state === 'Ongoing') this.#startTimeout(transactionalId, facts)
    }
    this.#abortUnknown()
  }

  /** All transactional ids. */
  all(): ReadonlyMap<string, TransactionFacts> {
    return this.#store.all()
  }

  get(transactionalId: string): TransactionFacts | undefined {
    return this.#store.get(transactionalId)
  }

  /**
   * Gives a producer id and epoch, and fences whoever had the transactional id. A transaction of that
   * one is aborted first; the producer asks again then.
   */
  initialize(
    transactionalId: string,
    { timeoutMs, expected }: InitializeRequest,
  ): ProducerIdentity | KafkaErrorName {
    const { clock, newProducerId } = this.#options
    if (transactionalId === '') return 'INVALID_REQUEST'
    if (timeoutMs <= 0 || timeoutMs > this.#options.timeoutMaxMs)
      return 'INVALID_TRANSACTION_TIMEOUT'
    return orNotCoordinator(() => {
      const nowMs = clock.now()
      const known = this.#store.get(transactionalId)
      if (known === undefined && !this.#makeRoom()) return 'COORDINATOR_NOT_AVAILABLE'
      const facts = known ?? newTransaction(newProducerId(), nowMs)
      if (expected !== undefined && !isKnownProducer(facts, expected)) return 'PRODUCER_FENCED'
      if (isBeingEnded(facts)) return 'CONCURRENT_TRANSACTIONS'
      if (facts.state === 'Ongoing') {
        this.#fence(transactionalId, facts)
        return 'CONCURRENT_TRANSACTIONS'
      }
      const next = initialized(facts, { timeoutMs, expected, nowMs, newProducerId })
      if (next === 'PRODUCER_FENCED') return next
      this.#store.set(transactionalId, next)
      return next
    })
  }

  /** Makes partitions part of a transaction, which begins by that. */
  addPartitions(
    transactionalId: string,
    producer: ProducerIdentity,
    partitions: readonly TopicPartition[],
  ): KafkaErrorName {
    return orNotCoordinator(() => {
      const facts = this.#admit(transactionalId, producer)
      if (typeof facts === 'string') return facts
      if (facts.state === 'Ongoing' && facts.partitions.hasAll(partitions)) return 'NONE'
      const next = withPartitions(facts, partitions, this.#options.clock.now())
      this.#store.set(transactionalId, next)
      if (facts.state !== 'Ongoing') this.#startTimeout(transactionalId, next)
      return 'NONE'
    })
  }

  /** Why a producer may not write to a partition; `NONE` when it is part of its transaction. */
  verify(
    transactionalId: string,
    producer: ProducerIdentity,
    partition: TopicPartition,
  ): KafkaErrorName {
    const facts = this.#admit(transactionalId, producer)
    if (typeof facts === 'string') return facts
    return facts.partitions.has(partition) ? 'NONE' : 'TRANSACTION_ABORTABLE'
  }

  /** Commits or aborts; the identity is that with which the producer goes on. */
  end(
    transactionalId: string,
    producer: ProducerIdentity,
    how: { type: 'commit' | 'abort'; clientVersion: number },
  ): ProducerIdentity | KafkaErrorName {
    if (transactionalId === '') return 'INVALID_REQUEST'
    return orNotCoordinator(() => {
      const facts = this.#store.get(transactionalId)
      if (facts === undefined) return 'INVALID_PRODUCER_ID_MAPPING'
      const verdict = endVerdict(facts, producer, how)
      if (verdict === 'repeated') return facts
      if (verdict !== 'prepare') return verdict
      const { clock, newProducerId } = this.#options
      const next = prepared(facts, { ...how, nowMs: clock.now(), newProducerId })
      return nextIdentity(this.#end(transactionalId, next))
    })
  }

  /** Nothing is ended any more: what is under way goes on in the next life. */
  close(): void {
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
  }

  get #store(): TransactionStore {
    return this.#options.store
  }

  /**
   * The facts when this producer may change its transaction now. While a transaction is being ended its
   * producer may have been told of a new id already: it has to come again, and is not fenced.
   */
  #admit(transactionalId: string, producer: ProducerIdentity): TransactionFacts | KafkaErrorName {
    if (transactionalId === '') return 'INVALID_REQUEST'
    const facts = this.#store.get(transactionalId)
    if (facts === undefined) return 'INVALID_PRODUCER_ID_MAPPING'
    if (isBeingEnded(facts)) return 'CONCURRENT_TRANSACTIONS'
    if (facts.producerId !== producer.producerId) return 'INVALID_PRODUCER_ID_MAPPING'
    return facts.producerEpoch === producer.producerEpoch ? facts : 'PRODUCER_FENCED'
  }

  /** Aborts a transaction that is ongoing, and keeps its producer out. */
  #fence(transactionalId: string, facts: TransactionFacts): void {
    const { clock, newProducerId, transactionVersion: clientVersion } = this.#options
    this.#end(transactionalId, fenced(facts, { clientVersion, nowMs: clock.now(), newProducerId }))
  }

  /** Writes down how the transaction ends, and ends it; returns what it stands at. */
  #end(transactionalId: string, facts: TransactionFacts): TransactionFacts {
    this.#store.set(transactionalId, facts)
    return this.#complete(transactionalId, facts)
  }

  /** Writes the markers; when all are there, the transaction is complete. */
  #complete(transactionalId: string, facts: TransactionFacts): TransactionFacts {
    const { clock, log, coordinatorEpoch } = this.#options
    const { producerId, producerEpoch, state } = facts
    const type = state === 'PrepareCommit' ? 'commit' : 'abort'
    this.#stopTimer(transactionalId)
    try {
      for (const partition of facts.partitions)
        this.#writeMarker(partition, { type, producerId, producerEpoch, coordinatorEpoch })
      const done = completed(facts, clock.now())
      this.#store.set(transactionalId, done)
      return done
    } catch (error) {
      if (!isStreamsError(error)) throw error
      // Markers that are there already are written again with the others: that changes nothing.
      log.error('ending a transaction failed', { transactionalId, detail: messageOf(error) })
      this.#setTimer(transactionalId, retryMs, () => this.#complete(transactionalId, facts))
      return facts
    }
  }

  /** A partition that was deleted needs no marker. */
  #writeMarker({ topic, partition }: TopicPartition, marker: TransactionMarker): void {
    if (topic === offsetsPartition.topic) this.#options.offsets.endTransaction(marker)
    else this.#options.topics.partition(topic, partition)?.appendMarker(marker)
  }

  #startTimeout(transactionalId: string, { startedAtMs, timeoutMs }: TransactionFacts): void {
    const waitMs = Math.max(0, startedAtMs + timeoutMs - this.#options.clock.now())
    this.#setTimer(transactionalId, waitMs, () => this.#timeOut(transactionalId))
  }

  #timeOut(transactionalId: string): void {
    const { log } = this.#options
    const facts = this.#store.get(transactionalId)
    if (facts === undefined || facts.state !== 'Ongoing') return
    log.info('aborts a transaction that took too long', {
      transactionalId,
      timeoutMs: facts.timeoutMs,
    })
    const outcome = orRefusal(() => this.#fence(transactionalId, facts))
    if (outcome instanceof Refusal)
      this.#setTimer(transactionalId, retryMs, () => this.#timeOut(transactionalId))
  }

  #setTimer(transactionalId: string, waitMs: number, callback: () => void): void {
    this.#stopTimer(transactionalId)
    this.#timers.set(transactionalId, this.#options.clock.setTimer(waitMs, callback))
  }

  #stopTimer(transactionalId: string): void {
    this.#timers.get(transactionalId)?.cancel()
    this.#timers.delete(transactionalId)
  }

  /** With too many ids, one that is idle makes room: its producer, if it lives, has to begin anew. */
  #makeRoom(): boolean {
    if (this.#store.size < transactionalIdsMax) return true
    for (const [transactionalId, facts] of this.#store.all()) {
      if (facts.state === 'Ongoing' || isBeingEnded(facts)) continue
      this.#store.delete(transactionalId)
      return true
    }
    return false
  }

  /**
   * Aborts, in the logs, what is open there and known to nobody: a crash of the machine may take the
   * end of our log away and leave the records. Nobody could read beyond them.
   */
  #abortUnknown(): void {
    const byProducer = new Map(
      [...this.#store.all().values()].map((facts) => [facts.producerId, facts]),
    )
    for (const { partition, log } of this.#logs()) {
      for (const producerId of log.transactions.open.keys()) {
        const facts = byProducer.get(producerId)
        const isOurs = facts !== undefined && (facts.state === 'Ongoing' || isBeingEnded(facts))
        if (isOurs && facts.partitions.has(partition)) continue
        this.#options.log.warn('aborts a transaction that is known to nobody', {
          ...partition,
          producerId,
        })
        this.#writeMarker(partition, {
          type: 'abort',
          producerId,
          producerEpoch: log.producers.epochOf(producerId) ?? 0,
          coordinatorEpoch: this.#options.coordinatorEpoch,
        })
      }
    }
  }

  *#logs(): Generator<{ partition: TopicPartition; log: PartitionLog }> {
    yield { partition: offsetsPartition, log: this.#options.offsets.log }
    for (const { name: topic, partitions } of this.#options.topics.all())
      for (const [partition, log] of partitions.entries())
        yield { partition: { topic, partition }, log }
  }
}

function isBeingEnded({ state }: TransactionFacts): boolean {
  return state === 'PrepareCommit' || state === 'PrepareAbort'
}

/** The disk of the coordinator is no business of the client: it is to look for another one. */
function orNotCoordinator<T>(work: () => T | KafkaErrorName): T | KafkaErrorName {
  const outcome = orRefusal(work)
  return outcome instanceof Refusal ? 'NOT_COORDINATOR' : outcome
}
