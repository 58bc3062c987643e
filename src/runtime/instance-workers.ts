import type { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import type { StreamsError } from '../errors.ts'
import { MergedMetrics } from '../metrics/merged-metrics.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { Topology } from '../topology/topology.ts'
import { GlobalWorker } from './global-worker.ts'
import { openInstanceClient } from './instance-client.ts'
import type { InstanceState } from './instance-state.ts'
import { LocalWorker } from './local-worker.ts'
import type { WorkerListener } from './stream-worker.ts'
import type { LagInfo, LocalTask, LocalWorkerInfo } from './streams-metadata.ts'
import { decideUncaught } from './uncaught-error.ts'
import type { WorkerHandle } from './worker-handle.ts'
import { WorkerSlot, type FailureVerdict } from './worker-slot.ts'

/** Makes the worker of this number. */
export type WorkerMaker = (number: number, listener: WorkerListener) => WorkerHandle

export interface InstanceWorkersOptions {
  readonly topology: Topology
  readonly config: ResolvedConfig
  readonly ports: Ports
  readonly client: KafkaClient
  readonly state: InstanceState
  readonly metrics: StreamsMetrics
  readonly listener: WorkerListener
  /** `alone`: one worker for ever, which shares client and metrics with the instance. */
  readonly crew: 'alone' | 'several'
  /** Of the workers that begin. */
  readonly numbers: readonly number[]
  /** Threads that share the memory of an instance, when this is one of them. Default 1. */
  readonly sharers?: number
  /** Default: in this thread. */
  readonly makeWorker?: WorkerMaker | undefined
}

/**
 * The loops of an instance: one keeps its global stores, if it has any; when these are restored, the
 * workers begin, since their tasks may read them. All end together. A worker that fails is replaced when
 * the program wants that, and others may be added and removed.
 *
 * Workers in threads of their own keep the global stores there as well: none are here then.
 */
export class InstanceWorkers {
  readonly #options: InstanceWorkersOptions
  readonly #cacheBytesMax: number
  readonly #merged: MergedMetrics
  readonly #slots = new Map<number, WorkerSlot>()
  #measuring: Disposable | undefined
  #global: GlobalWorker | undefined
  /** Workers in other threads share the memory as well; undefined: only those here do. */
  #sharers: number | undefined
  #isPaused = false
  #hasBegun = false
  #hasFailed = false
  #lost: StreamsError | undefined
  /** Aborted: no worker begins any more. */
  readonly #stopping = new AbortController()

  constructor(options: InstanceWorkersOptions) {
    this.#options = options
    const { topology, config, metrics } = options
    const isShared = topology.globalStores.length > 0 && topology.subtopologies.length > 0
    this.#cacheBytesMax = isShared ? Math.floor(config.cacheBytes / 2) : config.cacheBytes
    this.#sharers = options.sharers
    this.#merged = new MergedMetrics(metrics.registry)
  }

  /** Those that have begun, in the order of their numbers. */
  get workers(): WorkerHandle[] {
    return this.#ordered().flatMap(({ worker }) => worker ?? [])
  }

  /** Undefined when there are no global stores in this thread. */
  get global(): GlobalWorker | undefined {
    return this.#global
  }

  /** All tasks, that of the global stores included. */
  localTasks(): LocalTask[] {
    const global = this.#global
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
    const others = this.workers.flatMap((worker) => worker.tasks())
    // Each thread has the global stores: as of one task.
    const isOnce = ({ role }: LocalTask, index: number): boolean =>
      role !== 'global' || others.findIndex((one) => one.role === role) === index
    return [...tasks, ...others.filter(isOnce)]
  }

  /** The workers with their tasks. */
  localWorkers(): LocalWorkerInfo[] {
    return this.#ordered().map(({ number, status, worker }) => ({
      number,
      state: status,
      tasks: worker?.tasks() ?? [],
    }))
  }

  /** How far the stores of all tasks are, by store and partition; global stores have no changelogs. */
  storeLags(): Map<string, Map<number, LagInfo>> {
    const all = new Map<string, Map<number, LagInfo>>()
    for (const { store, partition, lag } of this.workers.flatMap((worker) => worker.storeLags())) {
      const ofStore = all.get(store) ?? new Map<number, LagInfo>()
      ofStore.set(partition, lag)
      all.set(store, ofStore)
    }
    return all
  }

  /** Does not wait for anything. What fails later is told to the listener. */
  start(): void {
    const { topology, makeWorker } = this.#options
    if (topology.globalStores.length === 0 || makeWorker !== undefined) {
      this.#startWorkers()
      return
    }
    this.#global = this.#makeGlobal()
    this.#global.start()
  }

  #startWorkers(): void {
    const { topology, listener, numbers } = this.#options
    if (this.#stopping.signal.aborted) return
    this.#hasBegun = true
    if (topology.subtopologies.length === 0) {
      // Global stores are all that there is: nobody holds anything that others do not.
      listener.onHosts(new Map())
      listener.onStatus('running')
      this.#measureLast()
      return
    }
    for (const number of numbers) this.#addSlot(number)
    for (const slot of this.#slots.values()) slot.start()
  }

  #addSlot(number: number): WorkerSlot {
    const { ports, listener } = this.#options
    const slot: WorkerSlot = new WorkerSlot({
      number,
      clock: ports.clock,
      random: ports.random,
      make: (workerListener) => this.#makeWorker(number, workerListener),
      listener: {
        onTasks: () => listener.onTasks(),
        onRestore: (progress) => listener.onRestore(progress),
        onStandbyUpdate: (update) => listener.onStandbyUpdate(update),
        onHosts: (hosts) => listener.onHosts(hosts),
        onStatus: () => this.#tellStatus(),
        onFailure: (error) => this.#workerFailed(slot, error),
        onEnd: (lost) => this.#workerEnded(slot, lost),
      },
    })
    if (this.#isPaused) slot.pause()
    this.#slots.set(number, slot)
    this.#shareMemory()
    return slot
  }

  /** A worker has told what it has counted. */
  collect(): void {
    for (const number of this.#slots.keys()) this.#merge(number)
  }

  /** Adds a worker under the lowest number that is free, and returns that. */
  add(): number {
    let number = 1
    while (this.#slots.has(number)) number += 1
    const slot = this.#addSlot(number)
    slot.start()
    this.#tellStatus()
    return number
  }

  /** True: workers may be added. */
  get mayAdd(): boolean {
    return this.#options.crew === 'several' && this.#hasBegun && !this.#stopping.signal.aborted
  }

  /**
   * Ends the worker with the highest number, whose tasks go over to the others, and returns that; undefined:
   * there is none. `onBegin`: told how to end it at once. Throws `WORKER_DIED` when it cannot be ended.
   */
  async remove(onBegin: (cut: () => Promise<void>) => void): Promise<number | undefined> {
    const slot = this.#ordered().findLast(({ isStopping }) => !isStopping)
    if (slot === undefined) return undefined
    const stopped = slot.stop('leave')
    this.#tellStatus()
    onBegin(async () => slot.worker?.cut())
    await stopped
    if (slot.lost !== undefined) throw slot.lost
    this.#slots.delete(slot.number)
    this.#shareMemory()
    return slot.number
  }

  #ordered(): WorkerSlot[] {
    return [...this.#slots.values()].sort((a, b) => a.number - b.number)
  }

  /** So many workers share the memory of the instance, those in other threads included. */
  shareMemory(workers: number): void {
    this.#sharers = workers
    this.#shareMemory()
  }

  #shareMemory(): void {
    const count = this.#sharers ?? this.#slots.size
    for (const worker of this.workers) worker.shareMemory(count)
  }

  /** The instance runs when all its workers do, but for those that leave. */
  #tellStatus(): void {
    const { listener } = this.#options
    const live = [...this.#slots.values()].filter(({ isStopping }) => !isStopping)
    listener.onStatus(live.every(({ status }) => status === 'running') ? 'running' : 'rebalancing')
  }

  #makeWorker(number: number, listener: WorkerListener): WorkerHandle {
    const worker = this.#options.makeWorker?.(number, listener) ?? this.#makeLocal(number, listener)
    worker.shareMemory(this.#sharers ?? this.#slots.size)
    this.#measureLast()
    return worker
  }

  #makeLocal(number: number, listener: WorkerListener): LocalWorker {
    const { topology, config: given, ports, state, crew } = this.#options
    const isOnly = crew === 'alone'
    const cached = { ...given, cacheBytes: this.#cacheBytesMax }
    const config = isOnly ? cached : ofWorker(cached, state.processId, number)
    return new LocalWorker({
      topology,
      config,
      ports,
      listener,
      client: isOnly ? this.#options.client : openInstanceClient(config, ports, state.processId),
      metrics: isOnly ? this.#options.metrics : new StreamsMetrics(),
      processId: state.processId,
      workerNumber: number,
      globalStore: (name) => this.#global?.task?.globalStore(name),
      states: state.of(number),
      isOnly,
    })
  }

  #makeGlobal(): GlobalWorker {
    const { topology, state, listener, ...options } = this.#options
    return new GlobalWorker({
      ...options,
      globalStores: topology.globalStores,
      cacheBytesMax: Math.floor(this.#cacheBytesMax / (this.#sharers ?? 1)),
      state: state.global,
      listener: {
        onRestore: (progress) => listener.onRestore(progress),
        onRestored: () => this.#startWorkers(),
        onFailure: (error) => this.#globalFailed(error),
      },
    })
  }

  /**
   * The workers commit what they have done before the stores that they read are closed. Nobody can take the
   * place of the loop that keeps them.
   */
  async #globalFailed(cause: Error): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    const { config } = this.#options
    const { response, error } = decideUncaught(config.onUncaughtError, cause)
    const [slot] = this.#ordered()
    const isStop = response === 'stop-application'
    if (isStop) slot?.worker?.announceStop()
    this.#fail(error)
    if (isStop && slot === undefined) {
      config.log.warn('the other instances are not stopped, this one is in no group yet')
    }
    await this.#stopSlots('leave')
    if (isStop) await slot?.worker?.stopApplication(error.message)
  }

  #workerFailed(slot: WorkerSlot, cause: Error): FailureVerdict {
    const { config } = this.#options
    if (this.#stopping.signal.aborted) {
      this.#fail(cause)
      return { kind: 'end' }
    }
    if (slot.isStopping) {
      // It was removed: whoever gets its tasks begins at their last commit.
      config.log.warn('a worker that was removed failed', {
        worker: slot.number,
        error: cause.message,
      })
      return { kind: 'end' }
    }
    const { response, error } = decideUncaught(config.onUncaughtError, cause)
    if (response === 'replace-worker') {
      config.log.error('the worker failed and is replaced', { error: error.message })
      return { kind: 'replace' }
    }
    this.#stopping.abort()
    this.#fail(error)
    void this.#stopOthers(slot)
    const isStop = response === 'stop-application'
    return { kind: 'end', stopApplication: isStop ? error.message : undefined }
  }

  /** The first failure is the reason; others follow from it, or come too late. */
  #fail(error: Error): void {
    const { listener, config } = this.#options
    if (this.#hasFailed) {
      config.log.warn('another worker failed as well', { error: error.message })
      return
    }
    this.#hasFailed = true
    listener.onFailure(error)
  }

  #workerEnded(slot: WorkerSlot, lost: StreamsError | undefined): void {
    const { number } = slot
    this.#merge(number)
    this.#merged.remove(number)
    if (lost === undefined) this.#options.state.forget(number)
    else this.#workerLost(slot, lost)
  }

  /** Whoever opened its state, in this instance or in one after it, would stand still: nobody may. */
  #workerLost(slot: WorkerSlot, error: StreamsError): void {
    this.#lost ??= error
    this.#hasFailed = true
    this.#options.listener.onFailure(error)
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    void this.#stopOthers(slot)
  }

  /** Why a worker could not be ended: its state is open as long as the process lives. */
  get lost(): StreamsError | undefined {
    return this.#lost
  }

  async #stopOthers(failed: WorkerSlot): Promise<void> {
    await this.#stopSlots('leave', failed)
    await failed.done
    await this.#global?.stop()
  }

  async #stopSlots(mode: 'leave' | 'remain', except?: WorkerSlot): Promise<void> {
    const slots = [...this.#slots.values()].filter((slot) => slot !== except)
    await Promise.all(slots.map((slot) => slot.stop(mode)))
  }

  /** Commits, closes the tasks, leaves the group (or stays silent until the session is over), ends. */
  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#stopping.abort()
    await this.#stopSlots(mode)
    await this.#global?.stop()
    await this.done
  }

  /** What waits for brokers fails, and threads that do not end are ended. */
  async cut(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.cut()))
  }

  /** Resolves when all that has been started has ended, and nothing begins any more. Never rejects. */
  get done(): Promise<void> {
    return this.#end()
  }

  async #end(): Promise<void> {
    const { signal } = this.#stopping
    if (!signal.aborted) {
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    await this.#global?.done
    await Promise.all([...this.#slots.values()].map((slot) => slot.done))
    this.#measuring?.[Symbol.dispose]()
  }

  pause(): void {
    this.#isPaused = true
    for (const slot of this.#slots.values()) slot.pause()
  }

  resume(): void {
    this.#isPaused = false
    for (const slot of this.#slots.values()) slot.resume()
  }

  /** After the collector of a worker that is alone, which sets the same gauges. */
  #measureLast(): void {
    this.#measuring?.[Symbol.dispose]()
    this.#measuring = this.#options.metrics.registry.onCollect(() => this.#measure())
  }

  #measure(): void {
    this.collect()
    const { metrics } = this.#options
    const task = this.#global?.task
    if (task === undefined) return
    const bytes = this.workers.map((worker) => worker.stateBytes())
    const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
    metrics.stateMemoryBytes.set(sum(bytes.map(({ memory }) => memory)) + task.memoryBytes())
    metrics.dirtyBytes.set(sum(bytes.map(({ dirty }) => dirty)) + task.dirtyBytes())
  }

  /** Adds up what the worker has counted. */
  #merge(number: number): void {
    const slot = this.#slots.get(number)
    // What one has counted that has ended is in the sum already.
    if (this.#options.crew === 'alone' || slot?.isWorking !== true) return
    this.#merged.update(number, slot.worker?.metrics() ?? [])
  }
}

/** The options of one of several workers: what names a member names each of them. */
export function ofWorker(
  config: ResolvedConfig,
  processId: string,
  number: number,
): ResolvedConfig {
  const { applicationId, clientId, groupInstanceId } = config
  return {
    ...config,
    clientId: `${clientId ?? `${applicationId}-${processId}`}-${number}`,
    // As Java names the members of its threads.
    groupInstanceId: groupInstanceId && `${groupInstanceId}-${number}`,
  }
}
