/**
 * The stores of one task and how far their changelogs are in them
 * (org.apache.kafka.streams.processor.internals.ProcessorStateManager).
 */
import { AssertionError, assert } from '../base/assert.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { KvEngine } from '../kv/kv.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { parseTaskId, type TaskId } from '../processor/record-metadata.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import type { RecordContext, StoreContext } from '../store/state-store.ts'
import { buildStore, type BuiltStore } from '../store/store-builder.ts'
import type { StoreNode } from '../topology/node.ts'
import { changelogTopic } from '../topology/topology.ts'
import type { RecordCollector } from './record-collector.ts'
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
  readonly record: RecordContext
  readonly collector: RecordCollector
  readonly metrics: StreamsMetrics
  /** Closed with the stores. */
  readonly engines: TaskEngines
  /** Bytes that the record caches of the task may hold together; 0: no caching. */
  readonly cacheBytesMax: number
  readonly unwritable?: StoreContext['unwritable']
  /** The offset after the last acknowledged record of this worker; undefined: it wrote none. */
  readonly nextOffset: (topic: string, partition: number) => number | undefined
  /** What the group has committed of a topic that the task reads; undefined: nothing. */
  readonly committedOffset: (topic: string) => number | undefined
}

interface Changelog extends TaskChangelog {
  position: number
}

const noBytes = Buffer.alloc(0)

/** All stores of a task. */
export class StateManager {
  readonly #options: StateManagerOptions
  readonly #stores = new Map<string, TaskStore>()
  readonly #changelogs = new Map<string, Changelog>()
  readonly #reader = new RecordBatchReader()

  constructor(options: StateManagerOptions) {
    this.#options = options
  }

  /** Opens the engines and makes the stores. */
  open(): void {
    const { task, applicationId, engines, record, collector, cacheBytesMax, metrics } =
      this.#options
    const { committedOffset, unwritable } = this.#options
    const { partition } = parseTaskId(task)
    const context = {
      taskId: task,
      partition,
      record,
      engine: (persistent: boolean) => engines.engine(persistent),
      changelog: collector,
      cacheBytesMax,
      metrics,
      unwritable,
    }
    for (const node of this.#options.stores) {
      const store = buildStore(node, context)
      this.#stores.set(store.name, store)
      const topic = changelogTopic(applicationId, node)
      if (topic === undefined) continue
      const isInput = node.sourceTopic !== undefined
      this.#changelogs.set(store.name, {
        store: store.name,
        topic,
        partition,
        position: store.restoreOffset(),
        limit: isInput ? (committedOffset(topic) ?? 0) : undefined,
      })
    }
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
          const key = reader.key()
          // Nobody writes such a record; without a key it says nothing about any row.
          if (key === null) continue
          this.#restoreRecord(store, changelog, key)
          restored += 1
        }
        changelog.position = Math.max(changelog.position, Math.min(reader.nextOffset, endOffset))
      }
    } catch (error) {
      throw this.#restoreFailure(changelog, error)
    } finally {
      reader.reset(noBytes)
    }
    this.#options.metrics.recordsRestored.value += restored
    // With each batch: a restore that is cut short goes on from there, and what is pinned is bounded.
    if (changelog.position > 0) store.restored(changelog.position - 1)
    return restored
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

  /** What was flushed is committed, and acknowledged by the changelogs. */
  committed(): void {
    const { nextOffset, committedOffset } = this.#options
    for (const store of this.#stores.values()) {
      const changelog = this.#changelogs.get(store.name)
      if (changelog === undefined) {
        store.committed(undefined)
        continue
      }
      const { topic, limit } = changelog
      const isInput = limit !== undefined
      const written = isInput ? committedOffset(topic) : nextOffset(topic, changelog.partition)
      // The sink may remember an earlier stay of this task: what was restored is then newer.
      changelog.position = Math.max(changelog.position, written ?? 0)
      store.committed(changelog.position)
    }
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

  /** Closes stores and engines. Idempotent. */
  close(): void {
    try {
      for (const store of this.#stores.values()) store.close()
    } finally {
      this.#options.engines.close()
    }
  }
}
