import { assertMethodOptions } from './base/assert-options.ts'
import { assert } from './base/assert.ts'
import { assertSignal } from './base/assert-signal.ts'
import { LimitedLog } from './base/limited-log.ts'
import { Outcome } from './base/outcome.ts'
import { shownValue } from './base/shown-value.ts'
import type { KafkaClient } from './client/kafka-client.ts'
import { systemPorts, type Ports, type ResolvedConfig, type StreamsConfig } from './config.ts'
import { StreamsError, messageOf } from './errors.ts'
import { hostKey } from './group/user-data.ts'
import { StreamsMetrics } from './metrics/streams-metrics.ts'
import { assertDescriptor, localStore } from './query/executor-store.ts'
import type { QueryTarget } from './query/query-target.ts'
import type { QueryableStore } from './query/queryable-store.ts'
import { closeTimer } from './runtime/close-timer.ts'
import { DirectoryWait } from './runtime/directory-wait.ts'
import { openInstanceClient } from './runtime/instance-client.ts'
import { openInstanceDirectory } from './runtime/instance-directory.ts'
import { DirectoryState } from './runtime/instance-state.ts'
import { InstanceView } from './runtime/instance-view.ts'
import { InstanceWorkers } from './runtime/instance-workers.ts'
import { StreamsEmitter, type StreamsEvents } from './runtime/streams-events.ts'
import {
  instanceMetadata,
  keyMetadata,
  type KeyQueryMetadata,
  type LagInfo,
  type LocalTask,
  type LocalWorkerInfo,
  type StreamsMetadata,
} from './runtime/streams-metadata.ts'
import { canTransition, type StreamsState } from './runtime/streams-state.ts'
import type { AnyStore } from './store/descriptor.ts'
import type { StateDirectory } from './store/state-directory.ts'
import { StreamsProgram } from './threads/streams-program.ts'
import { WorkerThreads, threadedTarget } from './threads/worker-threads.ts'
import type { Topology } from './topology/topology.ts'

export type { RestoreLag, RestoreProgress } from './runtime/changelog-reader.ts'
export type { StandbyEnd, StandbyUpdate } from './runtime/standby-reader.ts'
export type { StreamsEvents } from './runtime/streams-events.ts'
export type {
  KeyQueryMetadata,
  LagInfo,
  LocalTask,
  LocalWorkerInfo,
  StreamsMetadata,
} from './runtime/streams-metadata.ts'

/**
 * Runs a topology: joins the group of the application, holds the tasks that it is given, and answers
 * questions about their stores. Java's KafkaStreams.
 *
 * It connects to Kafka at `start`, creates the internal topics of the topology, and keeps state below
 * `stateDir`. Stop it with `close` (or `await using`): what was processed is then committed, and
 * nothing is processed twice after the next start.
 *
 * With the URL of a module in place of the topology it uses more than one core: each of its `workers` is a
 * thread that imports the module, which exports `topology`, and `config` for options with functions. The
 * URL is of JavaScript, or of what this version of Node reads by itself.
 *
 * @example
 * await using streams = new KafkaStreams(builder.build(), {
 *   applicationId: 'word-count', brokers: ['localhost:9092'] })
 * await streams.start()
 * console.log(await streams.store(wordCounts).get('kafka'))
 *
 * @example
 * const module = new URL('./topology.js', import.meta.url)
 * await using streams = new KafkaStreams(module, {
 *   applicationId: 'word-count', brokers: ['localhost:9092'], workers: 4 })
 */
export class KafkaStreams implements AsyncDisposable {
  readonly metrics: StreamsMetrics
  readonly #program: StreamsProgram
  #config: ResolvedConfig
  readonly #ports: Ports
  readonly #log: LimitedLog
  readonly #view: InstanceView
  readonly #target: QueryTarget
  readonly #emitter = new StreamsEmitter()
  readonly #running = new Outcome()
  readonly #closed = new Outcome()
  #state: StreamsState = 'created'
  #client: KafkaClient | undefined
  readonly #wait: DirectoryWait
  #directory: StateDirectory | undefined
  #workers: InstanceWorkers | undefined
  #threads: WorkerThreads | undefined
  #isPaused = false
  #failure: Error | undefined
  /** Aborted when `close` runs out of time: what fails after it is no news. */
  readonly #cut = new AbortController()

  /**
   * Checks the topology (`TOPOLOGY_INVALID`) and the options (`CONFIG_INVALID`); nothing else happens
   * yet. A module is imported, and its topology checked, by `start`.
   *
   * @param topology what runs, or the URL of the module that exports it.
   * @param ports the world: time, chance, network, files. Default this machine; a simulation gives
   *   its own.
   */
  constructor(topology: Topology | URL, config: StreamsConfig, ports: Ports = systemPorts) {
    const program = new StreamsProgram(topology, config, ports)
    this.#program = program
    this.#log = new LimitedLog(program.config.log, ports.clock)
    this.#config = { ...program.config, log: this.#log }
    this.#ports = ports
    this.#wait = new DirectoryWait(ports.clock, this.#log)
    this.metrics = new StreamsMetrics()
    this.#view = new InstanceView({
      topology: () => program.topology,
      state: () => this.#state,
      failure: () => this.#failure,
      workers: () => this.#workers?.workers ?? [],
      global: () => this.#workers?.global,
      self: this.#config.endpoint,
    })
    const isThreaded = program.module !== undefined
    this.#target = isThreaded ? threadedTarget(this.#view, () => this.#threads) : this.#view
  }

  /** Where the instance is in its life. */
  get state(): StreamsState {
    return this.#state
  }

  /** Resolves when the instance has stopped; rejects with the error that stopped it. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /**
   * Calls back on each such event, in the turn in which it happens. What a listener throws is an
   * uncaught exception of the process, as with Node's own emitters.
   */
  on<E extends keyof StreamsEvents>(event: E, listener: StreamsEvents[E]): this {
    this.#emitter.on(event, listener)
    return this
  }

  /** Stops calling this listener. */
  off<E extends keyof StreamsEvents>(event: E, listener: StreamsEvents[E]): this {
    this.#emitter.off(event, listener)
    return this
  }

  /**
   * Resolves when `running` is reached for the first time: the tasks are here and restored. Rejects
   * with what prevents it. An abort before that closes the instance. Only once: a new instance is
   * needed to start again.
   */
  async start(options: { signal?: AbortSignal } = {}): Promise<void> {
    assertMethodOptions(options, 'start')
    const { signal } = options
    if (signal !== undefined) assertSignal(signal)
    if (this.#state !== 'created') {
      const detail = 'each instance is started once; make a new one'
      throw new StreamsError('STREAMS_STATE_INVALID', {
        operation: 'start',
        state: this.#state,
        detail,
      })
    }
    const aborted = (): void => {
      this.#running.reject(new StreamsError('ABORTED', { what: 'the start' }))
      void this.close()
    }
    if (signal?.aborted) aborted()
    else {
      signal?.addEventListener('abort', aborted, { once: true })
      this.#begin()
    }
    try {
      await this.#running.promise
    } finally {
      signal?.removeEventListener('abort', aborted)
    }
  }

  /** Starts, stays until the signal aborts, closes. Rejects with the error that stopped it. */
  async run(options: { signal: AbortSignal }): Promise<void> {
    const signal: unknown = (options as { signal?: unknown } | null | undefined)?.signal
    assertSignal(signal)
    const aborted = (): void => void this.close()
    signal.addEventListener('abort', aborted, { once: true })
    try {
      if (signal.aborted) await this.close()
      else if (this.#state === 'created') this.#begin()
      await this.#closed.promise
    } finally {
      signal.removeEventListener('abort', aborted)
    }
  }

  /**
   * Commits, closes the tasks, leaves the group. Idempotent: resolves when all is stopped, whoever
   * asked for it, and rejects when the work that was done could not be committed.
   *
   * `timeout`: after so many milliseconds connections are cut, and what is not committed by then is
   * processed again after the next start. Default: a minute, also for `await using` and `run`; without a
   * limit (`Infinity`, Java's default) it waits as long as no broker answers.
   * `leaveGroup: false` keeps the tasks for this instance until its session times out: the default
   * with `groupInstanceId`. For others it would only pause their tasks for so long.
   * Rejects with `CONFIG_INVALID`, and closes nothing, for a timeout that is no number from 0 on, and a
   * `leaveGroup` that is neither true nor false.
   */
  async close(options: { timeout?: number; leaveGroup?: boolean } = {}): Promise<void> {
    assertMethodOptions(options, 'close')
    const { timeout, leaveGroup = this.#config.groupInstanceId === undefined } = options
    if (typeof leaveGroup !== 'boolean') {
      const detail = `it must be true or false, not ${shownValue(leaveGroup)}`
      throw new StreamsError('CONFIG_INVALID', { option: 'leaveGroup', detail })
    }
    using _timer = closeTimer(this.#ports.clock, timeout, () => void this.#cutConnections())
    if (this.#setState('pending-shutdown')) {
      // Heard by whoever still waits for the start.
      const detail = 'it was closed before it had its tasks'
      this.#running.reject(new StreamsError('STREAMS_STOPPED', { state: this.#state, detail }))
      await this.#workers?.stop(leaveGroup ? 'leave' : 'remain')
      await this.#finish('not-running')
      return this.#closed.promise
    }
    // The failure itself is told by `closed`: here only the end counts.
    await this.#closed.promise.catch(() => undefined)
  }

  /** Stops processing and restoring. Stays in the group, and answers questions. */
  pause(): void {
    this.#isPaused = true
    this.#workers?.pause()
  }

  /** Goes on after {@link KafkaStreams.pause}. */
  resume(): void {
    this.#isPaused = false
    this.#workers?.resume()
  }

  /**
   * Adds a worker, which joins the group and gets its share of the tasks; returns its number, the lowest
   * that is free. Java's addStreamThread. Throws `STREAMS_STATE_INVALID` unless the instance runs or
   * rebalances, and when its topology is not the URL of a module.
   *
   * @example
   * const number = streams.addWorker()
   */
  addWorker(): number {
    return this.#crew('addWorker').add()
  }

  /**
   * Ends the worker with the highest number: it commits and leaves the group, which gives its tasks to the
   * others. Resolves with its number when it is gone, with undefined when there was none. Java's
   * removeStreamThread. Throws as {@link KafkaStreams.addWorker}.
   *
   * `timeout`: after so many milliseconds it is ended as it is, and others process again what it has not
   * committed. Default: a minute.
   */
  async removeWorker(options: { timeout?: number } = {}): Promise<number | undefined> {
    assertMethodOptions(options, 'removeWorker')
    let cut: (() => Promise<void>) | undefined
    const crew = this.#crew('removeWorker')
    using _timer = closeTimer(this.#ports.clock, options.timeout, () => void cut?.())
    return await crew.remove((now) => {
      cut = now
    })
  }

  /** The workers of this instance, by number, with their tasks. Java's metadataForLocalThreads. */
  localWorkers(): LocalWorkerInfo[] {
    return this.#workers?.localWorkers() ?? []
  }

  #crew(operation: string): InstanceWorkers {
    const workers = this.#workers
    const isUp = this.#state === 'running' || this.#state === 'rebalancing'
    if (isUp && workers?.mayAdd === true) return workers
    const detail = isUp
      ? 'workers are added and removed where they run in threads, with the topology as the URL of a module'
      : undefined
    throw new StreamsError('STREAMS_STATE_INVALID', { operation, state: this.#state, detail })
  }

  /** True between `pause` and `resume`. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /**
   * Deletes the local state of this application, which is then restored from the changelogs. Throws
   * `STREAMS_STATE_INVALID` while it runs.
   */
  cleanUp(): void {
    if (this.#state !== 'created' && this.#state !== 'not-running' && this.#state !== 'error') {
      throw new StreamsError('STREAMS_STATE_INVALID', { operation: 'cleanUp', state: this.#state })
    }
    const directory = this.#openDirectory()
    try {
      directory.removeAll()
    } finally {
      directory.close()
    }
  }

  /**
   * The partitions of a store that this instance holds, as Java's `store`. The handle never goes
   * stale: each call finds the tasks anew, and rejects with what keeps it from an answer
   * (`STREAMS_NOT_STARTED`, `STREAMS_REBALANCING`, `STORE_NOT_AVAILABLE`, `STORE_MIGRATED`,
   * `STORE_UNKNOWN`, `STREAMS_STOPPED`).
   */
  store<D extends AnyStore>(descriptor: D): QueryableStore<D> {
    assertDescriptor(descriptor)
    const { endpoint, applicationId } = this.#config
    const servedBy = endpoint === undefined ? applicationId : hostKey(endpoint)
    return localStore(this.#target, descriptor, servedBy)
  }

  /**
   * What the query service needs to know of this instance.
   *
   * @internal
   */
  get queryTarget(): QueryTarget {
    return this.#target
  }

  /**
   * Who holds this key of a store; of a global store every instance does, and the partition is -1.
   * Throws `STORE_UNKNOWN`, and `STREAMS_REBALANCING` while the topics that feed it are not known yet.
   */
  queryMetadataForKey<K>(
    store: { readonly name: string; readonly key: { serialize(key: K): Uint8Array } },
    key: K,
  ): KeyQueryMetadata {
    assertDescriptor(store)
    return keyMetadata(this.#view, store.name, () => store.key.serialize(key))
  }

  /** All instances that hold a part of the store and have an endpoint. */
  streamsMetadataForStore(store: string): StreamsMetadata[] {
    return this.allMetadata().filter(({ stores }) => stores.includes(store))
  }

  /** All instances that have an endpoint; empty before the first rebalance. */
  allMetadata(): StreamsMetadata[] {
    return instanceMetadata(this.#view)
  }

  /** The tasks that this instance holds; the one that keeps the global stores has the role `global`. */
  localTasks(): LocalTask[] {
    return this.#workers?.localTasks() ?? []
  }

  /**
   * How far each partition of a store that this instance holds is behind its changelog, in whatever
   * role: by store and partition. Unlike in Java nothing is asked of the brokers: ends of changelogs are
   * those that they told last.
   *
   * @example
   * const lag = streams.allLocalStorePartitionLags().get('word-counts')?.get(0)?.offsetLag
   */
  allLocalStorePartitionLags(): ReadonlyMap<string, ReadonlyMap<number, LagInfo>> {
    return this.#workers?.storeLags() ?? new Map()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #begin(): void {
    this.#setState('rebalancing')
    if (this.#program.topology === undefined) void this.#import()
    else this.#open()
  }

  async #import(): Promise<void> {
    try {
      await this.#program.load()
      // It may have been closed meanwhile.
      if (this.#state !== 'rebalancing') return
      this.#config = { ...this.#program.config, log: this.#log }
    } catch (error) {
      return this.#failToBegin(error)
    }
    this.#open()
  }

  #open(): void {
    try {
      this.#directory = this.#openDirectory()
      this.#client = openInstanceClient(this.#config, this.#ports, this.#directory.processId)
      this.#workers = this.#makeWorkers(this.#client, this.#directory)
      if (this.#isPaused) this.#workers.pause()
      this.#workers.start()
      void this.#workers.done.then(() => this.#workersEnded())
    } catch (error) {
      if (this.#wait.retry(error, () => this.#open())) return
      this.#failToBegin(error)
    }
  }

  #failToBegin(error: unknown): void {
    if (this.#state !== 'rebalancing') return
    this.#fail(error instanceof Error ? error : new Error(messageOf(error)))
    void this.#finish('error')
  }

  #openDirectory(): StateDirectory {
    return openInstanceDirectory({
      topology: this.#program.topology,
      config: this.#config,
      ports: this.#ports,
      metrics: this.metrics,
      onLost: (error) => this.#directoryLost(error),
    })
  }

  /** Another process writes to the files: this one must not, not even to commit. */
  #directoryLost(error: StreamsError): void {
    this.#fail(error)
    void this.#cutConnections()
    void this.#workers?.stop('remain')
  }

  #makeWorkers(client: KafkaClient, directory: StateDirectory): InstanceWorkers {
    const { workers } = this.#config
    const { topology } = this.#program
    assert(topology !== undefined, 'the module of the topology was imported')
    const threads = WorkerThreads.of(this.#program, {
      config: this.#config,
      ports: this.#ports,
      client,
      directory,
      descriptor: (store) => this.#view.descriptor(store),
      onReport: () => this.#workers?.collect(),
    })
    this.#threads = threads
    return new InstanceWorkers({
      topology,
      config: this.#config,
      ports: this.#ports,
      client,
      state: threads?.state ?? new DirectoryState(directory),
      metrics: this.metrics,
      crew: workers === 1 && threads === undefined ? 'alone' : 'several',
      numbers: Array.from({ length: workers }, (_, index) => index + 1),
      makeWorker: threads && ((number, listener) => threads.make(number, listener)),
      listener: {
        onStatus: (status) => {
          if (this.#setState(status) && status === 'running') this.#running.resolve()
        },
        onTasks: () => undefined,
        onRestore: (progress) => this.#emitter.restore(progress),
        onStandbyUpdate: (update) => this.#emitter.standbyUpdate(update),
        onHosts: (hosts) => this.#view.setHosts(hosts),
        onFailure: (error) => this.#fail(error),
      },
    })
  }

  #fail(error: Error): void {
    if (this.#cut.signal.aborted && error !== this.#workers?.lost) return
    this.#failure ??= error
    this.#log.error('the instance stops', { error: error.message })
    this.#setState('pending-error')
    this.#running.reject(error)
    this.#emitter.error(error)
  }

  /** After a failure; `close` sees to the end of the others. */
  async #workersEnded(): Promise<void> {
    if (this.#state === 'pending-error') await this.#finish('error')
  }

  async #finish(state: 'not-running' | 'error'): Promise<void> {
    this.#wait.cancel()
    this.#threads?.close()
    await this.#client?.close()
    if (this.#workers?.lost === undefined) this.#directory?.close()
    else this.#directory?.keep()
    this.#setState(state)
    this.#log.close()
    if (this.#failure === undefined) this.#closed.resolve()
    else this.#closed.reject(this.#failure)
  }

  async #cutConnections(): Promise<void> {
    this.#log.warn('closing took too long, connections are cut')
    this.#cut.abort()
    await Promise.all([this.#client?.close(), this.#workers?.cut()])
  }

  #setState(now: StreamsState): boolean {
    const before = this.#state
    if (!canTransition(before, now)) return false
    this.#state = now
    this.#log.info('the state changed', { now, before })
    this.#emitter.stateChange(now, before)
    return true
  }
}
