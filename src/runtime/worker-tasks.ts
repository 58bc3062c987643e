import { assert } from '../base/assert.ts'
import { sleep, yieldTurn } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass } from '../client/kafka-failure.ts'
import { fetchCommittedOffsets } from '../client/offsets.ts'
import type { Producer } from '../client/producer.ts'
import type { TransactionManager } from '../client/transaction-manager.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import { isStreamsError, messageOf } from '../errors.ts'
import type { TaskProgress } from '../group/membership.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { TaskEngines } from '../task/state-manager.ts'
import type { StreamTask } from '../task/stream-task.ts'
import type { CommittedOffset, TaskInput } from '../task/task.ts'
import { TaskManager } from '../task/task-manager.ts'
import type { Topology } from '../topology/topology.ts'
import { AbandonedTransactions } from './abandoned-transactions.ts'
import { ChangelogReader, type RestoreProgress } from './changelog-reader.ts'
import { isolationOf } from './processing-guarantee.ts'
import { mayLeaveLetters } from './refused-records.ts'
import type { StandbyUpdate } from './standby-reader.ts'
import { StoreLags } from './store-lags.ts'
import { StreamsProducer } from './streams-producer.ts'
import { TopicGrowth } from './topic-growth.ts'
import { TaskStores, type StoredOffsets } from './task-stores.ts'
import { WorkerClaims } from './worker-claims.ts'
import { WorkerInputs } from './worker-inputs.ts'
import { WorkerStandbys } from './worker-standbys.ts'
import type { WorkerTopics } from './worker-topics.ts'

/** Nothing more is processed while this much is not acknowledged, until half of it is. */
const queuedBytesMax = 32 * 1024 * 1024

/** Wait before something is asked of the cluster again. */
const retryMs = 500

/** A worker that ends by a failure waits so long for brokers to take dead letters. */
const lettersMsMax = 10_000

/** What the worker knows of state on disk. */
export interface TaskStates {
  /**
   * Asks for the directories of these tasks, and resolves with those that no other worker of the process
   * has; for each other one `onFree` is called when it is worth asking again.
   */
  claim(ids: readonly TaskId[], onFree: () => void): Promise<ReadonlySet<TaskId>>
  /** All that was open in these directories is closed. */
  release(ids: readonly TaskId[]): void
  /** Opens the engines of a task whose directory was claimed; the task closes them. */
  engines(id: TaskId): TaskEngines
  /** Of the tasks that no worker of the process holds. */
  storedOffsets(): StoredOffsets
  /** Deletes what there is of a task that is closed. */
  wipe(id: TaskId): void
}

/** What a worker is made of, and hands on to what it is made up of. */
export interface WorkerParts {
  readonly topology: Topology
  readonly config: ResolvedConfig
  readonly ports: Ports
  readonly client: KafkaClient
  readonly processId: string
  /** Counts the workers of the process, from 1. */
  readonly workerNumber: number
  readonly metrics: StreamsMetrics
  readonly states: TaskStates
  /** Finds a global store for a processor to read. */
  readonly globalStore: (name: string) => object | undefined
}

export interface WorkerTasksOptions extends WorkerParts {
  readonly topics: WorkerTopics
  readonly onRestore: (progress: RestoreProgress) => void
  readonly onStandbyUpdate: (update: StandbyUpdate) => void
  /** There is something to do. */
  readonly wake: () => void
  /** A task whose directory another worker had can be opened. */
  readonly onFree: () => void
}

/**
 * The tasks of a worker with what feeds them and takes their records: opens, restores, closes. It has
 * no will of its own; the worker's loop says when.
 */
export class WorkerTasks {
  readonly #options: WorkerTasksOptions
  readonly #log: Log
  readonly #reader: ChangelogReader
  readonly #inputs: WorkerInputs
  readonly #standbys: WorkerStandbys
  readonly lags: StoreLags
  readonly #opening = new AbortController()
  readonly #measuring: Disposable
  /** Tasks whose stores are prepared before they are opened. */
  readonly #preparing = new Set<TaskId>()
  /** Where restored tasks begin to read. */
  readonly #committed = new Map<TaskId, CommittedOffset[]>()
  readonly #manager: TaskManager
  readonly #producer: StreamsProducer
  /** Undefined: not exactly once. */
  readonly #abandoned: AbandonedTransactions | undefined
  readonly #stores: TaskStores
  readonly #claims: WorkerClaims
  readonly #growth: TopicGrowth
  /** The active tasks that the group has given. */
  #target: ReadonlySet<TaskId> = new Set()
  /** Workers that share the memory of the instance. */
  #sharers = 1

  constructor(options: WorkerTasksOptions) {
    const { client, config, ports, metrics, topics } = options
    this.#options = options
    this.#log = config.log
    this.#stores = new TaskStores(options.topology, config.applicationId)
    this.#claims = new WorkerClaims({
      states: options.states,
      hasDirectory: (id) => this.#stores.isPersistent(id),
      onFree: options.onFree,
    })
    this.#growth = new TopicGrowth({ client, applicationId: config.applicationId, topics })
    const isolation = isolationOf(config)
    this.#reader = new ChangelogReader({
      client,
      isolation,
      clock: ports.clock,
      log: config.log,
      remaining: metrics.restoreRemaining,
      onProgress: options.onRestore,
      wake: options.wake,
    })
    this.#inputs = new WorkerInputs({
      client,
      isolation,
      bufferedRecordsMax: config.bufferedRecordsPerPartition,
      offsetReset: config.offsetReset,
      isInternal: (topic) => topics.isRepartition(topic),
    })
    this.#producer = new StreamsProducer(options)
    this.#abandoned = this.#makeAbandoned()
    this.#manager = this.#makeManager()
    this.#standbys = new WorkerStandbys({
      client,
      isolation,
      config,
      ports,
      tasks: this.#manager,
      wipe: (id) => options.states.wipe(id),
      onUpdate: options.onStandbyUpdate,
    })
    this.lags = new StoreLags(this.#reader, this.#standbys)
    this.#measuring = metrics.registry.onCollect(() => {
      this.#manager.measure()
      metrics.standbyLag.set(this.#standbys.lag())
    })
  }

  get manager(): TaskManager {
    return this.#manager
  }

  get producer(): Producer {
    return this.#producer.producer
  }

  /** Undefined: not exactly once. Others after {@link startAnew}. */
  get transactions(): TransactionManager | undefined {
    return this.#producer.transactions
  }

  /** True: more is under way to the brokers than is good; nothing should be processed. */
  get isBacklogged(): boolean {
    return this.producer.queuedBytes > queuedBytesMax
  }

  /** True: all tasks run that this worker is to have, or there are none. */
  get isRestored(): boolean {
    for (const id of this.#target) if (!this.#manager.tasks.has(id)) return false
    for (const { state } of this.#manager.tasks.values()) if (state !== 'running') return false
    return true
  }

  /** What the group is to know of the state that is here. */
  progress(): TaskProgress {
    return this.#stores.progress(this.#options.states.storedOffsets(), this.#manager)
  }

  /** Says which active tasks are to be here; those with stores share the memory for record caches. */
  setTarget(target: ReadonlySet<TaskId>): void {
    this.#target = target
    this.#manager.resizeCaches()
  }

  /** So many workers share the memory for record caches and restores. */
  shareMemory(workers: number): void {
    this.#sharers = workers
    this.#manager.shareMemory(workers)
  }

  /**
   * Holds exactly these standbys, and the stores of tasks that are to be opened next. A standby whose
   * directory another worker has is left out; see `onFree`.
   */
  async follow(target: ReadonlySet<TaskId>, opened: readonly TaskId[]): Promise<void> {
    const { standbys } = this.#manager
    const isOver = (id: TaskId): boolean => !target.has(id) && !opened.includes(id)
    // What others wait for comes first: two workers that exchange standbys would wait for each other.
    await this.#standbys.close([...standbys.all.keys()].filter(isOver))
    standbys.closeParked([...target, ...opened])
    this.releaseDirectories()
    const added = [...target].filter((id) => !standbys.all.has(id))
    await this.#standbys.open(await this.#claims.take(added), this.#opening.signal)
  }

  /** Of these tasks the ones that can be opened now, because no other worker has their directory. */
  claim(ids: readonly TaskId[]): Promise<TaskId[]> {
    return this.#claims.take(ids)
  }

  /** Lets other workers of the process have what is not open here any more. */
  releaseDirectories(): void {
    const { tasks, standbys } = this.#manager
    this.#claims.keep(new Set([...tasks.keys(), ...standbys.all.keys(), ...standbys.parked]))
  }

  /** Makes these tasks, finds out where they begin, and starts to restore them; after {@link learnTopics}. */
  async open(ids: readonly TaskId[]): Promise<void> {
    const { client, config, ports } = this.#options
    const { signal } = this.#opening
    await this.#patiently('topics', () => this.#growth.learn(ids, signal))
    for (const id of ids) {
      this.lags.remember(id)
      this.#standbys.promote(id)
    }
    const tasks = ids.map((id) => this.#manager.create(id))
    const inputs = tasks.flatMap((task) => task.inputs)
    using _looking = this.#abandoned?.keepLooking()
    await this.#patiently('transactional id', () => this.#producer.initialize(signal))
    const offsets = await this.#patiently('committed offsets', () =>
      fetchCommittedOffsets(client, config.applicationId, inputs, { signal }),
    )
    for (const { id, inputs: own } of tasks) {
      const committed = [...offsets.values()].filter((offset) => isOf(offset, own))
      this.#begin(id, committed)
      await yieldTurn(ports.clock)
    }
  }

  /** True: topics have got partitions that tasks do not read, so that {@link updateInputs} is worth a call. */
  hasMoreInputs(now: number): boolean {
    return this.#growth.hasGrown(now, this.#manager.tasks.values())
  }

  /**
   * Lets the tasks that are here read the topics that match the patterns of the topology by now, and
   * none that is gone, and those that have got the partition of the task. Call {@link learnTopics} first.
   */
  async updateInputs(): Promise<void> {
    const { client, config } = this.#options
    const { signal } = this.#opening
    const changes = [...this.#manager.tasks.keys()].map((id) => this.#manager.updateInputs(id))
    this.#inputs.remove(changes.flatMap(({ removed }) => removed))
    const added = changes.flatMap((change) => change.added)
    if (added.length === 0) return
    const offsets = await this.#patiently('committed offsets', () =>
      fetchCommittedOffsets(client, config.applicationId, added, { signal }),
    )
    for (const { task, added: own } of changes) this.#begins(task, own, [...offsets.values()])
  }

  /** A task reads these as well. */
  #begins(task: StreamTask, inputs: readonly TaskInput[], offsets: CommittedOffset[]): void {
    if (inputs.length === 0) return
    const committed = offsets.filter((offset) => isOf(offset, inputs))
    task.takeCommitted(committed)
    this.#committed.set(task.id, [...(this.#committed.get(task.id) ?? []), ...committed])
    // One that restores begins with all of them when it is done.
    if (task.state === 'running') this.#inputs.add(inputs, committed)
  }

  /** What questions need to know of the topics, also where no task is: their partition counts. */
  learnTopics(): Promise<void> {
    const { client, topics } = this.#options
    return this.#patiently('topics', () => topics.load(client, this.#opening.signal))
  }

  /**
   * Hands fetched records to the tasks, and lets them be fetched no faster than they are taken. True:
   * there was something.
   */
  take(): boolean {
    const hasTaken = this.#inputs.take(this.#manager)
    this.#inputs.resume(this.#manager)
    return hasTaken
  }

  /** Restores until the deadline. True: a task has begun to run, or there is more to restore at once. */
  restore(deadline: number): boolean {
    const hasPrepared = this.#prepare(deadline)
    if (this.#reader.isIdle) return hasPrepared
    if (this.#reader.isHeldUp) this.#abandoned?.look()
    try {
      const restored = this.#reader.step(deadline)
      for (const task of restored) {
        this.#manager.completeRestoration(task.id)
        this.lags.forget(task.id)
        this.#inputs.add(task.inputs, this.#committed.get(task.id) ?? [])
      }
      return hasPrepared || restored.length > 0 || this.#reader.hasFetched
    } catch (error) {
      if (!isStreamsError(error, 'TASK_CORRUPTED')) throw error
      this.#revive(error.context['task'] as TaskId, error)
      return true
    }
  }

  /** Prepares stores until the deadline, while other tasks work. True: there was something to be done. */
  #prepare(deadline: number): boolean {
    const hasWork = this.#preparing.size > 0
    for (const id of this.#preparing) {
      while (this.#manager.prepare(id)) {
        if (this.#options.ports.clock.monotonic() >= deadline) return true
      }
      this.#initialize(id)
    }
    return hasWork
  }

  /**
   * Lets standbys follow their changelogs until the deadline, unless tasks restore or nothing is to be
   * read. True: there is more at once.
   */
  followOn(deadline: number, { isPaused }: { readonly isPaused: boolean }): boolean {
    return this.#standbys.work(deadline, { isResting: isPaused || !this.#reader.isIdle })
  }

  /** Waits for records, of inputs and (if `restoring`) of changelogs, and for a backlog to shrink. */
  waits(options: { restoring: boolean; maxMs: number; signal: AbortSignal }): Promise<void>[] {
    const { restoring, maxMs, signal } = options
    const waits = [this.#inputs.wait(maxMs, signal)]
    if (restoring && !this.#reader.isIdle) waits.push(this.#reader.wait(maxMs, signal))
    const standbys = restoring ? this.#standbys.wait(maxMs, signal) : undefined
    if (standbys !== undefined) waits.push(standbys)
    if (this.isBacklogged) waits.push(this.producer.drained(queuedBytesMax / 2, signal))
    return waits
  }

  /** Nothing more comes for these tasks; they can still be committed. */
  detach(ids: Iterable<TaskId>): void {
    for (const id of ids) {
      const task = this.#manager.tasks.get(id)
      if (task !== undefined) this.#inputs.remove(task.inputs)
      this.#reader.remove(id)
      this.#preparing.delete(id)
      this.#committed.delete(id)
      this.lags.forget(id)
    }
  }

  /** Gives up all active tasks as they are. Standbys go on: they take nothing away from anybody. */
  abandon(): void {
    this.detach([...this.#manager.tasks.keys()])
    const { standbys } = this.#manager
    for (const close of [
      () => this.#manager.close(undefined, { clean: false }),
      () => standbys.closeParked(),
    ]) {
      try {
        close()
      } catch (error) {
        this.#log.error('closing tasks failed', { error: messageOf(error) })
      }
    }
  }

  /**
   * After all tasks were given up: drops what is under way. What was sent for them and is not with the
   * brokers yet would come between the records of their new owner.
   */
  async startAnew(): Promise<void> {
    await this.#producer.startAnew()
  }

  /** A failure ends the tasks: waits, but not for ever, until brokers have the letters about it. */
  async sendLetters(): Promise<void> {
    const { config, ports } = this.#options
    // In a transaction they end with it.
    if (!mayLeaveLetters(config) || this.transactions !== undefined) return
    const isOver = new AbortController()
    const sent = this.producer.flush().catch((error: unknown) => {
      this.#log.warn('dead letters may be lost', { error: messageOf(error) })
    })
    await Promise.race([sent, sleep(ports.clock, lettersMsMax, isOver.signal)])
    isOver.abort()
  }

  /** Ends the waits for the cluster in {@link open}, which rejects with `ABORTED`. */
  stopOpening(): void {
    this.#opening.abort()
  }

  /** Ends the standbys and what runs in the background. Close the active tasks first. */
  async close(): Promise<void> {
    this.stopOpening()
    try {
      await this.#standbys.end()
    } catch (error) {
      this.#log.error('closing standbys failed', { error: messageOf(error) })
    }
    this.releaseDirectories()
    await Promise.all([
      this.#reader.close(),
      this.#inputs.close(),
      this.#producer.close(),
      this.#abandoned?.close(),
    ])
    this.#measuring[Symbol.dispose]()
  }

  #begin(id: TaskId, committed: CommittedOffset[]): void {
    if (!this.#manager.tasks.has(id)) return
    this.#committed.set(id, committed)
    if (this.#manager.prepare(id)) this.#preparing.add(id)
    else this.#initialize(id)
  }

  #initialize(id: TaskId): void {
    const task = this.#manager.tasks.get(id)
    assert(task !== undefined, `there is a task ${id}`)
    this.#preparing.delete(id)
    this.#manager.initialize(id, this.#committed.get(id) ?? [])
    this.#reader.add(task)
  }

  /** Its state does not fit the changelog: restores it from the beginning. */
  #revive(id: TaskId, error: Error): void {
    this.#log.warn('the state of a task is wiped and restored', { task: id, error: error.message })
    const committed = this.#committed.get(id) ?? []
    this.detach([id])
    this.#manager.close([id], { clean: false })
    this.#options.states.wipe(id)
    this.#manager.create(id)
    this.#begin(id, committed)
  }

  /** Tries again while the cluster has a problem that can pass. */
  async #patiently<T>(what: string, request: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await request()
      } catch (error) {
        if (!canPass(error) || this.#opening.signal.aborted) throw error
        this.#log.warn(`the ${what} could not be read, trying again`, { error: messageOf(error) })
        await sleep(this.#options.ports.clock, retryMs, this.#opening.signal)
      }
    }
  }

  #makeAbandoned(): AbandonedTransactions | undefined {
    const { client, ports, config, processId, workerNumber } = this.#options
    if (config.processingGuarantee !== 'exactly-once') return undefined
    const { transactionTimeout: transactionTimeoutMs } = config
    return new AbandonedTransactions({
      ...config,
      client,
      processId,
      clientId: client.clientId,
      workerNumber,
      transactionTimeoutMs,
      clock: ports.clock,
    })
  }

  #makeManager(): TaskManager {
    const { topics, config, ports, client, metrics, states } = this.#options
    const cacheBytes = (): number => {
      const stateful = [...this.#target].filter((id) => this.#stores.isStateful(id)).length
      return Math.floor(config.cacheBytes / this.#sharers / Math.max(1, stateful))
    }
    const sink = (): Producer => this.producer
    return new TaskManager({
      // Asked for when a task is made or changed: by then it is known what the patterns match.
      get topology() {
        return topics.topology
      },
      applicationId: config.applicationId,
      clock: ports.clock,
      // Another one after a membership was lost.
      get sink() {
        return sink()
      },
      metrics,
      engines: (id) => states.engines(id),
      // Asked for when a task is made: by then it is known how many share the memory.
      get cacheBytesPerTask() {
        return cacheBytes()
      },
      partitionCount: (topic) => client.partitionCount(topic) ?? 0,
      lag: (topic, partition) => this.#inputs.lag(topic, partition),
      maxTaskIdleMs: config.maxTaskIdle,
      onDeserializationError: config.onDeserializationError,
      onProcessingError: config.onProcessingError,
      onProductionError: config.onProductionError,
      deadLetterQueueTopic: config.deadLetterQueueTopic,
      globalStore: this.#options.globalStore,
      wake: this.#options.wake,
      log: config.log,
    })
  }
}

function isOf({ topic, partition }: CommittedOffset, inputs: readonly TaskInput[]): boolean {
  return inputs.some((input) => input.topic === topic && input.partition === partition)
}
