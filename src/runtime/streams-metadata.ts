import type { Endpoint } from '../group/membership.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { RestoreLag } from './changelog-reader.ts'

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
