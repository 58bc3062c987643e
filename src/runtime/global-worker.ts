import { yieldTurn } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Fetcher, type FetchedRecords } from '../client/fetcher.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import { StreamsError, isStreamsError, messageOf } from '../errors.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { GlobalTask } from '../task/global-task.ts'
import type { TaskEngines } from '../task/state-manager.ts'
import type { GlobalSubtopology } from '../topology/topology.ts'
import { AddedInputs } from './added-inputs.ts'
import type { RestoreLag, RestoreProgress } from './changelog-reader.ts'
import { GlobalRestore } from './global-restore.ts'
import { GlobalTopics, type FoundInput } from './global-topics.ts'
import { isolationOf } from './processing-guarantee.ts'
import { WakeUp } from './wake-up.ts'

/** How long the loop works at one thing before it looks at the next. */
const sliceMs = 4
/** Small enough that one of them is applied in few milliseconds. */
const partitionFetchBytes = 256 * 1024
/** While restoring, this much that is not in the engine is worth a checkpoint. */
const checkpointBytes = 16 * 1024 * 1024
/** Nothing more is applied while this much is not in the engine. */
const dirtyBytesMax = 4 * checkpointBytes
/** The loop looks around at least this often: for partitions that were added. */
const idleMsMax = 1000
/** A topic that is emptied again and again while it is restored. */
const restoresMax = 5

/** Where the state of global stores is. */
export interface GlobalState {
  /** Opens the engines; the task closes them. */
  engines(): TaskEngines
  /** Deletes what there is. The engines must be closed. */
  wipe(): void
}

/** Hears of a global worker, one call at a time. */
export interface GlobalWorkerListener {
  onRestore(progress: RestoreProgress): void
  /** All global stores are up to date: what reads them may begin. */
  onRestored(): void
  /** It cannot go on, and closes the stores when this resolves: nobody may read them any more. */
  onFailure(error: Error): Promise<void>
}

export interface GlobalWorkerOptions {
  readonly globalStores: readonly GlobalSubtopology[]
  readonly config: ResolvedConfig
  /** Bytes that the record caches of the global stores may hold together. */
  readonly cacheBytesMax: number
  readonly ports: Ports
  readonly client: KafkaClient
  readonly metrics: StreamsMetrics
  readonly state: GlobalState
  readonly listener: GlobalWorkerListener
}

/**
 * The loop that follows the topics of all global stores: it restores them before anything else begins,
 * and goes on from there. It is in no group, every instance reads all partitions. Java's
 * GlobalStreamThread.
 *
 *     learn the topics → open the stores → restore them to the ends of their topics
 *     fetched records → apply → checkpoint → write behind → breathe
 *
 * When the store is at an offset that the topic does not have (any more), old records are missing, or
 * the topic was made anew. While restoring it is wiped and restored again. Later it may have been
 * read already: then it is wiped, and the instance ends with an error.
 */
export class GlobalWorker {
  readonly #options: GlobalWorkerOptions
  readonly #log: Log
  readonly #fetcher: Fetcher
  readonly #restore: GlobalRestore
  readonly #stopping = new AbortController()
  readonly #wakeUp = new WakeUp()
  readonly #topics: GlobalTopics
  readonly #added: AddedInputs
  /** Fetched, and not applied yet; at most one poll of the fetcher. */
  #fetched: FetchedRecords[] = []
  #task: GlobalTask | undefined
  #isRestored = false
  #lastCheckpointAt = 0
  #done: Promise<void> = Promise.resolve()

  constructor(options: GlobalWorkerOptions) {
    this.#options = options
    this.#log = options.config.log
    const { client, config, ports } = options
    const isolation = isolationOf(config)
    this.#fetcher = new Fetcher(client, { isolation, maxPartitionFetchBytes: partitionFetchBytes })
    this.#topics = new GlobalTopics({
      client,
      isolation,
      clock: ports.clock,
      log: this.#log,
      signal: this.#stopping.signal,
    })
    this.#added = new AddedInputs(
      (input) => this.#topics.find([input]),
      () => this.#wakeUp.notify(),
    )
    this.#restore = new GlobalRestore({
      remaining: options.metrics.restoreRemaining,
      onProgress: (progress) => options.listener.onRestore(progress),
    })
  }

  /** The stores; undefined before they are open, and after they are closed. */
  get task(): GlobalTask | undefined {
    return this.#task
  }

  /** True: the stores were up to date once, and follow their topics. */
  get isRestored(): boolean {
    return this.#isRestored
  }

  start(): void {
    this.#done = this.#run()
  }

  /** Resolves when it has ended, by `stop` or by a failure. Never rejects. */
  get done(): Promise<void> {
    return this.#done
  }

  /** Makes a last checkpoint and closes the stores. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wakeUp.notify()
    await this.#done
  }

  /** How far each partition has to go; empty when the stores are up to date. */
  restoreLags(): RestoreLag[] {
    return this.#isRestored ? [] : this.#restore.lags()
  }

  /** Records of its topic that are not in the store, as far as that is known. */
  lag(store: string): number {
    let records = 0
    for (const input of this.#task?.inputs ?? []) {
      if (input.store !== store) continue
      const { topic, partition, position = 0 } = input
      const end = this.#fetcher.highWatermark(topic, partition) ?? position
      records += Math.max(0, end - position)
    }
    return records
  }

  async #run(): Promise<void> {
    try {
      await this.#followTopics()
      await this.#finish()
    } catch (error) {
      await this.#fail(error).catch((failure: unknown) => {
        this.#log.error('the global stores were not ended well', { error: messageOf(failure) })
      })
    } finally {
      // Whether it was stopped or has failed: nothing goes on.
      this.#stopping.abort()
      await Promise.all([this.#fetcher.close(), this.#added.settled()])
    }
  }

  /** Until it is stopped. */
  async #followTopics(): Promise<void> {
    try {
      await this.#restoreAll()
      this.#isRestored = true
      this.#options.listener.onRestored()
      while (!this.#stopping.signal.aborted) await this.#turn()
    } catch (error) {
      if (!this.#stopping.signal.aborted || !isStreamsError(error, 'ABORTED')) throw error
      this.#restore.suspend()
    }
  }

  async #fail(cause: unknown): Promise<void> {
    const error = cause instanceof Error ? cause : new Error(messageOf(cause), { cause })
    await this.#options.listener.onFailure(error).finally(() => this.#close())
    if (isStreamsError(cause, 'OFFSET_OUT_OF_RANGE')) this.#wipe(cause)
  }

  #close(): void {
    try {
      this.#task?.close({ clean: false })
    } catch (error) {
      this.#log.error('closing the global stores failed', { error: messageOf(error) })
    }
    this.#task = undefined
    this.#restore.suspend()
    this.#fetcher.unassign(this.#fetcher.assignment)
    this.#fetched = []
  }

  #wipe(reason: Error): void {
    this.#log.warn('the state of the global stores is wiped', { reason: reason.message })
    this.#options.state.wipe()
  }

  async #finish(): Promise<void> {
    const task = this.#task
    if (task === undefined) return
    task.checkpoint()
    while (task.writeBehind()) await yieldTurn(this.#options.ports.clock)
    task.close({ clean: true })
    this.#task = undefined
  }

  // Restoring.

  async #restoreAll(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#open()
        while (!this.#restore.isDone) {
          this.#throwIfStopped()
          await this.#turn()
        }
        return
      } catch (error) {
        if (!isStreamsError(error, 'OFFSET_OUT_OF_RANGE') || attempt === restoresMax) throw error
        this.#close()
        this.#wipe(error)
      }
    }
  }

  #throwIfStopped(): void {
    if (this.#stopping.signal.aborted) {
      throw new StreamsError('ABORTED', { what: 'the restoration of global stores' })
    }
  }

  /** Opens the stores and begins to fetch from where they are. */
  async #open(): Promise<void> {
    const { globalStores, config, cacheBytesMax, ports, client, metrics, state } = this.#options
    await this.#topics.learn(globalStores)
    this.#task = new GlobalTask({
      globalStores,
      clock: ports.clock,
      metrics,
      engines: state.engines(),
      cacheBytesMax,
      partitionCount: (topic) => client.partitionCount(topic) ?? 0,
      applicationId: config.applicationId,
      onDeserializationError: config.onDeserializationError,
      onProcessingError: config.onProcessingError,
      log: config.log,
    })
    this.#task.open()
    this.#lastCheckpointAt = ports.clock.monotonic()
    const found = await this.#topics.find(this.#task.inputs)
    const offsets = this.#follow(found)
    for (const [index, { input, range }] of found.entries()) {
      this.#restore.begin(input, offsets[index] ?? 0, range.end)
    }
  }

  /** Begins to fetch these partitions; gives where. Throws `OFFSET_OUT_OF_RANGE`. */
  #follow(found: readonly FoundInput[]): readonly number[] {
    const assigned = found.map(({ input, range: { start, end } }) => {
      const { store, topic, partition, position } = input
      const offset = position ?? start
      if (offset < start || offset > Math.max(start, end)) {
        const detail = `the store ${store} is there, and the log has ${start} to ${end}`
        throw new StreamsError('OFFSET_OUT_OF_RANGE', { topic, partition, offset, detail })
      }
      return { topic, partition, offset, offsetReset: 'none' as const }
    })
    this.#fetcher.assign(assigned)
    return assigned.map(({ offset }) => offset)
  }

  // The loop.

  async #turn(): Promise<void> {
    const { clock } = this.#options.ports
    const task = this.#task
    if (task === undefined) return
    const isBusy = this.#work(task)
    if (!isBusy) await this.#rest(task)
    if (this.#isRestored) this.#followAdded(task)
    // Also after a rest: one that ends at once has not let the event loop breathe.
    await yieldTurn(clock)
  }

  /** True: there is more to be done at once. */
  #work(task: GlobalTask): boolean {
    const { clock } = this.#options.ports
    const deadline = clock.monotonic() + sliceMs
    if (this.#fetched.length === 0) this.#fetched = this.#fetcher.poll()
    let applied = 0
    try {
      while (applied < this.#fetched.length && task.dirtyBytes() < dirtyBytesMax) {
        this.#apply(task, this.#fetched[applied] as FetchedRecords)
        applied += 1
        if (clock.monotonic() >= deadline) break
      }
    } finally {
      this.#fetched = this.#fetched.slice(applied)
    }
    if (this.#isCheckpointDue(task)) {
      task.checkpoint()
      this.#lastCheckpointAt = clock.monotonic()
    }
    const isMore = task.writeBehind()
    return this.#fetched.length > 0 || isMore
  }

  #apply(task: GlobalTask, fetched: FetchedRecords): void {
    const { topic, partition, records, startOffset, error } = fetched
    if (error !== undefined) throw error
    if (this.#isRestored) {
      task.update(topic, partition, records, startOffset)
      return
    }
    const restored = task.restore(topic, partition, records, startOffset)
    this.#restore.applied(topic, partition, restored, fetched.nextOffset)
  }

  #isCheckpointDue(task: GlobalTask): boolean {
    if (!task.checkpointNeeded) return false
    if (!this.#isRestored && task.dirtyBytes() >= checkpointBytes) return true
    return this.#checkpointDueMs === 0
  }

  /** Until the next checkpoint; 0: it is time. */
  get #checkpointDueMs(): number {
    const { config, ports } = this.#options
    const dueAt = this.#lastCheckpointAt + config.commitInterval
    return Math.max(0, dueAt - ports.clock.monotonic())
  }

  /** Sleeps until something happens. */
  async #rest(task: GlobalTask): Promise<void> {
    const stop = new AbortController()
    const { signal } = stop
    const dueMs = task.checkpointNeeded ? this.#checkpointDueMs : idleMsMax
    const waits = [
      this.#fetcher.wait(Math.min(idleMsMax, dueMs), signal),
      this.#wakeUp.wait(signal),
    ]
    await Promise.race(waits)
    stop.abort()
    await Promise.all(waits)
  }

  /** A topic may get more partitions: those are read from their beginning. */
  #followAdded(task: GlobalTask): void {
    const added = task.addPartitions()
    if (added.length > 0) {
      this.#log.info('global topics have more partitions', { added: added.length })
    }
    for (const input of added) this.#added.ask(input)
    const found = this.#added.take()
    if (found.length > 0) this.#follow(found)
  }
}
