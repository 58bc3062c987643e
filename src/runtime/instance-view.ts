import type { Endpoint, HostMap } from '../group/membership.ts'
import { taskId, type TaskId } from '../processor/record-metadata.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { ReadView } from '../store/read-view.ts'
import { TypedStore } from '../store/typed-store.ts'
import type { StreamTask } from '../task/stream-task.ts'
import { findStore, sourceTopics, taskCount, type Topology } from '../topology/topology.ts'
import type { StreamWorker } from './stream-worker.ts'
import type { StreamsState } from './streams-state.ts'

/** A partition of a store that this instance holds. */
export interface HeldPartition {
  readonly role: 'active'
  readonly state: 'restoring' | 'running'
  /** Undefined while restoring. */
  readonly view: ReadView<unknown, unknown> | undefined
  /** Changelog records that are not in the store yet. */
  readonly lag: number
  /** By topic and partition, the next offset to be processed. */
  readonly position: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export interface InstanceViewOptions {
  readonly topology: Topology
  readonly applicationId: string
  readonly state: () => StreamsState
  /** Undefined before the start. */
  readonly worker: () => StreamWorker | undefined
  /** Partitions of a topic, as the client knows it. */
  readonly topicPartitions: (topic: string) => number | undefined
}

/**
 * What can be seen of an instance from outside its worker: which stores there are, who holds them,
 * and what is here. Everything is looked up at the moment of the call.
 */
export class InstanceView {
  readonly #options: InstanceViewOptions
  readonly storeNames: readonly string[]
  #hosts: HostMap | undefined

  constructor(options: InstanceViewOptions) {
    this.#options = options
    this.storeNames = options.topology.subtopologies.flatMap(({ stores }) =>
      stores.map(({ descriptor }) => descriptor.name),
    )
  }

  /** The worker has heard from the group. */
  setHosts(hosts: HostMap): void {
    this.#hosts = hosts
  }

  get availability(): 'not-started' | 'rebalancing' | 'running' | 'stopped' {
    const state = this.#options.state()
    switch (state) {
      case 'created':
        return 'not-started'
      case 'rebalancing':
      case 'running':
        return state
      case 'pending-shutdown':
      case 'not-running':
      case 'pending-error':
      case 'error':
        return 'stopped'
      default:
        return state satisfies never
    }
  }

  /** True once the group has told who holds what for the first time. */
  get hostsKnown(): boolean {
    return this.#hosts !== undefined
  }

  /** All instances that have an endpoint; empty while `hostsKnown` is false. */
  get allHosts(): HostMap {
    return this.#hosts ?? new Map()
  }

  /** The store as the topology has it; undefined: there is none of that name. */
  descriptor(store: string): AnyStore | undefined {
    return findStore(this.#options.topology, store)?.store.descriptor
  }

  /** Names of the stores that a task of this id has. */
  storesOf(id: TaskId): string[] {
    return this.storeNames.filter((store) => this.#taskOf(store, partitionOf(id)) === id)
  }

  /**
   * Partitions of the topics that feed the store, by the cluster's metadata and never by who is alive.
   * Undefined: not known yet, or there is no such store.
   */
  partitionCount(store: string): number | undefined {
    const { topology, applicationId, topicPartitions } = this.#options
    const found = findStore(topology, store)
    if (found === undefined) return undefined
    const counts = new Map<string, number>()
    for (const topic of sourceTopics(applicationId, found.subtopology)) {
      const count = topicPartitions(topic)
      if (count === undefined) return undefined
      counts.set(topic, count)
    }
    return taskCount(applicationId, found.subtopology, counts)
  }

  /** Undefined: another instance's, nobody's, or there is no such partition. */
  local(store: string, partition: number): HeldPartition | undefined {
    const id = this.#taskOf(store, partition)
    const task = id === undefined ? undefined : this.#options.worker()?.tasks.tasks.get(id)
    if (task === undefined) return undefined
    const held = task.store(store)
    const isReadable = task.state === 'running' || task.state === 'suspended'
    return {
      role: 'active',
      state: isReadable ? 'running' : 'restoring',
      view: isReadable && held instanceof TypedStore ? held.readView() : undefined,
      lag: isReadable ? 0 : this.#lag(task.id, store),
      position: positionOf(task),
    }
  }

  /** Who holds a partition, as the group last agreed. */
  hosts(
    store: string,
    partition: number,
  ): { active: Endpoint | undefined; standby: readonly Endpoint[] } {
    const id = this.#taskOf(store, partition)
    const hosts = [...this.allHosts.values()]
    if (id === undefined) return { active: undefined, standby: [] }
    return {
      active: hosts.find(({ tasks }) => tasks.active.has(id))?.endpoint,
      standby: hosts.filter(({ tasks }) => tasks.standby.has(id)).map(({ endpoint }) => endpoint),
    }
  }

  #taskOf(store: string, partition: number): TaskId | undefined {
    const found = findStore(this.#options.topology, store)
    return found === undefined ? undefined : taskId(found.subtopology.id, partition)
  }

  #lag(id: TaskId, store: string): number {
    const lag = this.#options
      .worker()
      ?.restoreLags(id)
      .find((one) => one.store === store)
    if (lag?.endOffset === undefined) return 0
    return Math.max(0, lag.endOffset - lag.offset)
  }
}

function partitionOf(id: TaskId): number {
  return Number(id.slice(id.indexOf('_') + 1))
}

function positionOf(task: StreamTask): Record<string, Record<string, number>> {
  const position: Record<string, Record<string, number>> = {}
  for (const { topic, partition } of task.inputs) {
    const offset = task.position(topic, partition)
    if (offset !== undefined) position[topic] = { ...position[topic], [partition]: offset }
  }
  return position
}
