import { sleep, type Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Fetcher, type FetchedRecords } from '../client/fetcher.ts'
import type { Isolation } from '../client/isolation.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass } from '../client/kafka-failure.ts'
import { listOffsets, partitionKey, type PartitionKey } from '../client/offsets.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { Gauge } from '../metrics/registry.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { StreamTask } from '../task/stream-task.ts'
import type { TaskChangelog } from '../task/task.ts'
import { changelogFailure } from './changelog-failure.ts'

/** One step of a restore. Java's StateRestoreListener. */
export interface RestoreProgress {
  /** `start`, after each `batch`, at the `end`, or `suspended` when the task went elsewhere first. */
  readonly phase: 'start' | 'batch' | 'end' | 'suspended'
  readonly store: string
  readonly taskId: TaskId
  readonly topic: string
  readonly partition: number
  /** The next changelog offset to restore. */
  readonly offset: number
  /** The changelog offset at which the store is up to date. */
  readonly endOffset: number
  /** Records applied so far. */
  readonly restored: number
}

/** How far one store has to go. */
export interface RestoreLag {
  readonly store: string
  readonly offset: number
  /** Undefined: the end of the changelog is not known yet. */
  readonly endOffset: number | undefined
}

export interface ChangelogReaderOptions {
  readonly client: KafkaClient
  readonly clock: Clock
  /**
   * `read_committed`: what was aborted is not restored. A restore still goes to the end of the log: it
   * waits for transactions that are open, since an earlier owner may be about to commit one.
   */
  readonly isolation: Isolation
  readonly log: Log
  readonly remaining: Gauge
  readonly onProgress: (progress: RestoreProgress) => void
  /** Something can be done: `step` is worth a call. */
  readonly wake: () => void
}

/** Small enough that one of them is applied in few milliseconds. */
const partitionFetchBytes = 256 * 1024

/** Wait before the end of a changelog is asked for again. */
const retryMs = 1000

interface Restore {
  readonly task: StreamTask
  readonly changelog: TaskChangelog
  /** Undefined until the brokers have said it. */
  endOffset: number | undefined
  hasStarted: boolean
  restored: number
}

/**
 * Restores stores from their changelogs, in the background, while other tasks process. Java's
 * StoreChangelogReader.
 *
 * Everything is counted by offset, never by record: a compacted changelog has far fewer records than
 * offsets, the last offset may be a transaction marker, and an empty topic has none at all. A store
 * is up to date when its position reaches the end that the changelog had when the restore began:
 * nobody but the owner of the task writes there. A table that uses the topic that it reads as its
 * changelog is restored as far as the group has committed.
 */
export class ChangelogReader {
  readonly #options: ChangelogReaderOptions
  readonly #fetcher: Fetcher
  readonly #restores = new Map<PartitionKey, Restore>()
  /** Tasks with restores, or about to be told that they have none. */
  readonly #tasks = new Set<StreamTask>()
  /** Fetched, and not applied yet: what waits for stores that have to write first, or for the next step. */
  #fetched: FetchedRecords[] = []
  readonly #lookups = new Set<Promise<void>>()
  readonly #ended = new AbortController()
  #failure: unknown

  constructor(options: ChangelogReaderOptions) {
    this.#options = options
    const { client, isolation } = options
    this.#fetcher = new Fetcher(client, { isolation, maxPartitionFetchBytes: partitionFetchBytes })
  }

  get isIdle(): boolean {
    return this.#tasks.size === 0
  }

  /** True: something was fetched and is not applied yet. */
  get hasFetched(): boolean {
    return this.#fetched.length > 0
  }

  /** True: a restore has read all there is, and an open transaction keeps the rest from it. */
  get isHeldUp(): boolean {
    for (const { changelog, endOffset, hasStarted } of this.#restores.values()) {
      if (!hasStarted || endOffset === undefined) continue
      const { topic, partition } = changelog
      const readableEnd = this.#fetcher.readableEnd(topic, partition)
      if (readableEnd === undefined || readableEnd >= endOffset) continue
      if ((this.#fetcher.position(topic, partition) ?? -1) >= readableEnd) return true
    }
    return false
  }

  /** Begins to restore an initialized task. */
  add(task: StreamTask): void {
    this.#tasks.add(task)
    const added = task.changelogs.map((changelog): Restore => {
      const restore = { task, changelog, endOffset: undefined, hasStarted: false, restored: 0 }
      this.#restores.set(partitionKey(changelog.topic, changelog.partition), restore)
      return restore
    })
    if (added.length === 0) return
    const lookup = this.#findEnds(added).finally(() => this.#lookups.delete(lookup))
    this.#lookups.add(lookup)
  }

  /** Stops restoring a task; nothing happens when it is not being restored. */
  remove(id: TaskId): void {
    for (const task of this.#tasks) if (task.id === id) this.#tasks.delete(task)
    for (const [key, restore] of this.#restores) {
      if (restore.task.id !== id) continue
      this.#drop(key, restore)
      if (restore.hasStarted) this.#report('suspended', restore)
    }
    this.#measure()
  }

  /**
   * Applies what was fetched until the deadline (of the monotonic clock). Returns the tasks that
   * are restored. Throws `TASK_CORRUPTED` (with `context.task`) when a store does not fit its
   * changelog, and what the cluster refuses for good.
   */
  step(deadline: number): StreamTask[] {
    if (this.#failure !== undefined) throw this.#failure
    if (this.isIdle) return []
    this.#start()
    if (!this.#fetched.some((fetched) => !this.#isFull(fetched))) this.#poll()
    this.#applyUntil(deadline)
    const done = this.#finish()
    this.#measure()
    return done
  }

  #applyUntil(deadline: number): void {
    const fetched = this.#fetched
    this.#fetched = []
    let isOver = false
    for (const one of fetched) {
      if (isOver || this.#isFull(one)) this.#fetched.push(one)
      else {
        this.#apply(one)
        isOver = this.#options.clock.monotonic() >= deadline
      }
    }
  }

  #isFull({ topic, partition }: FetchedRecords): boolean {
    const restore = this.#restores.get(partitionKey(topic, partition))
    return restore?.task.isRestoreFull(restore.changelog) === true
  }

  #poll(): void {
    this.#regulate()
    this.#fetched.push(...this.#fetcher.poll())
  }

  /** Nothing comes for stores that have to write first. */
  #regulate(): void {
    for (const { task, changelog } of this.#restores.values()) {
      const { topic, partition } = changelog
      if (task.isRestoreFull(changelog)) this.#fetcher.pause(topic, partition)
      else this.#fetcher.resume(topic, partition)
    }
  }

  /** Resolves when `step` has something to do, after `maxMs`, or on abort. */
  wait(maxMs: number, signal: AbortSignal): Promise<void> {
    this.#regulate()
    return this.#fetcher.wait(maxMs, signal)
  }

  /** True: the task is here, and not all of its stores are restored. */
  restores(id: TaskId): boolean {
    for (const task of this.#tasks) if (task.id === id) return true
    return false
  }

  /** How far the stores of a task have to go; empty when it is not being restored. */
  lags(id: TaskId): RestoreLag[] {
    return [...this.#restores.values()]
      .filter(({ task }) => task.id === id)
      .map(({ changelog, endOffset }) => {
        return { store: changelog.store, offset: changelog.position, endOffset }
      })
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await Promise.all([this.#fetcher.close(), ...this.#lookups])
  }

  async #findEnds(restores: readonly Restore[]): Promise<void> {
    const { client, clock, log, wake } = this.#options
    const { signal } = this.#ended
    const partitions = restores.map(({ changelog: { topic, partition } }) => ({ topic, partition }))
    while (!signal.aborted && restores.some((restore) => this.#isCurrent(restore))) {
      try {
        const ends = await listOffsets(client, partitions, 'latest', { signal })
        for (const restore of restores) {
          const { topic, partition, limit = Infinity } = restore.changelog
          const end = ends.get(partitionKey(topic, partition))
          restore.endOffset = end === undefined ? undefined : Math.min(end, limit)
        }
        break
      } catch (error) {
        if (signal.aborted) return
        if (!canPass(error)) {
          this.#failure = error
          break
        }
        log.warn('the ends of changelogs are not known yet', { error: messageOf(error) })
        await sleep(clock, retryMs, signal)
      }
    }
    wake()
  }

  #isCurrent({ changelog: { topic, partition }, task }: Restore): boolean {
    return this.#restores.get(partitionKey(topic, partition))?.task === task
  }

  /** Begins to fetch for those whose end has become known. */
  #start(): void {
    for (const restore of this.#restores.values()) {
      const { changelog, endOffset, hasStarted, task } = restore
      if (hasStarted || endOffset === undefined) continue
      const { topic, partition, position } = changelog
      if (position > endOffset) {
        throw new StreamsError('TASK_CORRUPTED', {
          task: task.id,
          store: changelog.store,
          detail: `the store is at offset ${position}, and ${topic}-${partition} ends at ${endOffset}`,
        })
      }
      restore.hasStarted = true
      this.#report('start', restore)
      if (position === endOffset) continue
      this.#fetcher.assign([{ topic, partition, offset: position === 0 ? 'earliest' : position }])
    }
  }

  #apply({ topic, partition, records, error }: FetchedRecords): void {
    const restore = this.#restores.get(partitionKey(topic, partition))
    if (restore === undefined || restore.endOffset === undefined) return
    const { task, changelog, endOffset } = restore
    if (error !== undefined)
      throw changelogFailure(error, { task: task.id, store: changelog.store })
    restore.restored += task.restore(changelog, records, endOffset)
    this.#report('batch', restore)
  }

  /** Ends the restores that have arrived; returns the tasks for which it was the last. */
  #finish(): StreamTask[] {
    for (const [key, restore] of this.#restores) {
      if (!restore.hasStarted || !this.#hasArrived(restore)) continue
      this.#drop(key, restore)
      this.#report('end', restore)
    }
    const busy = new Set([...this.#restores.values()].map(({ task }) => task))
    const done = [...this.#tasks].filter((task) => !busy.has(task))
    for (const task of done) this.#tasks.delete(task)
    return done
  }

  #hasArrived({ task, changelog, endOffset }: Restore): boolean {
    const { topic, partition, position } = changelog
    if (endOffset === undefined) return false
    if (position >= endOffset) return true
    const isWaiting = this.#fetched.some(
      (fetched) => fetched.topic === topic && fetched.partition === partition,
    )
    // A log that begins at its end has no records: the fetcher stands there, with nothing to bring.
    if (isWaiting || (this.#fetcher.position(topic, partition) ?? 0) < endOffset) return false
    task.passOver(changelog, endOffset)
    return true
  }

  #drop(key: PartitionKey, { changelog: { topic, partition } }: Restore): void {
    this.#restores.delete(key)
    this.#fetcher.unassign([{ topic, partition }])
    // The task may come again, with less than it had: what was fetched for it would be taken for its own.
    this.#fetched = this.#fetched.filter(
      (fetched) => fetched.topic !== topic || fetched.partition !== partition,
    )
  }

  #report(
    phase: RestoreProgress['phase'],
    { task, changelog, endOffset, restored }: Restore,
  ): void {
    const { store, topic, partition, position: offset } = changelog
    this.#options.onProgress({
      phase,
      store,
      taskId: task.id,
      topic,
      partition,
      offset,
      endOffset: endOffset ?? offset,
      restored,
    })
  }

  #measure(): void {
    let remaining = 0
    for (const { changelog, endOffset } of this.#restores.values()) {
      remaining += Math.max(0, (endOffset ?? changelog.position) - changelog.position)
    }
    this.#options.remaining.set(remaining)
  }
}
