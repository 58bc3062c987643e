import type { Clock } from '../base/clock.ts'
import { Fetcher, type FetchedRecords } from '../client/fetcher.ts'
import type { Isolation } from '../client/isolation.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass } from '../client/kafka-failure.ts'
import { listOffsets, partitionKey, type PartitionKey } from '../client/offsets.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { StandbyTask } from '../task/standby-task.ts'
import type { TaskChangelog } from '../task/task.ts'
import { changelogFailure } from './changelog-failure.ts'
import type { RestoreLag } from './changelog-reader.ts'

/** Why a standby ends: the task begins here, or its state is of no use here any more. */
export type StandbyEnd = 'promoted' | 'migrated'

/** One step of a standby in following a changelog. Java's StandbyUpdateListener. */
export interface StandbyUpdate {
  /** `start`, after each `batch`, or `suspended` when it follows no longer. */
  readonly phase: 'start' | 'batch' | 'suspended'
  readonly store: string
  readonly taskId: TaskId
  readonly topic: string
  readonly partition: number
  /** The next changelog offset to read. */
  readonly offset: number
  /** The end of the changelog as last heard; undefined: nothing was heard yet. */
  readonly endOffset: number | undefined
  /** Records of this batch; otherwise 0. */
  readonly records: number
  /** Why it is `suspended`. */
  readonly reason?: StandbyEnd
}

export interface StandbyReaderOptions {
  readonly client: KafkaClient
  readonly clock: Clock
  /** `read_committed`: an end is where the first open transaction begins. */
  readonly isolation: Isolation
  readonly onUpdate: (update: StandbyUpdate) => void
}

/** Small enough that one of them is applied in few milliseconds. */
const partitionFetchBytes = 256 * 1024
/** Fetched ahead at most: standbys have time. */
const bufferBytesMax = 4 * 1024 * 1024
/** Between two looks at all changelogs while nothing comes: for what no batch tells. */
const lookMs = 100
/** Between two questions for the ends of changelogs that are not fetched. */
const endsMs = 1000
/** A question ends by then: those of its topic that have answers are to be asked about anew. */
const endsTimeoutMs = 2000

interface Followed {
  readonly task: StandbyTask
  readonly changelog: TaskChangelog
  /** As last heard. */
  endOffset: number | undefined
  isFetched: boolean
  /** What was fetched goes beyond the limit that it was applied to: the rest is to be fetched anew. */
  isCut: boolean
}

/**
 * Follows the changelogs of standby tasks for as long as these are here. The part of Java's
 * StoreChangelogReader that updates standbys.
 *
 * It has no end to reach, so that everything is of the moment: a standby is as far behind as the last
 * answer of a broker says. A table that uses the topic that it reads as its changelog is followed as far
 * as the group has committed, and not asked for beyond. While nothing is fetched of a changelog, its end
 * is asked for: otherwise a copy that rests would seem to be as near as it was.
 */
export class StandbyReader {
  readonly #options: StandbyReaderOptions
  readonly #fetcher: Fetcher
  readonly #followed = new Map<PartitionKey, Followed>()
  /** Fetched, and not applied yet; at most one poll of the fetcher. */
  #fetched: FetchedRecords[] = []
  #isPaused = false
  #lookedAt = -Infinity
  #endsAskedAt = -Infinity
  /** The questions that are under way, by topic. */
  readonly #asking = new Map<string, Promise<void>>()
  #failure: unknown
  readonly #ended = new AbortController()

  constructor(options: StandbyReaderOptions) {
    this.#options = options
    this.#fetcher = new Fetcher(options.client, {
      isolation: options.isolation,
      maxPartitionFetchBytes: partitionFetchBytes,
      bufferBytesMax,
    })
  }

  get isIdle(): boolean {
    return this.#followed.size === 0
  }

  /** Begins to follow an initialized standby. */
  add(task: StandbyTask): void {
    for (const changelog of task.changelogs) {
      const followed = { task, changelog, endOffset: undefined, isFetched: false, isCut: false }
      this.#followed.set(partitionKey(changelog.topic, changelog.partition), followed)
      this.#report('start', followed)
    }
    this.#lookedAt = -Infinity
  }

  /** Follows a standby no longer; nothing happens when it is not followed. */
  remove(id: TaskId, reason: StandbyEnd): void {
    for (const [key, followed] of this.#followed) {
      if (followed.task.id !== id) continue
      this.#endOf(followed)
      this.#followed.delete(key)
      this.#stop(followed)
      this.#report('suspended', followed, { reason })
    }
  }

  /** Leaves brokers and this thread to tasks that restore, until they have done so. */
  pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return
    this.#isPaused = isPaused
    this.#lookedAt = -Infinity
    this.#endsAskedAt = -Infinity
    if (isPaused) for (const followed of this.#followed.values()) this.#stop(followed)
  }

  /**
   * Applies what was fetched until the deadline (of the monotonic clock). True: there is more at once.
   * Throws `TASK_CORRUPTED` (with `context.task`) when a store does not fit its changelog, and what the
   * cluster refuses for good.
   */
  step(deadline: number): boolean {
    if (this.#failure !== undefined) throw this.#failure
    if (this.isIdle) return false
    this.#askEnds()
    if (this.#isPaused) return false
    const { clock } = this.#options
    if (this.#fetched.length === 0) this.#fetched = this.#fetcher.poll()
    if (this.#fetched.length === 0 && clock.monotonic() - this.#lookedAt < lookMs) return false
    let index = 0
    try {
      while (index < this.#fetched.length) {
        const fetched = this.#fetched[index] as FetchedRecords
        if (this.#isFull(fetched)) break
        this.#apply(fetched)
        index += 1
        if (clock.monotonic() >= deadline) break
      }
    } finally {
      this.#fetched = this.#fetched.slice(index)
    }
    if (this.#fetched.length === 0) this.#look()
    return this.#fetched.length > 0
  }

  #isFull({ topic, partition }: FetchedRecords): boolean {
    const followed = this.#followed.get(partitionKey(topic, partition))
    return followed?.task.isRestoreFull(followed.changelog) === true
  }

  /** With nothing left to apply, every changelog is as far as its fetching. */
  #look(): void {
    this.#lookedAt = this.#options.clock.monotonic()
    for (const followed of this.#followed.values()) {
      if (followed.isCut) this.#stop(followed)
      this.#passOver(followed)
      this.#fetch(followed)
    }
  }

  /** Begins to fetch where there may be something, and stops where its limit is reached. */
  #fetch(followed: Followed): void {
    const { topic, partition, position, limit = Infinity } = followed.changelog
    const isWanted = position < limit
    if (isWanted === followed.isFetched) return
    if (!isWanted) return this.#stop(followed)
    this.#fetcher.assign([{ topic, partition, offset: position === 0 ? 'earliest' : position }])
    followed.isFetched = true
  }

  #stop(followed: Followed): void {
    const { topic, partition } = followed.changelog
    this.#endOf(followed)
    if (followed.isFetched) this.#fetcher.unassign([{ topic, partition }])
    followed.isFetched = false
    followed.isCut = false
    this.#fetched = this.#fetched.filter(
      (fetched) => fetched.topic !== topic || fetched.partition !== partition,
    )
  }

  #apply({ topic, partition, records, nextOffset, error }: FetchedRecords): void {
    const followed = this.#followed.get(partitionKey(topic, partition))
    if (followed === undefined || followed.isCut) return
    const { task, changelog } = followed
    if (error !== undefined)
      throw changelogFailure(error, { task: task.id, store: changelog.store })
    this.#endOf(followed)
    const { limit = Infinity } = changelog
    const applied = task.restore(changelog, records, limit)
    if (nextOffset > limit) {
      task.passOver(changelog, limit)
      // The limit may move before the next look: what this has left out would seem to be passed.
      followed.isCut = true
    }
    this.#report('batch', followed, { records: applied })
  }

  /** Where records were compacted away, or aborted, no batch says that there is nothing. */
  #passOver({ task, changelog, isFetched }: Followed): void {
    const { topic, partition, limit = Infinity } = changelog
    const passed = isFetched ? this.#fetcher.position(topic, partition) : undefined
    if (passed !== undefined) task.passOver(changelog, Math.min(passed, limit))
  }

  #endOf(followed: Followed): number | undefined {
    const { topic, partition } = followed.changelog
    followed.endOffset = this.#fetcher.readableEnd(topic, partition) ?? followed.endOffset
    return followed.endOffset
  }

  /**
   * Asks for the ends of those of which nothing is fetched, in the background. Each topic by itself, and
   * each partition for as long as it has no answer: one that is gone, or has no leader, is asked for until
   * a deadline, and the lags of all others would be of before.
   */
  #askEnds(): void {
    const { clock } = this.#options
    const now = clock.monotonic()
    if (now - this.#endsAskedAt < endsMs) return
    const resting = new Map<string, Map<PartitionKey, Followed>>()
    for (const [key, followed] of this.#followed) {
      if (followed.isFetched) continue
      const { topic } = followed.changelog
      const ofTopic = resting.get(topic)
      if (ofTopic === undefined) resting.set(topic, new Map([[key, followed]]))
      else ofTopic.set(key, followed)
    }
    if (resting.size === 0) return
    this.#endsAskedAt = now
    for (const [topic, followed] of resting) {
      if (this.#asking.has(topic)) continue
      const question = this.#takeEnds(followed).finally(() => this.#asking.delete(topic))
      this.#asking.set(topic, question)
    }
  }

  async #takeEnds(resting: ReadonlyMap<PartitionKey, Followed>): Promise<void> {
    const { client, isolation } = this.#options
    const { signal } = this.#ended
    const partitions = [...resting.values()].map(({ changelog }) => {
      return { topic: changelog.topic, partition: changelog.partition }
    })
    const onOffset = (key: PartitionKey, endOffset: number): void => {
      const followed = resting.get(key)
      if (followed !== undefined && !followed.isFetched) followed.endOffset = endOffset
    }
    try {
      const timeoutMs = endsTimeoutMs
      await listOffsets(client, partitions, 'latest', { isolation, signal, timeoutMs, onOffset })
    } catch (error) {
      // With the next question it is tried again.
      if (!signal.aborted && !canPass(error)) this.#failure = error
    }
  }

  /** How far the stores of a standby are; empty when it is not followed. */
  lags(id: TaskId): RestoreLag[] {
    return [...this.#followed.values()]
      .filter(({ task }) => task.id === id)
      .map((followed) => {
        const { store, position } = followed.changelog
        return { store, offset: position, endOffset: this.#endOf(followed) }
      })
  }

  /** Records that all are behind, as far as was heard. */
  lag(): number {
    let lag = 0
    for (const followed of this.#followed.values()) {
      const { position } = followed.changelog
      lag += Math.max(0, (this.#endOf(followed) ?? position) - position)
    }
    return lag
  }

  /** Resolves when `step` has something to do, after `maxMs`, or on abort. */
  wait(maxMs: number, signal: AbortSignal): Promise<void> {
    return this.#fetcher.wait(maxMs, signal)
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await Promise.all([this.#fetcher.close(), ...this.#asking.values()])
  }

  #report(
    phase: StandbyUpdate['phase'],
    { task, changelog, endOffset }: Followed,
    more: { records?: number; reason?: StandbyEnd } = {},
  ): void {
    const { store, topic, partition, position: offset } = changelog
    const what = { phase, store, taskId: task.id, topic, partition }
    this.#options.onUpdate({ ...what, offset, endOffset, records: 0, ...more })
  }
}
