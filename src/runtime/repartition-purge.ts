import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Admin } from '../client/admin.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { messageOf } from '../errors.ts'
import type { TaskManager } from '../task/task-manager.ts'

/** Java: repartition.purge.interval.ms. */
const purgeIntervalMs = 30_000

/** How long one purge is tried; the next one does what it could not. */
const purgeTimeoutMs = 10_000

export interface RepartitionPurgeOptions {
  readonly client: KafkaClient
  readonly clock: Clock
  readonly log: Log
  readonly isRepartition: (topic: string) => boolean
}

/**
 * Deletes from repartition topics what has been processed: they have no retention of their own, so
 * that nothing is lost while the application is down, and would otherwise grow for ever.
 */
export class RepartitionPurge {
  readonly #options: RepartitionPurgeOptions
  readonly #admin: Admin
  readonly #ended = new AbortController()
  #lastAt: number
  #running: Promise<void> | undefined

  constructor(options: RepartitionPurgeOptions) {
    this.#options = options
    this.#admin = new Admin(options.client)
    this.#lastAt = options.clock.monotonic()
  }

  /** To be called right after a commit of all tasks: their positions are what was committed. */
  afterCommit(tasks: TaskManager): void {
    const { clock, isRepartition } = this.#options
    const now = clock.monotonic()
    if (this.#running !== undefined || now < this.#lastAt + purgeIntervalMs) return
    this.#lastAt = now
    const offsets: { topic: string; partition: number; offset: number }[] = []
    for (const task of tasks.tasks.values()) {
      for (const { topic, partition } of task.inputs) {
        const offset = isRepartition(topic) ? task.position(topic, partition) : undefined
        if (offset !== undefined && offset > 0) offsets.push({ topic, partition, offset })
      }
    }
    if (offsets.length > 0) {
      this.#running = this.#purge(offsets).finally(() => {
        this.#running = undefined
      })
    }
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await this.#running
  }

  async #purge(
    offsets: readonly { topic: string; partition: number; offset: number }[],
  ): Promise<void> {
    const { signal } = this.#ended
    try {
      await this.#admin.deleteRecords(offsets, { timeoutMs: purgeTimeoutMs, signal })
    } catch (error) {
      if (signal.aborted) return
      this.#options.log.warn('processed records of repartition topics were not deleted', {
        error: messageOf(error),
      })
    }
  }
}
