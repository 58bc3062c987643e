import type { TaskId } from '../processor/record-metadata.ts'

/** `host:port` of an instance's query service. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** Tasks that an instance holds, by role. */
export interface TaskSet {
  readonly active: ReadonlySet<TaskId>
  readonly standby: ReadonlySet<TaskId>
}

/**
 * How far the state of tasks is in this process, whether it runs them or has them only on disk: the
 * sum over the changelogs of a task of the next offset that its stores do not have yet. Tasks of which
 * there is nothing are absent. Java's offset sums.
 */
export type TaskProgress = ReadonlyMap<TaskId, number>

/** In a {@link TaskProgress}: an active task that runs, whose stores have all there is. */
export const progressRunning = -2

/** Goes into OffsetCommit and OffsetFetch, so that a member that was replaced is fenced. */
export interface GroupIdentity {
  readonly groupId: string
  readonly memberId: string
  readonly instanceId: string | null
  readonly generation: number
}

/** Which instance holds which tasks, as the group last agreed. Keys: `host:port`. */
export type HostMap = ReadonlyMap<string, { readonly endpoint: Endpoint; readonly tasks: TaskSet }>

/**
 * What a membership asks of the worker: target → revoke → apply → acknowledge. Called one at a time,
 * never concurrently; a call counts as done when its promise resolves.
 */
export interface MembershipHandlers {
  /** Stop, commit with `identity()`, and close these. Resolved: others may have them. */
  onRevoke(active: ReadonlySet<TaskId>): Promise<void>
  /**
   * Hold exactly this, and let sources with a pattern read these topics. Resolved: acknowledged. It
   * may be what is held and read already.
   */
  onAssign(target: TaskSet, matchedTopics: readonly string[]): Promise<void>
  /**
   * Close what is active without a commit: another member may hold it already. Standbys take nothing away
   * from anybody, and go on.
   */
  onLost(reason: Error): Promise<void>
  /**
   * True: the group has not been heard of for as long as a session may last, so that others may have the
   * tasks. Nothing may be processed, and nobody may be answered as by their owner; what is held stays as
   * it is. False: the group was reached, and the tasks still are those of this member. Called at once,
   * beside the others.
   */
  onCutOff?(isCutOff: boolean): void
  /** The complete map; called after each assignment, before `onAssign`. */
  onHosts(hosts: HostMap): void
  /** Membership cannot go on. */
  onFatal(error: Error): void
}

/** A member of the group, whichever protocol it speaks. */
export interface GroupMembership {
  /** Joins; returns at once. Everything else is told to the handlers. */
  start(handlers: MembershipHandlers): void
  /** Undefined while joining, fenced or cut off: nobody may commit then. */
  identity(): GroupIdentity | undefined
  /** A commit was refused as coming from an old member: give up all tasks and rejoin. */
  taskMigrated(error: Error): void
  /**
   * All members are to stop. Said before this one leaves, where the protocol can: others would take its
   * tasks first. Whoever has not heard it then is reached by a request of its own.
   */
  announceStop?(): void
  /** Revokes and commits first; then leaves the group, or stays silent until the session times out. */
  stop(mode: 'leave' | 'remain'): Promise<void>
}
