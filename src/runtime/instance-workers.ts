import type { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import type { HostMap } from '../group/membership.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { StateDirectory } from '../store/state-directory.ts'
import type { Topology } from '../topology/topology.ts'
import { GlobalWorker } from './global-worker.ts'
import { StreamWorker, type WorkerListener } from './stream-worker.ts'
import type { LocalTask } from './streams-metadata.ts'

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
 * worker begins, since its tasks may read them. Both end together.
 */
export class InstanceWorkers {
  readonly #options: InstanceWorkersOptions
  readonly #cacheBytesMax: number
  #measuring: Disposable | undefined
  #global: GlobalWorker | undefined
  #worker: StreamWorker | undefined
  #isPaused = false
  #isStopping = false
  #failing: Promise<void> | undefined

  constructor(options: InstanceWorkersOptions) {
    this.#options = options
    const { topology, config } = options
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
        restoring: worker?.restoreLags(id) ?? [],
      })
    }
    return tasks
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
    if (this.#isStopping) return
    if (topology.subtopologies.length === 0) {
      // Global stores are all that there is: nobody holds anything that others do not.
      listener.onHosts(new Map())
      listener.onStatus('running')
      this.#measuring = metrics.registry.onCollect(() => this.#measure())
      return
    }
    this.#worker = this.#makeWorker()
    if (this.#isPaused) this.#worker.pause()
    // After the worker's own collector, which sets the same gauges.
    this.#measuring = metrics.registry.onCollect(() => this.#measure())
    this.#worker.start()
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
        stored: () => directory.tasks(),
        wipe: (id) => directory.removeTask(id),
      },
      listener: {
        onStatus: (status) => listener.onStatus(status),
        onRestore: (progress) => listener.onRestore(progress),
        onHosts: (hosts: HostMap) => listener.onHosts(hosts),
        onFailure: (error) => this.#workerFailed(error),
      },
    })
  }

  /** The worker commits what it has done before the stores that it reads are closed. */
  async #globalFailed(error: Error): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#options.listener.onFailure(error)
    await this.#worker?.stop('leave')
  }

  #workerFailed(error: Error): void {
    this.#options.listener.onFailure(error)
    this.#failing ??= this.#global?.stop()
  }

  /** Commits, closes the tasks, leaves the group (or stays silent until the session is over), ends. */
  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#isStopping = true
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
    await this.#worker?.done
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
