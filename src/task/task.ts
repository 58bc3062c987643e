import type { TaskId } from '../processor/record-metadata.ts'
import type { BuiltStore } from '../store/store-builder.ts'
import type { OffsetReset } from '../topology/offset-reset.ts'

/**
 * Where a task stands in its life (org.apache.kafka.streams.processor.internals.Task.State); a standby
 * is never `restoring`, since it has no end to which it restores:
 *
 *     created → restoring → running → suspended → closed
 */
export type TaskState = 'created' | 'restoring' | 'running' | 'suspended' | 'closed'

/** An active task processes records; a standby only follows the changelogs of another one's stores. */
export type TaskRole = 'active' | 'standby'

/** A partition that a task reads. */
export interface TaskInput {
  readonly topic: string
  readonly partition: number
  /** What the topology says; undefined: the default of the configuration. */
  readonly offsetReset: OffsetReset | undefined
}

/** How far the group has come in one partition: what a commit writes, and what a start reads. */
export interface CommittedOffset {
  readonly topic: string
  readonly partition: number
  /** The next offset to process. */
  readonly offset: number
  /** Kafka Streams' metadata string: it carries the partition time. Empty when there is none. */
  readonly metadata: string
  /** Of the record at the offset, or of the one before it. Default -1: not known. */
  readonly leaderEpoch?: number
}

/** The changelog partition of one store of a task. */
export interface TaskChangelog {
  readonly store: string
  readonly topic: string
  readonly partition: number
  /** The next offset to restore: everything before is in the store. */
  readonly position: number
  /**
   * Restore no further. Of a table that uses the topic that it reads as its changelog: the task takes
   * what comes behind it as its input. Undefined: up to the end.
   */
  readonly limit?: number | undefined
}

/**
 * What a worker holds for a task id, whatever its role: it can be restored from changelogs, written
 * behind and closed. An active task is a StreamTask, the other a StandbyTask.
 */
export interface Task {
  readonly id: TaskId
  readonly role: TaskRole
  readonly state: TaskState
  /** One for each store with a changelog. */
  readonly changelogs: readonly TaskChangelog[]
  /**
   * Applies fetched record batches of a changelog: what lies before its position or at `endOffset`
   * and beyond is passed over. Returns how many records were applied; the position moves past
   * everything that was read, transaction markers and compacted offsets included.
   */
  restore(changelog: TaskChangelog, records: Buffer, endOffset: number): number
  /** Its store has as much to write as it may have: nothing more is to be restored until it has written. */
  isRestoreFull(changelog: TaskChangelog): boolean
  /** Nothing is left in a changelog before that offset: the position moves there. */
  passOver(changelog: TaskChangelog, offset: number): void
  /** The store of that name, for queries; undefined: there is none, or it is not open yet. */
  store(name: string): BuiltStore | undefined
  /** Writes a slice of committed state to the engines; true while there is more. */
  writeBehind(): boolean
  /** Bytes in the caches and in the write-behind buffers. */
  memoryBytes(): number
  /** Bytes that are not in the engines yet. */
  dirtyBytes(): number
  /** Frees everything. Clean: what was committed is in the engines. Idempotent. */
  close(options: { clean: boolean }): void
}
