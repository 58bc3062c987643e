import { StreamsError } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { partitionForKey } from '../protocol/murmur2.ts'
import type { RestoreLag } from './changelog-reader.ts'
import type { InstanceView } from './instance-view.ts'

/** What one instance of the application holds. Java's StreamsMetadata. */
export interface StreamsMetadata {
  readonly endpoint: Endpoint
  readonly stores: readonly string[]
  readonly activeTasks: readonly TaskId[]
  readonly standbyTasks: readonly TaskId[]
}

/** Who holds a key. Java's KeyQueryMetadata. */
export interface KeyQueryMetadata {
  readonly store: string
  /** -1 for a global store. */
  readonly partition: number
  /** Undefined while no instance with an endpoint has it: ask again later. */
  readonly active: Endpoint | undefined
  readonly standby: readonly Endpoint[]
}

/** A task of this instance. Java's TaskMetadata. */
export interface LocalTask {
  readonly id: TaskId
  readonly role: 'active' | 'standby' | 'global'
  /** A standby is never `restoring`: it follows for as long as it is here. */
  readonly state: 'restoring' | 'running'
  /** None of a standby. */
  readonly inputs: readonly { readonly topic: string; readonly partition: number }[]
  /**
   * Stores that are being restored: how far their changelogs are read, and to where that goes. Of a
   * standby all stores, and the ends are those that were heard last.
   */
  readonly restoring: readonly RestoreLag[]
}

/** A worker of this instance. Java's ThreadMetadata. */
export interface LocalWorkerInfo {
  /** From 1; the lowest that is free is given to the next worker. */
  readonly number: number
  /** `starting`: it has not heard from the group yet, or failed and is about to be replaced. */
  readonly state: 'starting' | 'rebalancing' | 'running'
  readonly tasks: readonly LocalTask[]
}

/** How far a partition of a store is behind its changelog. Java's LagInfo. */
export interface LagInfo {
  /** The next changelog offset that the store does not have. */
  readonly currentOffsetPosition: number
  /** The end of the changelog, as brokers said last; undefined: none has said it yet. */
  readonly endOffsetPosition: number | undefined
  /** Records between the two; 0 for an active task that runs. Undefined: not known yet. */
  readonly offsetLag: number | undefined
}

/** What is known of the offsets of a store, as Java has it. */
export function lagInfo({ offset, endOffset }: RestoreLag): LagInfo {
  return {
    currentOffsetPosition: offset,
    endOffsetPosition: endOffset,
    offsetLag: endOffset === undefined ? undefined : Math.max(0, endOffset - offset),
  }
}

/** All instances that have an endpoint, as the group last agreed. */
export function instanceMetadata(view: InstanceView): StreamsMetadata[] {
  return [...view.allHosts.values()].map(({ endpoint, tasks }) => {
    const stores = [...tasks.active, ...tasks.standby].flatMap((id) => view.storesOf(id))
    stores.push(...view.globalStoreNames)
    return {
      endpoint,
      stores: [...new Set(stores)],
      activeTasks: [...tasks.active],
      standbyTasks: [...tasks.standby],
    }
  })
}

/** Who holds a key of that store. Throws `STORE_UNKNOWN`, `STREAMS_REBALANCING`. */
export function keyMetadata(
  view: InstanceView,
  store: string,
  keyBytes: () => Uint8Array,
): KeyQueryMetadata {
  if (view.descriptor(store) === undefined) throw new StreamsError('STORE_UNKNOWN', { store })
  if (view.isGlobal(store)) {
    const { active } = view.hosts(store, -1)
    return { store, partition: -1, active, standby: [] }
  }
  const partitions = view.partitionCount(store)
  if (partitions === undefined) throw new StreamsError('STREAMS_REBALANCING', { store })
  const partition = partitionForKey(keyBytes(), partitions)
  return { store, partition, ...view.hosts(store, partition) }
}
