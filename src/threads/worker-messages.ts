/**
 * What the main thread and the thread of a worker say to each other:
 *
 *     main    start data ─► claimed, free, stored ─► share, pause, resume ─► stop, cut
 *     thread  status, hosts, restore, standbyUpdate, log, report ─► claim, release ─► failure ─► ended
 *
 * Questions to stores have a channel of their own (`query/port-messages`).
 */
import type { MessagePort } from 'node:worker_threads'
import type { LogFields, LogLevel } from '../base/log.ts'
import type { StreamsConfig } from '../config.ts'
import type { HostMap } from '../group/membership.ts'
import type { FamilyReading } from '../metrics/merged-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { RestoreProgress } from '../runtime/changelog-reader.ts'
import type { StandbyUpdate } from '../runtime/standby-reader.ts'
import type { LocalTask } from '../runtime/streams-metadata.ts'
import type { StoredOffsets } from '../runtime/task-stores.ts'
import type { StoreLag } from '../runtime/worker-handle.ts'
import type { WireError } from '../query/wire-values.ts'

/** With what a thread begins. */
export interface WorkerStart {
  readonly number: number
  /** How many there are at first: they share the memory of the instance. */
  readonly workers: number
  /** URL of the module that exports the topology. */
  readonly module: string
  /** Of the topology that the main thread has; that of the thread must be the same. */
  readonly fingerprint: string
  /** As the program gave it, without what stays in the main thread. */
  readonly config: StreamsConfig
  /** From which on lines are wanted. */
  readonly logLevel: LogLevel | 'silent'
  readonly processId: string
  /** Where the directories of tasks are. */
  readonly root: string
  readonly stored: StoredOffsets
  /** Questions to its stores come from there. */
  readonly queries: MessagePort
  /** The gate of its writes. */
  readonly gate: Int32Array
}

export type ToWorker =
  | { readonly kind: 'share'; readonly workers: number }
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume' }
  | { readonly kind: 'stop'; readonly mode: 'leave' | 'remain' }
  /** Closes its connections. */
  | { readonly kind: 'cut' }
  /** The answer to a claim. */
  | { readonly kind: 'claimed'; readonly claim: number; readonly ids: readonly TaskId[] }
  /** One of the directories that were refused is free. */
  | { readonly kind: 'free' }
  /** How far the state of tasks is that no worker of the process holds. */
  | { readonly kind: 'stored'; readonly stored: StoredOffsets }

export type FromWorker =
  | { readonly kind: 'status'; readonly status: 'rebalancing' | 'running' }
  | { readonly kind: 'hosts'; readonly hosts: HostMap }
  | { readonly kind: 'restore'; readonly progress: RestoreProgress }
  | { readonly kind: 'standbyUpdate'; readonly update: StandbyUpdate }
  | {
      readonly kind: 'log'
      readonly level: LogLevel
      readonly message: string
      readonly fields: LogFields
    }
  | { readonly kind: 'report'; readonly report: WorkerReport }
  | { readonly kind: 'claim'; readonly claim: number; readonly ids: readonly TaskId[] }
  | { readonly kind: 'release'; readonly ids: readonly TaskId[] }
  | { readonly kind: 'failure'; readonly error: WireError }
  /** All is closed. */
  | { readonly kind: 'ended' }

/** What there is in a thread, from time to time and when tasks come or go. */
export interface WorkerReport {
  readonly tasks: readonly LocalTask[]
  readonly lags: readonly StoreLag[]
  /** By store, where that is known. */
  readonly partitionCounts: ReadonlyMap<string, number>
  readonly metrics: readonly FamilyReading[]
}
