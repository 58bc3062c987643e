/**
 * What one node sees of its task (org.apache.kafka.streams.processor.internals.ProcessorContextImpl).
 * Forwarding is a loop over an array of children that never changes: no closures, no records as
 * objects. Timestamp and headers travel in the one record context of the task.
 */
import { assert } from '../base/assert.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { AsyncQueue, AsyncStepOptions } from '../processor/async-step.ts'
import type { NodeContext, PunctuationType } from '../processor/processor.ts'
import type { RecordMetadata, TaskId } from '../processor/record-metadata.ts'
import type { FlushListener, RecordContext, RecordHeaders } from '../store/state-store.ts'
import type { ProcessorMetadata } from './processor-metadata.ts'
import type { TaskNode } from './task-node.ts'

/** A store as a node needs it; its typed interface is found by what the topology says of it. */
export interface ConnectedStore {
  /** False: the store is not cached, the listener is never called. */
  setFlushListener(
    listener: FlushListener<unknown, unknown>,
    options: { sendOldValues: boolean },
  ): boolean
}

/** What a context asks of its task. */
export interface ContextTask {
  readonly id: TaskId
  readonly record: RecordContext
  readonly streamTime: number
  readonly metadata: ProcessorMetadata
  readonly emitIntervalMs: number
  wallClockTime(): number
  connectedStore(name: string): ConnectedStore
  /** A global store, which everybody may read; undefined: there is none of that name. */
  globalStore(name: string): object | undefined
  schedule(
    node: TaskNode,
    intervalMs: number,
    type: PunctuationType,
    punctuator: (timestamp: number) => void,
    options?: { readonly start?: number },
  ): Disposable
  asyncStep(node: TaskNode, options: AsyncStepOptions): AsyncQueue
  requestCommit(): void
  dropped(reason: string): void
}

/** The context of one node in one task. */
export class ProcessorContext implements NodeContext {
  readonly applicationId: string
  readonly node: string
  readonly taskId: TaskId
  readonly #taskNode: TaskNode
  readonly #children: readonly TaskNode[]
  readonly #task: ContextTask
  readonly #record: RecordContext
  readonly #stores: ReadonlySet<string>
  readonly #storesWithListener = new Set<string>()

  constructor(options: {
    applicationId: string
    node: TaskNode
    task: ContextTask
    stores: readonly string[]
  }) {
    const { applicationId, node, task, stores } = options
    this.applicationId = applicationId
    this.node = node.name
    this.taskId = task.id
    this.#taskNode = node
    this.#children = node.children
    this.#task = task
    this.#record = task.record
    this.#stores = new Set(stores)
  }

  get timestamp(): number {
    return this.#record.timestamp
  }

  get headers(): RecordHeaders {
    return this.#record.headers
  }

  get recordMetadata(): RecordMetadata | undefined {
    const { topic, partition, offset } = this.#record
    return topic === '' ? undefined : { topic, partition, offset }
  }

  get streamTime(): number {
    return this.#task.streamTime
  }

  wallClockTime(): number {
    return this.#task.wallClockTime()
  }

  forward(key: unknown, value: unknown): void {
    const children = this.#children
    for (let index = 0; index < children.length; index += 1) {
      ;(children[index] as TaskNode).process(key, value)
    }
  }

  forwardAt(key: unknown, value: unknown, timestamp: number): void {
    const record = this.#record
    const before = record.timestamp
    record.timestamp = checkedTimestamp(timestamp)
    try {
      this.forward(key, value)
    } finally {
      record.timestamp = before
    }
  }

  forwardRecord(
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders,
    child?: string,
  ): void {
    const record = this.#record
    const { timestamp: timestampBefore, headers: headersBefore } = record
    record.timestamp = checkedTimestamp(timestamp)
    record.headers = headers
    try {
      if (child === undefined) this.forward(key, value)
      else this.#child(child).process(key, value)
    } finally {
      record.timestamp = timestampBefore
      record.headers = headersBefore
    }
  }

  forwardFrom(key: unknown, value: unknown, origin: RecordContext): void {
    const record = this.#record
    const { timestamp, offset, topic, partition, headers, source } = record
    record.timestamp = origin.timestamp
    record.offset = origin.offset
    record.topic = origin.topic
    record.partition = origin.partition
    record.headers = origin.headers
    record.source = origin.source
    try {
      this.forward(key, value)
    } finally {
      record.timestamp = timestamp
      record.offset = offset
      record.topic = topic
      record.partition = partition
      record.headers = headers
      record.source = source
    }
  }

  #child(name: string): TaskNode {
    for (const child of this.#children) if (child.name === name) return child
    throw new Error(`there is no child ${name}, or it is not connected to ${this.node}`)
  }

  store(name: string): unknown {
    if (this.#stores.has(name)) return this.#connected(name)
    return this.#task.globalStore(name) ?? this.#connected(name)
  }

  #connected(name: string): ConnectedStore {
    if (!this.#stores.has(name)) {
      throw new StreamsError('STORE_NOT_CONNECTED', { store: name, node: this.node })
    }
    return this.#task.connectedStore(name)
  }

  onStoreFlush(
    name: string,
    listener: FlushListener<unknown, unknown>,
    options: { sendOldValues: boolean },
  ): boolean {
    assert(!this.#storesWithListener.has(name), `the store ${name} has one flush listener`)
    this.#storesWithListener.add(name)
    const node = this.#taskNode
    return this.#connected(name).setFlushListener((key, newValue, oldValue, timestamp) => {
      try {
        listener(key, newValue, oldValue, timestamp)
      } catch (error) {
        throw node.finalFailure(error)
      }
    }, options)
  }

  schedule(
    intervalMs: number,
    type: PunctuationType,
    punctuator: (timestamp: number) => void,
    options?: { readonly start?: number },
  ): Disposable {
    this.#assertPunctuation(type, punctuator)
    return this.#task.schedule(this.#taskNode, intervalMs, type, punctuator, options)
  }

  /** Refuses what a program without types may give. */
  #assertPunctuation(type: unknown, punctuator: unknown): void {
    const isType = type === 'stream-time' || type === 'wall-clock-time'
    if (isType && typeof punctuator === 'function') return
    const needs = isType
      ? `needs a function to call, not ${shownValue(punctuator)}`
      : `is by stream-time or wall-clock-time, not by ${shownValue(type)}`
    const detail = `a punctuation of ${this.node} ${needs}`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }

  asyncStep(options: AsyncStepOptions): AsyncQueue {
    return this.#task.asyncStep(this.#taskNode, options)
  }

  commit(): void {
    this.#task.requestCommit()
  }

  get emitIntervalMs(): number {
    return this.#task.emitIntervalMs
  }

  metadata(key: string): number | undefined {
    return this.#task.metadata.get(key)
  }

  setMetadata(key: string, value: number): void {
    this.#task.metadata.set(key, value)
  }

  dropped(reason: string): void {
    this.#task.dropped(reason)
  }
}

function checkedTimestamp(timestamp: number): number {
  if (Number.isSafeInteger(timestamp) && timestamp >= 0) return timestamp
  throw new Error(`a record cannot have the timestamp ${String(timestamp)}`)
}
