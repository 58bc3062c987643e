import { systemPorts, type Ports, type StreamsConfig } from './config.ts'
import type { Endpoint, HostMap } from './group/membership.ts'
import type { StreamsMetrics } from './metrics/streams-metrics.ts'
import type { TaskId } from './processor/record-metadata.ts'
import type { QueryableStore } from './query/queryable-store.ts'
import type { StreamsState } from './runtime/streams-state.ts'
import type { AnyStore } from './store/descriptor.ts'
import type { Topology } from './topology/topology.ts'

/** One step of a restore, for `on('restore')`. */
export interface RestoreProgress {
  /** `start`, after each `batch`, at the `end`, or `suspended` when the task went elsewhere first. */
  readonly phase: 'start' | 'batch' | 'end' | 'suspended'
  readonly store: string
  readonly taskId: TaskId
  readonly topic: string
  readonly partition: number
  /** The next changelog offset to restore. */
  readonly offset: number
  /** The changelog offset at which the store is up to date. */
  readonly endOffset: number
  /** Records applied so far. */
  readonly restored: number
}

/** Listeners of {@link KafkaStreams.on}, by event. */
export interface StreamsEvents {
  stateChange: (now: StreamsState, before: StreamsState) => void
  restore: (progress: RestoreProgress) => void
  /** The failure that ends the instance; `closed` rejects with it as well. */
  error: (error: Error) => void
}

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
  readonly partition: number
  /** Undefined while no instance with an endpoint has it: ask again later. */
  readonly active: Endpoint | undefined
  readonly standby: readonly Endpoint[]
}

/** A task of this instance. */
export interface LocalTask {
  readonly id: TaskId
  readonly role: 'active'
  readonly state: 'restoring' | 'running'
  readonly inputs: readonly { readonly topic: string; readonly partition: number }[]
  /** Changelogs that are being restored: how far, and to where. */
  readonly changelogs: readonly {
    readonly store: string
    readonly offset: number
    readonly endOffset: number
  }[]
}

/**
 * Runs a topology: joins the group of the application, holds the tasks that it is given, and answers
 * questions about their stores. Java's KafkaStreams.
 *
 * It connects to Kafka at `start`, creates the internal topics of the topology, and keeps state below
 * `stateDir`. Stop it with `close` (or `await using`): what was processed is then committed, and
 * nothing is processed twice after the next start.
 *
 * @example
 * await using streams = new KafkaStreams(builder.build(), {
 *   applicationId: 'word-count', brokers: ['localhost:9092'] })
 * await streams.start()
 * console.log(await streams.store(wordCounts).get('kafka'))
 */
export class KafkaStreams implements AsyncDisposable {
  /** Resolves when the instance has stopped; rejects with the error that stopped it. */
  readonly closed: Promise<void>
  readonly metrics: StreamsMetrics

  /**
   * @param ports the world: time, chance, network, files. Default this machine; a simulation gives
   * its own.
   */
  constructor(topology: Topology, config: StreamsConfig, ports: Ports = systemPorts) {
    throw new Error('to come')
  }

  get state(): StreamsState {
    throw new Error('to come')
  }

  /** Calls back on each such event. Throws when called after `start`. */
  on<E extends keyof StreamsEvents>(event: E, listener: StreamsEvents[E]): this {
    throw new Error('to come')
  }

  /** Resolves when `running` is reached for the first time; rejects with what prevents it. */
  start(options: { signal?: AbortSignal } = {}): Promise<void> {
    throw new Error('to come')
  }

  /** Starts, stays until the signal aborts, closes. Rejects with the error that stopped it. */
  run(options: { signal: AbortSignal }): Promise<void> {
    throw new Error('to come')
  }

  /**
   * Commits, closes the tasks, leaves the group. Idempotent.
   *
   * `timeout`: after so many milliseconds whatever still hangs is cut off (no limit by default).
   * `leaveGroup: false` keeps the tasks for this instance until the session times out: the default
   * of static members, false for others costs the application a pause.
   */
  close(options: { timeout?: number; leaveGroup?: boolean } = {}): Promise<void> {
    throw new Error('to come')
  }

  /** Stops processing and restoring; stays in the group, and answers questions. */
  pause(): void {
    throw new Error('to come')
  }

  resume(): void {
    throw new Error('to come')
  }

  get isPaused(): boolean {
    throw new Error('to come')
  }

  /** Deletes the local state of this application. Only while it does not run. */
  cleanUp(): void {
    throw new Error('to come')
  }

  /** The partitions of a store that this instance holds, as Java's `store`. */
  store<D extends AnyStore>(descriptor: D): QueryableStore<D> {
    throw new Error('to come')
  }

  /** Who holds this key of a store. */
  queryMetadataForKey<K>(
    store: { name: string; key: { serialize(key: K): Uint8Array } },
    key: K,
  ): KeyQueryMetadata {
    throw new Error('to come')
  }

  /** All instances that hold a part of the store and have an endpoint. */
  streamsMetadataForStore(store: string): StreamsMetadata[] {
    throw new Error('to come')
  }

  /** All instances that have an endpoint. */
  allMetadata(): StreamsMetadata[] {
    throw new Error('to come')
  }

  /** The tasks that this instance holds. */
  localTasks(): LocalTask[] {
    throw new Error('to come')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

export type { HostMap }
