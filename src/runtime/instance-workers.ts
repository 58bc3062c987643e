import { sleep } from '../base/clock.ts'
import { Backoff } from '../client/backoff.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import type { HostMap } from '../group/membership.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { parseTaskId } from '../processor/record-metadata.ts'
import type { StateDirectory } from '../store/state-directory.ts'
import type { Topology } from '../topology/topology.ts'
import { GlobalWorker } from './global-worker.ts'
import { StreamWorker, type WorkerListener } from './stream-worker.ts'
import { lagInfo, type LagInfo, type LocalTask } from './streams-metadata.ts'
import { decideUncaught } from './uncaught-error.ts'

/** First and longest wait before a worker that failed is replaced. */
const replaceBackoffMs = 500
const replaceBackoffMaxMs = 30_000

/** A worker that has lived longer fails for a new reason: its successor need not wait long. */
const calmMs = 60_000

export interface InstanceWorkersOptions {
  readonly topology: Topology
  readonly config: ResolvedConfig
  readonly ports: Ports
  readonly client: KafkaClient
  readonly directory: StateDirectory
  readonly metrics: StreamsMetrics
  readonly listener: WorkerListener
}

/**
 * The loops of an instance: one keeps its global stores, if it has any; when these are restored, the
 * worker begins, since its tasks may read them. Both end together. A worker that fails is replaced when
 * the program wants that.
 */
export class InstanceWorkers {
  readonly #options: InstanceWorkersOptions
  readonly #cacheBytesMax: number
  #measuring: Disposable | undefined
  #global: GlobalWorker | undefined
  #worker: StreamWorker | undefined
  #isPaused = false
  /** Aborted: no worker begins any more. */
  readonly #stopping = new AbortController()
  readonly #backoff: Backoff
  /** The worker that fails is to be replaced. */
  #isReplacing = false
  /** Why all instances are to stop, when the worker has ended. */
  #stopReason: string | undefined
  #working: Promise<void> = Promise.resolve()

  constructor(options: InstanceWorkersOptions) {
    this.#options = options
    const { topology, config, ports } = options
    this.#backoff = new Backoff({
      baseMs: replaceBackoffMs,
      maxMs: replaceBackoffMaxMs,
      random: ports.random,
    })
    const isShared = topology.globalStores.length > 0 && topology.subtopologies.length > 0
    this.#cacheBytesMax = isShared ? Math.floor(config.cacheBytes / 2) : config.cacheBytes
  }

  /** Undefined before the global stores are restored, or when there is nothing but global stores. */
  get worker(): StreamWorker | undefined {
    return this.#worker
  }

  /** Undefined when there are no global stores. */
  get global(): GlobalWorker | undefined {
    return this.#global
  }

  /** All tasks, that of the global stores included. */
  localTasks(): LocalTask[] {
    const global = this.#global
    const worker = this.#worker
    const tasks: LocalTask[] = []
    if (global?.task !== undefined) {
      const { id, inputs } = global.task
      tasks.push({
        id,
        role: 'global',
        state: global.isRestored ? 'running' : 'restoring',
        inputs: inputs.map(({ topic, partition }) => ({ topic, partition })),
        restoring: global.restoreLags(),
      })
    }
    for (const { id, state, inputs } of worker?.tasks.tasks.values() ?? []) {
      tasks.push({
        id,
        role: 'active',
        state: state === 'running' ? 'running' : 'restoring',
        inputs: inputs.map(({ topic, partition }) => ({ topic, partition })),
        restoring: worker?.lags.restoring({ id, role: 'active' }) ?? [],
      })
    }
    for (const id of worker?.tasks.standbys.all.keys() ?? []) {
      const restoring = worker?.lags.restoring({ id, role: 'standby' }) ?? []
      tasks.push({ id, role: 'standby', state: 'running', inputs: [], restoring })
    }
    return tasks
  }

  /** How far the stores of all tasks are, by store and partition; global stores have no changelogs. */
  storeLags(): Map<string, Map<number, LagInfo>> {
    const all = new Map<string, Map<number, LagInfo>>()
    const worker = this.#worker
    for (const task of worker?.tasks.all() ?? []) {
      const { partition } = parseTaskId(task.id)
      for (const lag of worker?.lags.all(task) ?? []) {
        const ofStore = all.get(lag.store) ?? new Map<number, LagInfo>()
        ofStore.set(partition, lagInfo(lag))
        all.set(lag.store, ofStore)
      }
    }
    return all
  }

  /** Does not wait for anything. What fails later is told to the listener. */
  start(): void {
    if (this.#options.topology.globalStores.length === 0) {
      this.#startWorker()
      return
    }
    this.#global = this.#makeGlobal()
    this.#global.start()
  }

  #startWorker(): void {
    const { topology, listener, metrics } = this.#options
    if (this.#stopping.signal.aborted) return
    if (topology.subtopologies.length === 0) {
      // Global stores are all that there is: nobody holds anything that others do not.
      listener.onHosts(new Map())
      listener.onStatus('running')
      this.#measuring = metrics.registry.onCollect(() => this.#measure())
      return
    }
    this.#working = this.#runWorkers()
  }

  /** One worker after the other, as long as they are replaced. */
  async #runWorkers(): Promise<void> {
    const { clock } = this.#options.ports
    const { signal } = this.#stopping
    do {
      this.#isReplacing = false
      const startedAt = clock.monotonic()
      await this.#runWorker()
      if (this.#stopReason !== undefined) await this.#worker?.stopApplication(this.#stopReason)
      if (clock.monotonic() - startedAt > calmMs) this.#backoff.reset()
      if (this.#isReplacing) await sleep(clock, this.#backoff.next(), signal)
    } while (this.#isReplacing && !signal.aborted)
  }

  async #runWorker(): Promise<void> {
    const { metrics } = this.#options
    const worker = this.#makeWorker()
    this.#worker = worker
    if (this.#isPaused) worker.pause()
    // After the worker's own collector, which sets the same gauges.
    this.#measuring?.[Symbol.dispose]()
    this.#measuring = metrics.registry.onCollect(() => this.#measure())
    worker.start()
    await worker.done
  }

  #makeGlobal(): GlobalWorker {
    const { topology, directory, listener, ...options } = this.#options
    return new GlobalWorker({
      ...options,
      globalStores: topology.globalStores,
      cacheBytesMax: this.#cacheBytesMax,
      state: {
        engines: () => directory.engines('global'),
        wipe: () => directory.removeTask('global'),
      },
      listener: {
        onRestore: (progress) => listener.onRestore(progress),
        onRestored: () => this.#startWorker(),
        onFailure: (error) => this.#globalFailed(error),
      },
    })
  }

  #makeWorker(): StreamWorker {
    const { config, directory, listener, ...options } = this.#options
    return new StreamWorker({
      ...options,
      config: { ...config, cacheBytes: this.#cacheBytesMax },
      processId: directory.processId,
      globalStore: (name) => this.#global?.task?.globalStore(name),
      states: {
        engines: (id) => directory.engines(id),
        storedOffsets: () => directory.storedOffsets(),
        wipe: (id) => directory.removeTask(id),
      },
      listener: {
        onStatus: (status) => listener.onStatus(status),
        onRestore: (progress) => listener.onRestore(progress),
        onStandbyUpdate: (update) => listener.onStandbyUpdate(update),
        onHosts: (hosts: HostMap) => listener.onHosts(hosts),
        onFailure: (error) => this.#workerFailed(error),
      },
    })
  }

  /**
   * The worker commits what it has done before the stores that it reads are closed. Nobody can take the
   * place of the loop that keeps them.
   */
  async #globalFailed(cause: Error): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    const { listener, config } = this.#options
    const { response, error } = decideUncaught(config.onUncaughtError, cause)
    if (response === 'stop-application') this.#stopAll(error.message)
    listener.onFailure(error)
    if (this.#stopReason !== undefined && this.#worker === undefined) {
      config.log.warn('the other instances are not stopped, this one is in no group yet')
    }
    await this.#worker?.stop('leave')
    await this.#working
  }

  /** Said by the worker while it leaves, or after it has ended. */
  #stopAll(reason: string): void {
    this.#stopReason = reason
    this.#worker?.announceStop()
  }

  #workerFailed(cause: Error): void {
    const { listener, config } = this.#options
    if (this.#stopping.signal.aborted) return listener.onFailure(cause)
    const { response, error } = decideUncaught(config.onUncaughtError, cause)
    if (response === 'replace-worker') {
      config.log.error('the worker failed and is replaced', { error: error.message })
      this.#isReplacing = true
      return listener.onStatus('rebalancing')
    }
    this.#stopping.abort()
    if (response === 'stop-application') this.#stopAll(error.message)
    listener.onFailure(error)
    void this.#global?.stop()
  }

  /** Commits, closes the tasks, leaves the group (or stays silent until the session is over), ends. */
  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#stopping.abort()
    await this.#worker?.stop(mode)
    await this.#global?.stop()
    await this.done
  }

  /** Resolves when all that has been started has ended. Never rejects. */
  get done(): Promise<void> {
    return this.#end()
  }

  async #end(): Promise<void> {
    await this.#global?.done
    await this.#working
    this.#measuring?.[Symbol.dispose]()
  }

  pause(): void {
    this.#isPaused = true
    this.#worker?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#worker?.resume()
  }

  /** The worker has measured itself alone. */
  #measure(): void {
    const { metrics } = this.#options
    const task = this.#global?.task
    if (task === undefined) return
    const tasks = this.#worker?.tasks
    metrics.stateMemoryBytes.set((tasks?.memoryBytes() ?? 0) + task.memoryBytes())
    metrics.dirtyBytes.set((tasks?.dirtyBytes() ?? 0) + task.dirtyBytes())
  }
}
