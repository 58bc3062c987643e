import type { Endpoint } from '../group/membership.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { EntryRow } from '../store/entry-table.ts'
import type { ValueAndTimestamp } from '../store/key-value-store.ts'
import type { ReadView } from '../store/read-view.ts'
import type {
  SessionReadView,
  VersionReadView,
  WindowReadView,
} from '../store/windowed-read-views.ts'
import type { WorkerQueries } from './worker-queries.ts'

/**
 * Whether an instance can be asked at all: `rebalancing` still answers for the partitions that it
 * holds, the first and the last for none.
 */
export type QueryAvailability = 'not-started' | 'rebalancing' | 'running' | 'stopped'

/** How far a store has come: for each topic that feeds it, the next offset of each partition. */
export type StorePosition = Readonly<Record<string, Readonly<Record<string, number>>>>

/** A row as a scan gives it; the bytes of the key are what pages are ordered by. */
export type StoreRow = EntryRow<unknown, unknown>

/** A value with its timestamp, which is -1 in a store without. */
export type StoreValue = ValueAndTimestamp<unknown>

/** Reads of one partition of a key-value store, synchronous, between two records of its task. */
export type StoreView = Pick<
  ReadView<unknown, unknown>,
  'kind' | 'getBytes' | 'byteRows' | 'approximateEntryCount'
>

/** Reads of one partition of a store of any kind. */
export type AnyStoreView =
  | StoreView
  | WindowReadView<unknown, unknown>
  | SessionReadView<unknown, unknown>
  | VersionReadView<unknown, unknown>

/** A partition of a store that this instance holds. Fetched anew for each question, never kept. */
export interface LocalPartition {
  /** `standby`: a copy, which another instance owns. */
  readonly role: 'active' | 'standby' | 'global'
  /** Never `restoring`: a standby. */
  readonly state: 'restoring' | 'running'
  /** Undefined: the store is not open. */
  readonly view: AnyStoreView | undefined
  /** Changelog records that are not in the store yet: 0 when an owner runs; undefined: not known yet. */
  readonly lag: number | undefined
  /**
   * True: of an instance that has lost its group. Another one may have written since, so that `lag` is of the
   * past, and within no bound.
   */
  readonly isCutOff?: boolean
  /** Empty of a standby. */
  readonly position: StorePosition
}

/** A partition of a store that a worker in another thread of this process holds. */
export interface ThreadPartition {
  /** As the thread has told last. State, lag and position are asked for: `WorkerQueries.status`. */
  readonly role: LocalPartition['role']
  readonly worker: WorkerQueries
}

/** Who holds a partition, as the group last agreed. */
export interface PartitionHosts {
  /** Undefined: no instance with an endpoint. */
  readonly active: Endpoint | undefined
  readonly standby: readonly Endpoint[]
}

/**
 * What queries need to know of an instance: the port between them and KafkaStreams. Everything is
 * looked up at the moment of the call.
 */
export interface QueryTarget {
  readonly availability: QueryAvailability
  /** Why it has stopped, when it did so by itself. */
  readonly failure?: Error | undefined
  /** True once the group has told who holds what for the first time. */
  readonly hostsKnown: boolean
  /** The store as the topology has it; undefined: there is none of that name. */
  descriptor(store: string): AnyStore | undefined
  /** True: every instance holds the whole store, as one partition that is always `local`. */
  isGlobal(store: string): boolean
  /** Names of all stores of the topology. */
  readonly storeNames: readonly string[]
  /**
   * Partitions of the topics that feed the store, by the cluster's metadata and never by who is
   * alive: what a key's hash is taken modulo. Undefined: not known yet, or no such store.
   */
  partitionCount(store: string): number | undefined
  /** What this thread holds. Undefined: another one's, nobody's, or there is no such partition. */
  local(store: string, partition: number): LocalPartition | undefined
  /**
   * What another thread of this process holds (`findInWorkers`): read by messages, where `local` has
   * nothing or a copy. Absent where all stores are in this thread.
   */
  inThread?(store: string, partition: number): ThreadPartition | undefined
  /** Nobody while `hostsKnown` is false. */
  hosts(store: string, partition: number): PartitionHosts
}
