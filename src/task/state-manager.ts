/**
 * The stores of one task and how far their changelogs are in them
 * (org.apache.kafka.streams.processor.internals.ProcessorStateManager).
 *
 *     open ──► followed by a standby ──own──► written by an active task ──disown──► followed …
 *
 * It outlives the task that it is made for: a standby that becomes active hands it over with its stores
 * open, and an active task that becomes a standby does the same.
 */
import { AssertionError, assert } from '../base/assert.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { KvEngine } from '../kv/kv.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { parseTaskId, type TaskId } from '../processor/record-metadata.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { cacheBudget } from '../store/cache-budget.ts'
import type { RestoreBudget } from '../store/restore-budget.ts'
import type { ChangelogWriter, StoreContext } from '../store/state-store.ts'
import { buildStore, type BuiltStore } from '../store/store-builder.ts'
import { prepareEngine } from '../store/store-layers.ts'
import type { StoreNode } from '../topology/node.ts'
import { changelogTopic } from '../topology/topology.ts'
import { TaskRecord } from './task-record.ts'
import type { TaskChangelog } from './task.ts'

/** A store as a task holds it. */
export type TaskStore = BuiltStore

/** The engines of one task: one in memory, one persistent, each opened when a store asks for it. */
export interface TaskEngines {
  engine(persistent: boolean): KvEngine
  /** Closes what was opened. Idempotent. */
  close(): void
}

export interface StateManagerOptions {
  readonly task: TaskId
  readonly applicationId: string
  readonly stores: readonly StoreNode[]
  readonly metrics: StreamsMetrics
  /** Closed with the stores. */
  readonly engines: TaskEngines
  /** Bytes that the record caches of the task may hold together; 0: no caching. */
  readonly cacheBytesMax: number
  /** See StoreContext. */
  readonly restoreBudget?: RestoreBudget | undefined
}

/** The active task that writes to the stores. */
export interface StateOwner {
  /** Takes the changes of the stores. */
  readonly collector: ChangelogWriter
  readonly unwritable: NonNullable<StoreContext['unwritable']>
  /** The offset after the last acknowledged record of this worker; undefined: it wrote none. */
  readonly nextOffset: (topic: string, partition: number) => number | undefined
  /** What the group has committed of a topic that the task reads; undefined: nothing. */
  readonly committedOffset: (topic: string) => number | undefined
}

interface Changelog extends TaskChangelog {
  position: number
  limit: number | undefined
}

const noBytes = Buffer.alloc(0)

/** All stores of a task. */
export class StateManager {
  /** The record at which the task that writes is. */
  readonly record = new TaskRecord()
  readonly #options: StateManagerOptions
  readonly #partition: number
  readonly #context: StoreContext
  readonly #stores = new Map<string, TaskStore>()
  readonly #changelogs = new Map<string, Changelog>()
  readonly #reader = new RecordBatchReader()
  /** Undefined: a standby follows, nobody writes. */
  #owner: StateOwner | undefined
  #isOpen = false

  constructor(options: StateManagerOptions) {
    const { task, engines, cacheBytesMax, restoreBudget, metrics } = options
    this.#options = options
    this.#partition = parseTaskId(task).partition
    this.#context = {
      taskId: task,
      partition: this.#partition,
      record: this.record,
      engine: (persistent) => engines.engine(persistent),
      changelog: {
        write: (store, key, value, timestamp, headers) =>
          this.#writer.collector.write(store, key, value, timestamp, headers),
      },
      cacheBytesMax,
      restoreBudget,
      metrics,
      unwritable: (store, row, error) => this.#writer.unwritable(store, row, error),
    }
  }

  get #writer(): StateOwner {
    assert(this.#owner !== undefined, 'only an active task writes to its stores')
    return this.#owner
  }

  /**
   * Does a slice of what takes long in {@link open}; true while there is more. Whoever cannot wait opens the
   * stores without it.
   */
  prepare(): boolean {
    if (this.#isOpen) return false
    return this.#options.stores.some((node) => prepareEngine(node, this.#context))
  }

  /** Opens the engines and makes the stores, unless they are open. */
  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    const { applicationId } = this.#options
    for (const node of this.#options.stores) {
      const store = buildStore(node, this.#context)
      this.#stores.set(store.name, store)
      const topic = changelogTopic(applicationId, node)
      if (topic === undefined) continue
      this.#changelogs.set(store.name, {
        store: store.name,
        topic,
        partition: this.#partition,
        position: store.restoreOffset(),
        limit: node.sourceTopic === undefined ? undefined : 0,
      })
    }
  }

  /** From now on an active task writes. A store whose changelog is an input has what was committed of it. */
  own(owner: StateOwner): void {
    assert(this.#owner === undefined, 'stores have one owner at a time')
    this.#owner = owner
    for (const { topic, limit } of this.#changelogs.values()) {
      if (limit !== undefined) this.limit(topic, owner.committedOffset(topic) ?? 0)
    }
  }

  /**
   * A standby follows from now on: caches and what is derived from rows in memory begin anew. What was
   * flushed must have been committed.
   */
  disown(): void {
    this.#owner = undefined
    this.record.leave(-1)
    this.#closeStores()
    this.#stores.clear()
    this.#changelogs.clear()
    this.#isOpen = false
    this.open()
  }

  /** How far the group has come in a topic that is read as well: see {@link TaskChangelog.limit}. */
  limit(topic: string, offset: number): void {
    for (const changelog of this.#changelogs.values()) {
      if (changelog.topic === topic && changelog.limit !== undefined) changelog.limit = offset
    }
  }

  /** Bytes that the record caches of the task may hold together from now on. */
  resizeCaches(bytesMax: number): void {
    cacheBudget(this.#context).bytesMax = bytesMax
  }

  /** Undefined: there is none of that name, or it is not open yet. */
  store(name: string): TaskStore | undefined {
    return this.#stores.get(name)
  }

  get stores(): ReadonlyMap<string, TaskStore> {
    return this.#stores
  }

  get changelogs(): TaskChangelog[] {
    return [...this.#changelogs.values()]
  }

  /** See {@link Task.restore}. */
  restore({ store: name }: TaskChangelog, records: Buffer, endOffset: number): number {
    const changelog = this.#changelogs.get(name)
    const store = this.#stores.get(name)
    assert(changelog !== undefined && store !== undefined, `${name} is a store of this task`)
    const reader = this.#reader
    let restored = 0
    try {
      reader.reset(records)
      while (reader.nextBatch()) {
        if (reader.isControl) reader.skipBatch()
        while (reader.next()) {
          const { offset } = reader
          if (offset < changelog.position || offset >= endOffset) continue
          // Nobody writes such a record; without a key it says nothing about any row.
          if (!reader.hasKey) continue
          if ('restoreRow' in store) store.restoreRow(reader)
          else this.#restoreRecord(store, changelog, reader.key() ?? noBytes)
          restored += 1
        }
        changelog.position = Math.max(changelog.position, Math.min(reader.nextOffset, endOffset))
      }
    } catch (error) {
      throw this.#restoreFailure(changelog, error)
    } finally {
      reader.reset(noBytes)
    }
    // With each batch: a restore that is cut short goes on from there, and what is pinned is bounded.
    if (changelog.position > 0) store.restored(changelog.position - 1)
    return restored
  }

  /** See {@link Task.isRestoreFull}. */
  isRestoreFull({ store }: TaskChangelog): boolean {
    const { restoreBudget } = this.#options
    const bytes = this.#stores.get(store)?.dirtyBytes() ?? 0
    return restoreBudget !== undefined && bytes > restoreBudget.heldBytesMax
  }

  /** See {@link Task.passOver}. */
  passOver({ store: name }: TaskChangelog, offset: number): void {
    const changelog = this.#changelogs.get(name)
    assert(changelog !== undefined, `${name} is a store of this task`)
    if (offset <= changelog.position) return
    changelog.position = offset
    this.#stores.get(name)?.restored(offset - 1)
  }

  /** The record at which the reader stands. */
  #restoreRecord(store: TaskStore, { topic, partition }: Changelog, key: Buffer): void {
    const reader = this.#reader
    const { timestamp, offset } = reader
    if (!('restoreRecord' in store)) {
      store.restore(key, reader.value(), timestamp)
      return
    }
    const headers = reader.headers()
    store.restoreRecord(key, reader.value(), { timestamp, offset, topic, partition, headers })
  }

  #restoreFailure({ store, topic, partition }: TaskChangelog, error: unknown): unknown {
    if (error instanceof AssertionError) return error
    const { task } = this.#options
    return new StreamsError(
      'RESTORE_FAILED',
      { task, store, topic, partition, detail: messageOf(error) },
      { cause: error },
    )
  }

  /**
   * Empties the caches. A flush forwards to processors below, which may update stores that come
   * earlier: such rows would miss this commit, and a crash would then lose them. So it goes on until
   * all are empty; a chain of n stores needs n passes at most, and one to see the end.
   */
  flush(): void {
    for (let pass = 0; pass <= this.#stores.size; pass += 1) {
      let hasFlushed = false
      for (const store of this.#stores.values()) if (store.flush()) hasFlushed = true
      if (!hasFlushed) return
    }
  }

  /**
   * What was flushed is committed, and acknowledged by the changelogs; of a standby, what it has read.
   */
  committed(): void {
    for (const store of this.#stores.values()) {
      const changelog = this.#changelogs.get(store.name)
      if (changelog === undefined) {
        store.committed(undefined)
        continue
      }
      // The sink may remember an earlier stay of this task: what was restored is then newer.
      changelog.position = Math.max(changelog.position, this.#written(changelog))
      store.committed(changelog.position)
    }
  }

  #written({ topic, partition, limit }: Changelog): number {
    const owner = this.#owner
    if (owner === undefined) return 0
    const isInput = limit !== undefined
    return (isInput ? owner.committedOffset(topic) : owner.nextOffset(topic, partition)) ?? 0
  }

  /** Writes a slice of committed state to the engines; true while there is more. */
  writeBehind(): boolean {
    let isMore = false
    for (const store of this.#stores.values()) if (store.writeBehind()) isMore = true
    return isMore
  }

  memoryBytes(): number {
    let bytes = 0
    for (const store of this.#stores.values()) bytes += store.memoryBytes()
    return bytes
  }

  dirtyBytes(): number {
    let bytes = 0
    for (const store of this.#stores.values()) bytes += store.dirtyBytes()
    return bytes
  }

  uncommittedBytes(): number {
    let bytes = 0
    for (const store of this.#stores.values()) bytes += store.uncommittedBytes()
    return bytes
  }

  /** Closes stores and engines. Idempotent. */
  close(): void {
    try {
      this.#closeStores()
    } finally {
      this.#options.engines.close()
    }
  }

  #closeStores(): void {
    for (const store of this.#stores.values()) store.close()
  }
}
