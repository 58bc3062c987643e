import type { Clock } from '../base/clock.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass, kafkaErrorName } from '../client/kafka-failure.ts'
import { commitOffsets } from '../client/offsets.ts'
import type { Producer } from '../client/producer.ts'
import type { TransactionManager } from '../client/transaction-manager.ts'
import { isStreamsError } from '../errors.ts'
import type { GroupIdentity, GroupMembership } from '../group/membership.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { CommittedOffset } from '../task/task.ts'
import type { TaskManager } from '../task/task-manager.ts'

/**
 * With so many bytes written to its stores a worker commits before the interval is over: they are in memory
 * until then, and where an engine takes a commit in one turn, heartbeats wait meanwhile.
 */
export const uncommittedBytesMax = 32 * 1024 * 1024

export interface WorkerCommitOptions {
  readonly client: KafkaClient
  readonly clock: Clock
  readonly membership: GroupMembership
  readonly metrics: StreamsMetrics
  readonly intervalMs: number
}

/** The parts that are made anew when a membership was lost. */
export interface CommitParts {
  readonly tasks: TaskManager
  readonly producer: Producer
  /** Given under exactly-once. */
  readonly transactions?: TransactionManager | undefined
}

interface PreparedCommit {
  readonly ids: readonly TaskId[]
  readonly offsets: readonly CommittedOffset[]
  readonly startedAt: number
  /** `end`: records and offsets are in the transaction, of which only the end is not known. */
  readonly outstanding: 'all' | 'end'
}

/**
 * Makes durable what tasks have done, in the one order that loses nothing:
 *
 *     flush the caches → flush the producer → commit the offsets → tell the stores
 *
 * The offsets come after the records that follow from them: a crash in between processes some records
 * again, while the other order would skip them. The stores come last: only then does the engine take
 * what it was given, so that it never holds more than was committed.
 *
 * Under exactly-once the records and the offsets are in a transaction, which decides about them together:
 *
 *     flush the caches → flush the producer → offsets into the transaction → commit it → tell the stores
 *
 * A transaction is of the whole worker, so all tasks are committed together. When the coordinator does
 * not say whether it was committed, it is asked again: until it is known nothing is told to the stores.
 *
 * A commit that was prepared is carried through. When the group is between two generations it waits
 * (`later`), and until it is done nothing of these tasks is processed.
 */
export class WorkerCommit {
  readonly #options: WorkerCommitOptions
  #prepared: PreparedCommit | undefined
  /** Who has committed last. */
  #member: GroupIdentity | undefined
  #lastAt: number

  constructor(options: WorkerCommitOptions) {
    this.#options = options
    this.#lastAt = options.clock.monotonic()
  }

  /** True while a prepared commit waits: nothing may be processed. */
  get isPending(): boolean {
    return this.#prepared !== undefined
  }

  /**
   * True when it is time for a commit: the interval is over, a task's code has asked for one, or what is not
   * committed has become much.
   */
  isDue({ tasks, transactions }: CommitParts): boolean {
    if (this.#prepared !== undefined || tasks.commitRequested) return true
    if (this.dueInMs > 0 && tasks.uncommittedBytes() < uncommittedBytesMax) return false
    // A transaction that was left open would end by its timeout, and we with it.
    return tasks.commitNeeded || transactions?.isOpen === true
  }

  /** Until the interval is over; 0: it is. */
  get dueInMs(): number {
    const { clock, intervalMs } = this.#options
    return Math.max(0, this.#lastAt + intervalMs - clock.monotonic())
  }

  /**
   * Commits these tasks (default: all), after what is pending. `later`: the same must be called
   * again. Throws `TASK_MIGRATED` when this member was replaced, `TRANSACTION_ABORTED`,
   * `DELIVERY_FAILED`, what the user's code throws when caches are flushed, and what the coordinator
   * refuses for good. Under exactly-once `ids` must be all tasks that have worked.
   */
  async run(parts: CommitParts, ids?: readonly TaskId[]): Promise<'done' | 'later'> {
    if (this.#prepared !== undefined) {
      const outcome = await this.settle(parts)
      if (outcome === 'later' || ids === undefined) return outcome
    }
    this.#prepared = {
      outstanding: 'all',
      startedAt: this.#options.clock.monotonic(),
      ids: ids ?? [...parts.tasks.tasks.keys()],
      offsets: parts.tasks.prepareCommit(ids),
    }
    return this.#carryThrough(parts, this.#prepared)
  }

  /**
   * Carries through what is pending, if anything is. Before tasks do something that is not theirs to be
   * told as committed with it: closing code may write to stores and send records. Throws as `run`.
   */
  async settle(parts: CommitParts): Promise<'done' | 'later'> {
    return this.#prepared === undefined ? 'done' : this.#carryThrough(parts, this.#prepared)
  }

  /** Forgets what was prepared: the tasks are given up. */
  abandon(): void {
    this.#prepared = undefined
    this.#member = undefined
  }

  async #carryThrough(
    { tasks, producer, transactions }: CommitParts,
    prepared: PreparedCommit,
  ): Promise<'done' | 'later'> {
    const { clock, metrics } = this.#options
    const { ids, offsets, startedAt, outstanding } = prepared
    if (outstanding === 'all') {
      await producer.flush()
      // Records that the brokers refused may have left dead letters meanwhile.
      if (producer.queuedBytes > 0) await producer.flush()
      if (offsets.length > 0) {
        if ((await this.#commitOffsets(prepared, transactions)) === 'later') return 'later'
      }
      // From here on only the end is asked for again. What is sent by then belongs to the next
      // transaction: to flush it would wait for this one, and this one for the flush.
      this.#prepared = { ...prepared, outstanding: 'end' }
    }
    if ((await this.#commitTransaction(transactions)) === 'later') return 'later'
    this.#prepared = undefined
    this.#lastAt = clock.monotonic()
    tasks.committed(ids.filter((id) => tasks.tasks.has(id)))
    metrics.commits.add(1)
    metrics.commitSeconds.observe((this.#lastAt - startedAt) / 1000)
    return 'done'
  }

  async #commitTransaction(
    transactions: TransactionManager | undefined,
  ): Promise<'done' | 'later'> {
    try {
      await transactions?.commit()
      return 'done'
    } catch (error) {
      if (canPass(error)) return 'later'
      throw error
    }
  }

  async #commitOffsets(
    prepared: PreparedCommit,
    transactions: TransactionManager | undefined,
  ): Promise<'done' | 'later'> {
    const { client, membership } = this.#options
    const { offsets } = prepared
    this.#member = membership.identity() ?? this.#member
    // While the others are waited for to join the next generation, the last one still counts, and the
    // coordinator knows when it does not. A transaction uses that: it must not stay open for so long.
    const identity = transactions === undefined ? membership.identity() : this.#member
    if (identity === undefined) return 'later'
    try {
      if (transactions === undefined) await commitOffsets(client, identity, offsets)
      else await transactions.commitOffsets(identity, offsets)
      return 'done'
    } catch (error) {
      if (kafkaErrorName(error) === 'UNKNOWN_TOPIC_OR_PARTITION') {
        return this.#commitExisting(prepared, transactions)
      }
      if (kafkaErrorName(error) === 'REBALANCE_IN_PROGRESS' || canPass(error)) return 'later'
      // A rebalance overtook the request: it was refused for its old generation, and the member is
      // as good as before. If it is not, it hears that from the coordinator itself.
      const isOvertaken = !isSame(identity, membership.identity())
      if (isStreamsError(error, 'TASK_MIGRATED') && isOvertaken) return 'later'
      throw error
    }
  }

  /**
   * The coordinator does not know some topic. It was deleted only if the cluster says so when it is
   * asked anew: then nobody will ask for its offset, and the others are committed without it.
   */
  async #commitExisting(
    prepared: PreparedCommit,
    transactions: TransactionManager | undefined,
  ): Promise<'done' | 'later'> {
    const { offsets } = prepared
    const topics = [...new Set(offsets.map(({ topic }) => topic))]
    let known: ReadonlyMap<string, unknown>
    try {
      known = await this.#options.client.topicMetadata(topics, { fresh: true })
    } catch (error) {
      if (canPass(error)) return 'later'
      throw error
    }
    const existing = offsets.filter(({ topic }) => known.has(topic))
    if (existing.length === offsets.length) return 'later'
    this.#prepared = { ...prepared, offsets: existing }
    return this.#commitOffsets(this.#prepared, transactions)
  }
}

function isSame(before: GroupIdentity, now: GroupIdentity | undefined): boolean {
  return before.memberId === now?.memberId && before.generation === now.generation
}
