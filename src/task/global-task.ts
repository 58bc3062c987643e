/**
 * The global stores of an instance, and what keeps them up to date
 * (org.apache.kafka.streams.processor.internals.GlobalStateManagerImpl and GlobalStateUpdateTask). All
 * partitions of all global topics go into them, here as at every other instance:
 *
 *     restore: records ─► store, as they are      (a table)
 *              records ─► processor ─► store      (a store with a processor of its own)
 *     update:  records ─► processor ─► store
 *
 * There is no group that would remember how far it has come: that is in the engine, with the rows and
 * in the same transaction (see global-offsets.ts). Everything is synchronous.
 */
import { AssertionError, assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { silentLog, type Log } from '../base/log.ts'
import type { ErrorHandling } from '../error-handlers.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { AsyncQueue } from '../processor/async-step.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import type { ChangelogWriter } from '../store/state-store.ts'
import { readOnlyStore } from '../store/read-only-store.ts'
import { buildStore } from '../store/store-builder.ts'
import type { GlobalSubtopology } from '../topology/topology.ts'
import { ErrorHandlers } from './error-handlers.ts'
import { GlobalInputs, type GlobalInput, type OpenInput } from './global-inputs.ts'
import { GlobalOffsets } from './global-offsets.ts'
import { ProcessorContext, type ContextTask } from './processor-context.ts'
import { ProcessorMetadata } from './processor-metadata.ts'
import { RecordQueue } from './record-queue.ts'
import type { TaskEngines, TaskStore } from './state-manager.ts'
import { TaskNode } from './task-node.ts'
import { TaskRecord } from './task-record.ts'

/** As Java prints it: the global stores are of no sub-topology and of no partition. */
export const globalTaskId: TaskId = '-1_-1'

export interface GlobalTaskOptions extends ErrorHandling {
  readonly applicationId: string
  readonly globalStores: readonly GlobalSubtopology[]
  readonly clock: Clock
  readonly metrics: StreamsMetrics
  /** The task closes them. */
  readonly engines: TaskEngines
  /** Bytes that the record caches of the global stores may hold together; 0: no caching. */
  readonly cacheBytesMax: number
  /** Partitions of a global topic. */
  readonly partitionCount: (topic: string) => number
  /** Default: nothing is logged. */
  readonly log?: Log
}

/** A global store with its processor. */
interface KeptStore {
  readonly topology: GlobalSubtopology
  readonly store: TaskStore
  /** What all other processors get of it. */
  readonly readOnly: object
  readonly node: TaskNode
}

const noBytes = Buffer.alloc(0)

const noChangelog: ChangelogWriter = {
  write(store) {
    assert(false, `the topic of the global store ${store} is its changelog`)
  },
}

/** Keeps the global stores. */
export class GlobalTask implements ContextTask {
  readonly id = globalTaskId
  readonly record = new TaskRecord()
  readonly metadata = new ProcessorMetadata()
  readonly emitIntervalMs = 0
  readonly #options: GlobalTaskOptions
  readonly #handlers: ErrorHandlers
  readonly #stores = new Map<string, KeptStore>()
  readonly #inputs = new GlobalInputs()
  readonly #reader = new RecordBatchReader()
  /** Undefined: no store outlives the process. */
  #offsets: GlobalOffsets | undefined
  #isClosed = false

  constructor(options: GlobalTaskOptions) {
    this.#options = options
    const { record, id: task } = this
    // Every instance would write the same dead letters.
    const send = undefined
    const { log = silentLog } = options
    this.#handlers = new ErrorHandlers({ ...options, task, record, log, send })
  }

  /**
   * Opens the stores, makes the code of their processors, and finds out how far they have come: see
   * {@link inputs}.
   */
  open(): void {
    const { globalStores, engines } = this.#options
    for (const topology of globalStores) this.#openStore(topology)
    const isPersistent = [...this.#stores.values()].some(({ store }) => store.persistent)
    if (isPersistent) this.#offsets = new GlobalOffsets(engines.engine(true))
    for (const kept of this.#stores.values()) {
      kept.node.initialize(this.#makeProcessor(kept))
      this.#addInputs(kept)
    }
  }

  #openStore(topology: GlobalSubtopology): void {
    const { engines, cacheBytesMax, metrics } = this.#options
    const { name } = topology.processor
    const { id: task, record } = this
    const node = new TaskNode({ name, kind: 'processor', task, record, handlers: this.#handlers })
    const store = buildStore(topology.store, {
      taskId: this.id,
      partition: -1,
      record: this.record,
      engine: (persistent) => engines.engine(persistent),
      changelog: noChangelog,
      cacheBytesMax,
      metrics,
      unwritable: (_store, row, error) => this.#handlers.failed(name, error, row),
    })
    this.#stores.set(store.name, { topology, store, readOnly: readOnlyStore(store), node })
  }

  #makeProcessor({ topology, node }: KeptStore) {
    const { stores, supplier } = topology.processor
    const { applicationId } = this.#options
    try {
      return supplier(new ProcessorContext({ applicationId, node, task: this, stores }))
    } catch (error) {
      throw node.failure(error)
    }
  }

  /** Adds the partitions that are not there yet. */
  #addInputs({ topology: { source }, store, node }: KeptStore): void {
    const { metrics, partitionCount, clock, log } = this.#options
    for (const topic of source.topics) {
      const known = this.#inputs.countOf(topic)
      for (let partition = known; partition < partitionCount(topic); partition += 1) {
        const input = { store: store.name, topic, partition }
        const queue = new RecordQueue({
          task: this.id,
          topic,
          partition,
          source,
          node,
          metrics,
          handlers: this.#handlers,
          log,
          wallClockTime: () => clock.now(),
        })
        const position = store.persistent ? this.#offsets?.get(input) : undefined
        this.#inputs.add({ ...input, position, queue })
      }
    }
  }

  /** All partitions of all global topics. Known when it is open. */
  get inputs(): readonly GlobalInput[] {
    return this.#inputs.all
  }

  /** Takes partitions that were added to topics; gives those that are new. */
  addPartitions(): readonly GlobalInput[] {
    const { length } = this.#inputs.all
    for (const kept of this.#stores.values()) this.#addInputs(kept)
    return this.#inputs.all.slice(length)
  }

  /**
   * Takes fetched batches of a partition while its store is not up to date; the first may begin before
   * `startOffset`, the position. Records without a key are passed over. Returns how many records were
   * applied.
   *
   * @throws StreamsError `RESTORE_FAILED`, and as {@link update}.
   */
  restore(topic: string, partition: number, records: Buffer, startOffset: number): number {
    const input = this.#inputs.of(topic, partition)
    const { topology, store } = this.#kept(input.store)
    const restored = topology.reprocessOnRestore
      ? this.#process(input, records, startOffset, 'keyed')
      : this.#put(input, store, records, startOffset)
    this.#options.metrics.recordsRestored.value += restored
    return restored
  }

  /**
   * As {@link restore}, when the store is up to date: everything goes through the processor.
   *
   * @throws StreamsError what the records or the user's code caused. The task cannot go on then.
   */
  update(topic: string, partition: number, records: Buffer, startOffset: number): number {
    const input = this.#inputs.of(topic, partition)
    const processed = this.#process(input, records, startOffset, 'all')
    this.#options.metrics.recordsProcessed.value += processed
    return processed
  }

  #process(input: OpenInput, records: Buffer, startOffset: number, which: 'all' | 'keyed'): number {
    const { queue } = input
    const { record } = this
    queue.add(records, startOffset)
    let processed = 0
    while (queue.advance()) {
      if (which === 'all' || queue.headKey !== null) {
        record.enter(queue)
        queue.node.process(queue.headKey, queue.headValue)
        processed += 1
      }
      queue.take()
    }
    this.#inputs.move(input, queue.position)
    return processed
  }

  #put(input: OpenInput, store: TaskStore, records: Buffer, startOffset: number): number {
    const reader = this.#reader
    let restored = 0
    let position = startOffset
    try {
      reader.reset(records)
      while (reader.nextBatch()) {
        if (reader.isControl) reader.skipBatch()
        while (reader.next()) {
          const key = reader.key()
          if (reader.offset < startOffset || key === null) continue
          store.restore(key, reader.value(), reader.timestamp)
          restored += 1
        }
        position = Math.max(position, reader.nextOffset)
      }
    } catch (error) {
      throw this.#restoreFailure(input, error)
    } finally {
      reader.reset(noBytes)
    }
    this.#inputs.move(input, position)
    return restored
  }

  #restoreFailure({ store, topic, partition }: OpenInput, error: unknown): unknown {
    if (error instanceof AssertionError) return error
    return new StreamsError(
      'RESTORE_FAILED',
      { task: this.id, store, topic, partition, detail: messageOf(error) },
      { cause: error },
    )
  }

  /** True: {@link checkpoint} would make something durable. */
  get checkpointNeeded(): boolean {
    return this.#inputs.haveMoved
  }

  /**
   * Empties the caches, and lets the stores go to their engines with how far they have come. Nothing
   * has to be acknowledged for that: the records are in their topics.
   */
  checkpoint(): void {
    // Nothing is below the processors, so that one pass empties all caches.
    for (const { store } of this.#stores.values()) store.flush()
    for (const input of this.#inputs.takeMoved()) {
      const { position, store } = input
      if (position === undefined || !this.#kept(store).store.persistent) continue
      this.#offsets?.put(input, position)
    }
    for (const { store } of this.#stores.values()) store.committed(undefined)
    this.#offsets?.committed()
  }

  /** Writes a slice of what was checkpointed to the engines; true while there is more. */
  writeBehind(): boolean {
    let isMore = this.#offsets?.writeBehind() ?? false
    for (const { store } of this.#stores.values()) if (store.writeBehind()) isMore = true
    return isMore
  }

  memoryBytes(): number {
    let bytes = 0
    for (const { store } of this.#stores.values()) bytes += store.memoryBytes()
    return bytes
  }

  dirtyBytes(): number {
    let bytes = 0
    for (const { store } of this.#stores.values()) bytes += store.dirtyBytes()
    return bytes
  }

  /** The store of that name, for queries; undefined: there is none, or it is not open. */
  store(name: string): TaskStore | undefined {
    return this.#stores.get(name)?.store
  }

  /** Frees everything. Clean: with a last checkpoint, which is then in the engines. Idempotent. */
  close({ clean }: { clean: boolean }): void {
    if (this.#isClosed) return
    this.#isClosed = true
    try {
      this.#closeProcessors({ clean })
      if (clean) this.#finish()
    } finally {
      this.#closeStores()
    }
  }

  #finish(): void {
    this.checkpoint()
    while (this.writeBehind());
  }

  #closeProcessors({ clean }: { clean: boolean }): void {
    const failures: unknown[] = []
    for (const { node } of this.#stores.values()) {
      try {
        node.close()
      } catch (error) {
        failures.push(error)
      }
    }
    // The stores are given up for another failure: nobody could act on this one.
    if (clean && failures.length > 0) throw failures[0]
  }

  #closeStores(): void {
    try {
      for (const { store } of this.#stores.values()) store.close()
      this.#offsets?.close()
    } finally {
      this.#options.engines.close()
    }
  }

  #kept(name: string): KeptStore {
    const kept = this.#stores.get(name)
    assert(kept !== undefined, `${name} is a global store`)
    return kept
  }

  // What a processor context asks for.

  connectedStore(name: string): TaskStore {
    return this.#kept(name).store
  }

  /** What all processors but the store's own get; undefined: there is no such global store. */
  globalStore(name: string): object | undefined {
    return this.#stores.get(name)?.readOnly
  }

  get streamTime(): number {
    throw new Error('for a global store there is no stream time')
  }

  wallClockTime(): number {
    return this.#options.clock.now()
  }

  schedule(): Disposable {
    throw new Error('the processor of a global store cannot schedule punctuations')
  }

  asyncStep(): AsyncQueue {
    throw new Error('the processor of a global store has no steps whose code answers later')
  }

  requestCommit(): void {
    // Checkpoints have a time of their own, and nobody waits for them.
  }

  dropped(reason: string): void {
    this.#options.metrics.dropped(reason)
  }
}
