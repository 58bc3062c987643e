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
  readonly role: 'active' | 'global'
  readonly state: 'restoring' | 'running'
  readonly inputs: readonly { readonly topic: string; readonly partition: number }[]
  /** Stores that are being restored: how far their changelogs are read, and to where that goes. */
  readonly restoring: readonly RestoreLag[]
}
