import { assert } from '../base/assert.ts'
import { isStreamsError, messageOf, StreamsError } from '../errors.ts'
import { eitherSignal, lifeController } from './deadline.ts'
import type { KafkaClient } from './kafka-client.ts'
import { canPass, kafkaErrorName } from './kafka-failure.ts'
import {
  partitionKey,
  type CommittedOffset,
  type OffsetCommitIdentity,
  type PartitionKey,
} from './offsets.ts'
import type { InitializeOptions, ProducerIdentity, ProducerSession } from './producer-session.ts'
import type { TopicPartition } from './topic-metadata.ts'
import {
  produceVersionMax,
  TransactionCoordinator,
  type TransactionRequestOptions,
  type TransactionVersion,
} from './transaction-coordinator.ts'
import { isOfMember } from './transaction-failure.ts'

export type { TransactionRequestOptions } from './transaction-coordinator.ts'

/** What a {@link TransactionManager} is made of. */
export interface TransactionManagerOptions {
  /** Whoever is initialized with it last fences all before. Java: transactional.id. */
  readonly transactionalId: string
  /** A transaction that is open for longer is aborted by its coordinator. Java: transaction.timeout.ms. */
  readonly timeoutMs: number
}

/**
 * The transactions of one transactional id, one after the other, for a Producer that is made with it
 * (org.apache.kafka.clients.producer.internals.TransactionManager).
 *
 *     initialize → [ records → flush → commitOffsets → commit ] → [ … ]
 *
 * A transaction begins by itself with the first record or offset. It is committed, or given up with
 * all that comes after: `close` has it aborted, and a new manager begins again from the last commit.
 *
 * Every call is tried again while that can help, until its timeout. What fails then and can pass may be
 * called again; in particular `commit`, of which nobody knows then whether it was done. What cannot
 * pass rejects with `TASK_MIGRATED` (somebody else has the transactional id, or the place in the group),
 * `TRANSACTION_ABORTED` (nothing of it counts) or `KAFKA_ERROR`.
 *
 * @example
 * const transactions = new TransactionManager(client, { transactionalId: 'copy-1', timeoutMs: 10_000 })
 * const producer = new Producer(client, { session: transactions })
 * await transactions.initialize()
 * producer.send('copies', 0, key, value, timestamp, [])
 * await producer.flush()
 * await transactions.commitOffsets(member, [{ topic: 'originals', partition: 0, offset: 1 }])
 * await transactions.commit()
 */
export class TransactionManager implements ProducerSession, AsyncDisposable {
  readonly transactionalId: string
  listener: (() => void) | undefined
  readonly #client: KafkaClient
  readonly #coordinator: TransactionCoordinator
  readonly #timeoutMs: number
  #identity: ProducerIdentity | undefined
  #version: TransactionVersion = 1
  #initializing: Promise<void> | undefined
  #failure: StreamsError | undefined
  /** The coordinator may know of a transaction. */
  #isOpen = false
  /**
   * Its end was asked for, and is not known. What is written then is of nobody: the coordinator has closed
   * the transaction, so that no marker would ever come for it and readers would wait behind it for ever; or
   * it has not, and takes a record without the offsets that it follows from. So the producer waits.
   */
  #isEnding = false
  /** In the transaction: only these may be written. As the next three, of the first protocol only. */
  readonly #added = new Set<PartitionKey>()
  readonly #wanted = new Map<PartitionKey, TopicPartition>()
  #adding: Promise<void> | undefined
  readonly #groups = new Set<string>()
  readonly #life = lifeController()

  constructor(client: KafkaClient, options: TransactionManagerOptions) {
    const { transactionalId, timeoutMs } = options
    this.#client = client
    this.#coordinator = new TransactionCoordinator(client, transactionalId)
    this.transactionalId = transactionalId
    this.#timeoutMs = timeoutMs
  }

  get identity(): ProducerIdentity | undefined {
    return this.#identity
  }

  get produceVersionMax(): number | undefined {
    return produceVersionMax(this.#version)
  }

  get failure(): StreamsError | undefined {
    return this.#failure
  }

  /** True: something was written, or committed, that is not decided on yet. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * Takes the transactional id over: whoever had it is fenced, and what was open under it is aborted when
   * this returns. Called again it does nothing. Rejects with `CONFIG_INVALID` for a timeout that is above
   * the broker's limit, and as all calls.
   */
  async initialize({ deadlineMs, signal }: InitializeOptions = {}): Promise<void> {
    if (this.#identity !== undefined) return
    this.#initializing ??= this.#initialize().finally(() => {
      this.#initializing = undefined
    })
    const retry = this.#client.retry('InitProducerId', {
      ...(deadlineMs !== undefined && { deadlineMs }),
      ...(signal && { signal }),
    })
    await retry.within(this.#initializing)
  }

  async #initialize(): Promise<void> {
    const { signal } = this.#life
    const identity = await this.#coordinator.initProducerId(this.#timeoutMs, { signal })
    this.#version = await this.#coordinator.version({ signal })
    this.#identity = identity
  }

  mayWriteTo({ topic, partition }: TopicPartition): boolean {
    if (this.#isEnding) return false
    if (this.#version === 2) {
      this.#isOpen = true
      return true
    }
    const key = partitionKey(topic, partition)
    if (this.#added.has(key)) return true
    this.#wanted.set(key, { topic, partition })
    // Once for all that are asked about in this turn.
    this.#adding ??= Promise.resolve().then(() => this.#addWanted())
    return false
  }

  /** Adds what is wanted, and what is wanted meanwhile. Never rejects. */
  async #addWanted(): Promise<void> {
    const { signal } = this.#life
    try {
      while (this.#wanted.size > 0 && this.#failure === undefined) {
        const wanted = new Map(this.#wanted)
        this.#wanted.clear()
        this.#isOpen = true
        await this.#coordinator.addPartitions(this.#known(), [...wanted.values()], { signal })
        for (const key of wanted.keys()) this.#added.add(key)
        this.listener?.()
      }
    } catch (error) {
      if (!(error instanceof StreamsError)) throw error
      // Those who wait for it could not tell whether it was done.
      this.#failure ??= error
      this.listener?.()
    } finally {
      this.#adding = undefined
    }
  }

  /**
   * Makes offsets of a group part of the transaction; returns when they are stored, to be valid once it is
   * committed. Rejects with `TASK_MIGRATED` when this member was replaced, and with `KAFKA_ERROR` of
   * `UNKNOWN_TOPIC_OR_PARTITION` when a topic was deleted (the others are stored): after these two the
   * transaction is as good as before. Needs brokers of Kafka 2.5 or newer.
   */
  async commitOffsets(
    member: OffsetCommitIdentity,
    offsets: readonly CommittedOffset[],
    options: TransactionRequestOptions = {},
  ): Promise<void> {
    if (offsets.length === 0) return
    const identity = this.#known()
    const version = this.#version
    await this.#step(options, async (request) => {
      assert(!this.#isEnding, 'a transaction whose end was asked for takes no offsets')
      this.#isOpen = true
      if (version === 1 && !this.#groups.has(member.groupId)) {
        await this.#coordinator.addGroup(identity, member.groupId, request)
        this.#groups.add(member.groupId)
      }
      await this.#coordinator.commitOffsets(identity, member, offsets, { ...request, version })
    })
  }

  /**
   * Commits what was written and the offsets, together, when the coordinator has decided so; without a
   * transaction it returns at once. Flush the producer first: what is sent from here on waits until the end
   * is known, and belongs to the next transaction.
   */
  async commit(options: TransactionRequestOptions = {}): Promise<void> {
    const version = this.#version
    await this.#step(options, async (request) => {
      // Also before it is initialized: a worker may have to end before it could begin.
      if (!this.#isOpen && this.#adding === undefined) return
      this.#isEnding = true
      // What was wanted by a record that is not to be written any more belongs to this transaction too.
      await this.#adding
      if (this.#failure !== undefined) throw this.#failure
      this.#identity = await this.#coordinator.commit(this.#known(), { ...request, version })
      this.#isOpen = false
      this.#isEnding = false
      this.#added.clear()
      this.#groups.clear()
      this.listener?.()
    })
  }

  /**
   * Ends what is under way, and has an open transaction aborted, by a new epoch: that keeps out as well
   * what is on its way to the brokers still. Never rejects. Idempotent.
   */
  async close(): Promise<void> {
    if (this.#life.signal.aborted) return
    this.#life.abort()
    await Promise.all([this.#adding, this.#initializing?.catch(() => undefined)])
    if (!this.#isOpen || isStreamsError(this.#failure, 'TASK_MIGRATED')) return
    try {
      await this.#coordinator.abandon(this.#timeoutMs)
    } catch (error) {
      const { transactionalId } = this
      this.#client.log.debug('An open transaction is left to its timeout', {
        transactionalId,
        error: messageOf(error),
      })
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** One step of the transaction, unless it has failed; what cannot pass fails it for good. */
  async #step(
    options: TransactionRequestOptions,
    run: (request: TransactionRequestOptions) => Promise<void>,
  ): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    using either = eitherSignal(this.#life.signal, options.signal)
    try {
      await run({ ...options, signal: either.signal })
    } catch (error) {
      const isHarmless =
        canPass(error) ||
        isOfMember(error) ||
        isStreamsError(error, 'ABORTED') ||
        kafkaErrorName(error) === 'UNKNOWN_TOPIC_OR_PARTITION'
      if (error instanceof StreamsError && !isHarmless) {
        this.#failure ??= error
        // Nobody else would tell what waits for this transaction to end.
        this.listener?.()
      }
      throw error
    }
  }

  #known(): ProducerIdentity {
    assert(this.#identity !== undefined, 'transactions are initialized before they are used')
    return this.#identity
  }
}
