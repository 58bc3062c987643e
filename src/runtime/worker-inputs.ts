import { Fetcher, type FetchStart } from '../client/fetcher.ts'
import type { Isolation } from '../client/isolation.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { PartitionKey } from '../client/offsets.ts'
import { partitionKey } from '../client/offsets.ts'
import type { TopicPartition } from '../client/topic-metadata.ts'
import { StreamsError } from '../errors.ts'
import type { CommittedOffset, TaskInput } from '../task/task.ts'
import type { TaskManager } from '../task/task-manager.ts'
import type { OffsetReset } from '../topology/offset-reset.ts'

export interface WorkerInputsOptions {
  readonly client: KafkaClient
  readonly isolation: Isolation
  /** Records of a partition that wait for their task; above it the partition is paused. */
  readonly bufferedRecordsMax: number
  /** Where to begin in a topic for which the group has no offset, and its source states nothing. */
  readonly offsetReset: OffsetReset
  /** Repartition topics: nobody may skip what the application itself has written there. */
  readonly isInternal: (topic: string) => boolean
}

/** From the brokers into the queues of the tasks, no faster than the tasks go. */
export class WorkerInputs {
  readonly #options: WorkerInputsOptions
  readonly #fetcher: Fetcher
  /** Paused because their queues are full. */
  readonly #full = new Map<PartitionKey, TopicPartition>()

  constructor(options: WorkerInputsOptions) {
    this.#options = options
    const { client, isolation } = options
    this.#fetcher = new Fetcher(client, { isolation })
  }

  /**
   * Begins to fetch inputs of a restored task, from where the group has committed. Throws `OFFSET_MISSING`
   * where it has not, and its source allows no other start.
   */
  add(inputs: readonly TaskInput[], committed: readonly CommittedOffset[]): void {
    const known = new Map(
      committed.map((commit) => [partitionKey(commit.topic, commit.partition), commit]),
    )
    this.#fetcher.assign(
      inputs.map(({ topic, partition, offsetReset }) => {
        const reset = this.#options.isInternal(topic)
          ? 'earliest'
          : (offsetReset ?? this.#options.offsetReset)
        const commit = known.get(partitionKey(topic, partition))
        const offset = commit?.offset ?? this.#startOf(topic, partition, reset)
        const leaderEpoch = commit?.leaderEpoch ?? -1
        return { topic, partition, offset, leaderEpoch, offsetReset: reset }
      }),
    )
  }

  #startOf(topic: string, partition: number, reset: OffsetReset): FetchStart {
    if (reset === 'none') throw new StreamsError('OFFSET_MISSING', { topic, partition })
    if (typeof reset !== 'object') return reset
    return { time: this.#options.client.clock.now() - reset.byDuration }
  }

  /** Stops fetching these. */
  remove(inputs: readonly TopicPartition[]): void {
    this.#fetcher.unassign(inputs)
    for (const { topic, partition } of inputs) {
      this.#full.delete(partitionKey(topic, partition))
    }
  }

  /**
   * Hands what was fetched to the tasks, and pauses those partitions that have enough. Returns
   * whether there was anything. Throws what a partition was refused with for good.
   */
  take(tasks: TaskManager): boolean {
    const fetched = this.#fetcher.poll()
    for (const { topic, partition, records, startOffset, error } of fetched) {
      if (error !== undefined) throw error
      tasks.addRecords(topic, partition, records, startOffset)
      if (tasks.bufferedRecords(topic, partition) <= this.#options.bufferedRecordsMax) continue
      this.#full.set(partitionKey(topic, partition), { topic, partition })
      this.#fetcher.pause(topic, partition)
    }
    return fetched.length > 0
  }

  /** Goes on with partitions whose tasks have caught up. */
  resume(tasks: TaskManager): void {
    for (const [key, { topic, partition }] of this.#full) {
      if (tasks.bufferedRecords(topic, partition) > this.#options.bufferedRecordsMax) continue
      this.#full.delete(key)
      this.#fetcher.resume(topic, partition)
    }
  }

  /** Records that the broker has beyond those that were taken; undefined: not known yet. */
  lag(topic: string, partition: number): number | undefined {
    return this.#fetcher.lag(topic, partition)
  }

  /** Resolves when `take` has something, after `maxMs`, or on abort. */
  wait(maxMs: number, signal: AbortSignal): Promise<void> {
    return this.#fetcher.wait(maxMs, signal)
  }

  close(): Promise<void> {
    return this.#fetcher.close()
  }
}
