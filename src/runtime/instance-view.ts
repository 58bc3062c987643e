import type { Endpoint, HostMap } from '../group/membership.ts'
import { StreamsError } from '../errors.ts'
import { taskId, type TaskId } from '../processor/record-metadata.ts'
import type { AnyStore } from '../store/descriptor.ts'
import { findGlobalStore, findStore, type Topology } from '../topology/topology.ts'
import type { GlobalWorker } from './global-worker.ts'
import { viewOf } from './local-worker.ts'
import type { StreamsState } from './streams-state.ts'
import type { HeldPartition, WorkerHandle } from './worker-handle.ts'

export interface InstanceViewOptions {
  /** Undefined: its module is not imported yet. */
  readonly topology: () => Topology | undefined
  readonly state: () => StreamsState
  /** Why it has stopped, when it did so by itself. */
  readonly failure?: () => Error | undefined
  /** None before the start. */
  readonly workers: () => readonly WorkerHandle[]
  /** Undefined before the start, and when there are no global stores in this thread. */
  readonly global: () => GlobalWorker | undefined
  /** Where this instance can be asked. */
  readonly self: Endpoint | undefined
}

interface StoreNames {
  readonly global: readonly string[]
  readonly all: readonly string[]
}

/**
 * What can be seen of an instance from outside its workers: which stores there are, who holds them,
 * and what is here. Everything is looked up at the moment of the call.
 */
export class InstanceView {
  readonly #options: InstanceViewOptions
  #hosts: HostMap | undefined
  #names: StoreNames | undefined

  constructor(options: InstanceViewOptions) {
    this.#options = options
  }

  get globalStoreNames(): readonly string[] {
    return this.#named().global
  }

  get storeNames(): readonly string[] {
    return this.#named().all
  }

  /** Each question asks for them: they are put together once. */
  #named(): StoreNames {
    const topology = this.#options.topology()
    if (topology === undefined) return { global: [], all: [] }
    if (this.#names !== undefined) return this.#names
    const { subtopologies, globalStores } = topology
    const global = globalStores.map(({ store }) => store.descriptor.name)
    const own = subtopologies.flatMap(({ stores }) =>
      stores.map(({ descriptor }) => descriptor.name),
    )
    this.#names = { global, all: [...own, ...global] }
    return this.#names
  }

  /** A worker has heard from the group. */
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

  get failure(): Error | undefined {
    return this.#options.failure?.()
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
    const topology = this.#options.topology()
    if (topology === undefined) throw new StreamsError('STREAMS_NOT_STARTED', { store })
    const found = findStore(topology, store) ?? findGlobalStore(topology, store)
    // What an operator holds back is no store to anybody else.
    return found?.store.buffer === undefined ? found?.store.descriptor : undefined
  }

  /** True: every instance holds the whole store. */
  isGlobal(store: string): boolean {
    return this.globalStoreNames.includes(store)
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
    // It is one thing, wherever its records came from.
    if (this.isGlobal(store)) return 1
    for (const worker of this.#options.workers()) {
      const count = worker.partitionCount(store)
      if (count !== undefined) return count
    }
    return undefined
  }

  /** Undefined: another instance's, nobody's, or there is no such partition. */
  local(store: string, partition: number): HeldPartition | undefined {
    if (this.isGlobal(store)) return this.#global(store)
    const id = this.#taskOf(store, partition)
    if (id === undefined) return undefined
    let standby: HeldPartition | undefined
    for (const worker of this.#options.workers()) {
      const held = worker.held(id, store)
      if (held?.role === 'active') return held
      // One that was thrown out of the group may have what another one owns by now.
      standby ??= held
    }
    return standby
  }

  /** A global store is here in all its parts, and never elsewhere. */
  #global(name: string): HeldPartition {
    const worker = this.#options.global()
    const isReadable = worker?.isRestored === true
    const held = worker?.task?.store(name)
    const position: Record<string, Record<string, number>> = {}
    for (const { store, topic, partition, position: offset } of worker?.task?.inputs ?? []) {
      if (store !== name || offset === undefined) continue
      position[topic] = { ...position[topic], [partition]: offset }
    }
    return {
      role: 'global',
      state: isReadable ? 'running' : 'restoring',
      view: isReadable ? viewOf(held) : undefined,
      lag: worker?.lag(name) ?? 0,
      position,
    }
  }

  /** Who holds a partition, as the group last agreed; of a global store all do, this one first. */
  hosts(
    store: string,
    partition: number,
  ): { active: Endpoint | undefined; standby: readonly Endpoint[] } {
    const id = this.#taskOf(store, partition)
    const hosts = [...this.allHosts.values()]
    if (this.isGlobal(store)) {
      const endpoints = hosts.map(({ endpoint }) => endpoint)
      const active = this.#options.self ?? endpoints[0]
      const isOther = ({ host, port }: Endpoint): boolean =>
        host !== active?.host || port !== active.port
      return { active, standby: endpoints.filter(isOther) }
    }
    if (id === undefined) return { active: undefined, standby: [] }
    return {
      active: hosts.find(({ tasks }) => tasks.active.has(id))?.endpoint,
      standby: hosts.filter(({ tasks }) => tasks.standby.has(id)).map(({ endpoint }) => endpoint),
    }
  }

  #taskOf(store: string, partition: number): TaskId | undefined {
    const topology = this.#options.topology()
    const found = topology && findStore(topology, store)
    return found === undefined ? undefined : taskId(found.subtopology.id, partition)
  }
}

function partitionOf(id: TaskId): number {
  return Number(id.slice(id.indexOf('_') + 1))
}
