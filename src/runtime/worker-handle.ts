import type { StreamsError } from '../errors.ts'
import type { FamilyReading } from '../metrics/merged-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { BuiltStore } from '../store/store-builder.ts'
import type { LagInfo, LocalTask } from './streams-metadata.ts'

/** What queries read of a store. */
export type HeldView = ReturnType<Extract<BuiltStore, { readView(): unknown }>['readView']>

/** A partition of a store that this instance holds. */
export interface HeldPartition {
  readonly role: 'active' | 'standby' | 'global'
  /** `restoring`: an active task that has not begun, or global stores that are not complete. */
  readonly state: 'restoring' | 'running'
  /** Undefined: the store is not open. */
  readonly view: HeldView | undefined
  /** Changelog records that are not in the store yet; undefined: that is not known yet. */
  readonly lag: number | undefined
  /** True: the group may have another owner, who writes; `lag` is of the past. */
  readonly isCutOff?: boolean
  /** By topic and partition, the next offset to be processed; empty of a standby, which processes none. */
  readonly position: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** How far one partition of a store is. */
export interface StoreLag {
  readonly store: string
  readonly partition: number
  readonly lag: LagInfo
}

/** Where a worker is in its life; `starting`: it has not heard from the group, or its successor has not begun. */
export type WorkerStatus = 'starting' | 'rebalancing' | 'running'

/** Bytes of the state of tasks in this thread. */
export interface StateBytes {
  readonly memory: number
  readonly dirty: number
}

/**
 * A worker as its instance sees it: a member of the group with tasks, which runs in this thread
 * (`local-worker`) or in another one (`thread-worker`). It tells a `WorkerListener` what happens.
 */
export interface WorkerHandle {
  /** Joins the group and begins to work. Does not wait for anything. */
  start(): void
  /** Resolves when it has ended, by `stop` or by a failure. Never rejects. */
  readonly done: Promise<void>
  /** Commits, closes the tasks, leaves the group (or stays silent until the session is over), ends. */
  stop(mode: 'leave' | 'remain'): Promise<void>
  /** All instances are to stop: said as soon as this one leaves the group, where its protocol can. */
  announceStop(): void
  /** Has all instances of the application stopped, after this worker has ended. Never rejects. */
  stopApplication(reason: string): Promise<void>
  /** Cuts its connections: what waits for brokers fails. */
  cut(): Promise<void>
  /**
   * Gives back what it was made of, after it has ended. Resolves with an error when that cannot be done: the
   * state that it has open is for nobody else then. Never rejects.
   */
  close(): Promise<StreamsError | undefined>
  pause(): void
  resume(): void
  /** So many workers share the memory that the instance may use. */
  shareMemory(workers: number): void

  /** All its tasks, in whichever role. */
  tasks(): LocalTask[]
  storeLags(): StoreLag[]
  /** Undefined: it has no such task, or the store is not there for anybody. */
  held(id: TaskId, store: string): HeldPartition | undefined
  /** Undefined: not known yet. */
  partitionCount(store: string): number | undefined
  /** What it has counted apart from the instance. */
  metrics(): readonly FamilyReading[]
  stateBytes(): StateBytes
}
