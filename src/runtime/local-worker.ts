import { readMetrics, type FamilyReading } from '../metrics/merged-metrics.ts'
import { parseTaskId, type TaskId } from '../processor/record-metadata.ts'
import type { BuiltStore } from '../store/store-builder.ts'
import type { StreamTask } from '../task/stream-task.ts'
import type { Task } from '../task/task.ts'
import { findStore, sourceTopics, taskCount } from '../topology/topology.ts'
import { StreamWorker, type StreamWorkerOptions } from './stream-worker.ts'
import { lagInfo, type LocalTask } from './streams-metadata.ts'
import type {
  HeldPartition,
  HeldView,
  StateBytes,
  StoreLag,
  WorkerHandle,
} from './worker-handle.ts'

export interface LocalWorkerOptions extends StreamWorkerOptions {
  /** True: client and metrics are those of the instance, which sees to them. */
  readonly isOnly: boolean
}

/** A worker in this thread, with its stores at hand. */
export class LocalWorker implements WorkerHandle {
  readonly #options: LocalWorkerOptions
  readonly #worker: StreamWorker

  constructor(options: LocalWorkerOptions) {
    this.#options = options
    this.#worker = new StreamWorker(options)
  }

  start(): void {
    this.#worker.start()
  }

  get done(): Promise<void> {
    return this.#worker.done
  }

  stop(mode: 'leave' | 'remain'): Promise<void> {
    return this.#worker.stop(mode)
  }

  announceStop(): void {
    this.#worker.announceStop()
  }

  stopApplication(reason: string): Promise<void> {
    return this.#worker.stopApplication(reason)
  }

  async cut(): Promise<void> {
    if (!this.#options.isOnly) await this.#options.client.close()
  }

  async close(): Promise<undefined> {
    await this.cut()
  }

  pause(): void {
    this.#worker.pause()
  }

  resume(): void {
    this.#worker.resume()
  }

  shareMemory(workers: number): void {
    this.#worker.shareMemory(workers)
  }

  tasks(): LocalTask[] {
    const { tasks: manager, lags } = this.#worker
    const tasks: LocalTask[] = []
    for (const { id, state, inputs } of manager.tasks.values()) {
      tasks.push({
        id,
        role: 'active',
        state: state === 'running' ? 'running' : 'restoring',
        inputs: inputs.map(({ topic, partition }) => ({ topic, partition })),
        restoring: lags.restoring({ id, role: 'active' }),
      })
    }
    for (const id of manager.standbys.all.keys()) {
      const restoring = lags.restoring({ id, role: 'standby' })
      tasks.push({ id, role: 'standby', state: 'running', inputs: [], restoring })
    }
    return tasks
  }

  storeLags(): StoreLag[] {
    const { tasks, lags } = this.#worker
    return [...tasks.all()].flatMap((task) => {
      const { partition } = parseTaskId(task.id)
      return lags
        .all(task)
        .map((one): StoreLag => ({ store: one.store, partition, lag: lagInfo(one) }))
    })
  }

  held(id: TaskId, store: string): HeldPartition | undefined {
    const { tasks, lags, isCutOff } = this.#worker
    const task = tasks.tasks.get(id)
    if (task === undefined) return this.#standby(tasks.standbys.all.get(id), store)
    return {
      // Others may own it by now: what is here is as good as what a standby has that hears nothing.
      role: isCutOff ? 'standby' : 'active',
      // Also of a task that restores: a store that has all there is need not wait for the others.
      state: lags.isComplete(task, store) ? 'running' : 'restoring',
      view: viewOf(task.store(store)),
      lag: lags.of(task, store),
      isCutOff,
      position: positionOf(task),
    }
  }

  #standby(task: Task | undefined, store: string): HeldPartition | undefined {
    // A store without a changelog is empty in a standby, whatever its task has.
    if (task?.changelogs.some((changelog) => changelog.store === store) !== true) return undefined
    const view = viewOf(task.store(store))
    return {
      role: 'standby',
      state: 'running',
      view,
      lag: this.#worker.lags.of(task, store),
      // The owner goes on to write, and nobody tells how much.
      isCutOff: this.#worker.isCutOff,
      position: {},
    }
  }

  partitionCount(store: string): number | undefined {
    const { client, config } = this.#options
    const { applicationId } = config
    // With the topics that its patterns match, once the group has told.
    const found = findStore(this.#worker.topology, store)
    if (found === undefined) return undefined
    const counts = new Map<string, number>()
    for (const topic of sourceTopics(applicationId, found.subtopology)) {
      const count = client.partitionCount(topic)
      if (count === undefined) return undefined
      counts.set(topic, count)
    }
    return taskCount(applicationId, found.subtopology, counts)
  }

  metrics(): FamilyReading[] {
    const { isOnly, metrics } = this.#options
    return isOnly ? [] : readMetrics(metrics.registry)
  }

  stateBytes(): StateBytes {
    const { tasks } = this.#worker
    return { memory: tasks.memoryBytes(), dirty: tasks.dirtyBytes() }
  }
}

/** Undefined: nobody asks for what an operator holds back. */
export function viewOf(store: BuiltStore | undefined): HeldView | undefined {
  return store !== undefined && 'readView' in store ? store.readView() : undefined
}

function positionOf(task: StreamTask): Record<string, Record<string, number>> {
  const position: Record<string, Record<string, number>> = {}
  for (const { topic, partition } of task.inputs) {
    const offset = task.position(topic, partition)
    if (offset !== undefined) position[topic] = { ...position[topic], [partition]: offset }
  }
  return position
}
