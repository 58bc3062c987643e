/**
 * What runs one sub-topology on one partition number
 * (org.apache.kafka.streams.processor.internals.StreamTask).
 *
 *     addRecords → partition group → source → processors ⇄ stores → record collector → sink
 *                                                            ↑ restore
 *
 * Everything is synchronous, but for steps whose code answers later (see async-step.ts): their results
 * come with the task's turn. A commit is an exchange with the worker: `prepareCommit` flushes the
 * caches and tells the offsets; the worker flushes the producer and commits them; `committed` then
 * lets the stores go to their engines. Nothing may be processed in between: what the engines get
 * would be tagged with a changelog offset that does not match it.
 */
import { AssertionError, assert } from '../base/assert.ts'
import { silentLog } from '../base/log.ts'
import type { AsyncQueue, AsyncStepOptions } from '../processor/async-step.ts'
import type { PunctuationType } from '../processor/processor.ts'
import { parseTaskId, type TaskId } from '../processor/record-metadata.ts'
import { changelogTopic, type Subtopology } from '../topology/topology.ts'
import { AsyncStep, AsyncSteps, type AsyncStepPorts } from './async-step.ts'
import { ErrorHandlers } from './error-handlers.ts'
import type { ContextTask } from './processor-context.ts'
import { ProcessorMetadata } from './processor-metadata.ts'
import { ProcessorTopology } from './processor-topology.ts'
import type { Punctuation } from './punctuation.ts'
import { RecordCollector } from './record-collector.ts'
import { StateManager, type TaskStore } from './state-manager.ts'
import type { StreamTaskOptions } from './stream-task-options.ts'
import { TaskInputs } from './task-inputs.ts'
import { nextTaskState, type TaskEvent } from './task-life.ts'
import type { TaskNode } from './task-node.ts'
import { TaskPunctuations } from './task-punctuations.ts'
import type { TaskRecord } from './task-record.ts'
import type { CommittedOffset, Task, TaskChangelog, TaskInput, TaskState } from './task.ts'

const emitIntervalMsDefault = 1000

/** Reading the clock for each record would cost as much as a small record does. */
const recordsPerClockCheck = 16

/** The first processor that has the store. */
function ownerOf({ processors }: Subtopology, store: string): string {
  return processors.find(({ stores }) => stores.includes(store))?.name ?? store
}

/** An active task. */
export class StreamTask implements Task, ContextTask {
  readonly id: TaskId
  readonly role = 'active'
  readonly partition: number
  readonly record: TaskRecord
  readonly metadata = new ProcessorMetadata()
  readonly emitIntervalMs: number
  /** Offsets of prepareCommit, until `committed`. */
  #prepared: CommittedOffset[] | undefined
  #state: TaskState = 'created'
  #commitRequested = false
  readonly #asyncSteps = new AsyncSteps()
  /** Something happened, since the last prepareCommit, that a commit must make durable. */
  #hasWork = false

  readonly #options: StreamTaskOptions
  readonly #handlers: ErrorHandlers
  readonly #collector: RecordCollector
  readonly #stateManager: StateManager
  readonly #topology: ProcessorTopology
  readonly #inputs: TaskInputs
  readonly #punctuations = new TaskPunctuations({
    streamTime: () => this.streamTime,
    wallClockTime: () => this.wallClockTime(),
    run: (punctuation, timestamp) => this.#call(punctuation, timestamp),
  })

  constructor(options: StreamTaskOptions) {
    const { id, subtopology, applicationId, metrics, sink } = options
    this.#options = options
    this.id = id
    this.partition = parseTaskId(id).partition
    this.emitIntervalMs = options.emitIntervalMs ?? emitIntervalMsDefault
    const changelogTopics = new Map<string, string>()
    for (const store of subtopology.stores) {
      const topic = changelogTopic(applicationId, store)
      if (topic !== undefined) changelogTopics.set(store.descriptor.name, topic)
    }
    const stateManager =
      options.state ?? new StateManager({ ...options, task: id, stores: subtopology.stores })
    const { record } = stateManager
    this.record = record
    this.#stateManager = stateManager
    this.#handlers = new ErrorHandlers({
      ...options,
      task: id,
      record,
      log: options.log ?? silentLog,
      send: (letter) => this.#collector.deadLetter(letter),
    })
    const handlers = this.#handlers
    this.#collector = new RecordCollector({
      task: id,
      sink,
      metrics,
      record,
      handlers,
      partition: this.partition,
      changelogTopics,
    })
    this.#topology = new ProcessorTopology(subtopology, { task: id, record, handlers })
    this.#inputs = new TaskInputs({
      task: id,
      applicationId,
      subtopology,
      partition: this.partition,
      topology: this.#topology,
      partitionCount: options.partitionCount,
      metrics,
      handlers,
      wallClockTime: () => this.wallClockTime(),
      log: options.log,
      maxTaskIdleMs: options.maxTaskIdleMs ?? 0,
      lag: options.lag ?? (() => 0),
      monotonic: () => options.clock.monotonic(),
    })
  }

  /** The partitions that it reads. */
  get inputs(): readonly TaskInput[] {
    return this.#inputs.inputs
  }

  /**
   * Reads what the sources of its sub-topology read by now: topics begin to match a pattern, and are
   * deleted. Returns what was added; tell their offsets with {@link takeCommitted} before records come.
   */
  updateInputs(subtopology: Subtopology): readonly TaskInput[] {
    return this.#inputs.update(subtopology)
  }

  get state(): TaskState {
    return this.#state
  }

  #transition(event: TaskEvent): void {
    this.#state = nextTaskState(this.#state, event)
  }

  /** See {@link StateManager.prepare}: before {@link initialize}. */
  prepare(): boolean {
    return this.#stateManager.prepare()
  }

  /**
   * Opens the stores and takes up where the group left off: then the changelogs can be restored.
   * Offsets of partitions that this task does not read are passed over.
   */
  initialize(committed: readonly CommittedOffset[]): void {
    this.#transition('initialize')
    this.takeCommitted(committed)
    this.#stateManager.open()
    const { sink, subtopology } = this.#options
    this.#stateManager.own({
      collector: this.#collector,
      unwritable: (store, row, error) =>
        this.#handlers.failed(ownerOf(subtopology, store), error, row),
      nextOffset: (topic, partition) => sink.nextOffset(topic, partition),
      committedOffset: (topic) => this.#inputs.queue(topic, this.partition)?.committedPosition,
    })
  }

  /** Takes up inputs where the group left them off. */
  takeCommitted(committed: readonly CommittedOffset[]): void {
    this.#inputs.takeCommitted(committed, this.metadata)
  }

  get changelogs(): readonly TaskChangelog[] {
    return this.#stateManager.changelogs
  }

  restore(changelog: TaskChangelog, records: Buffer, endOffset: number): number {
    assert(this.#state === 'restoring', `task ${this.id} restores`)
    const restored = this.#stateManager.restore(changelog, records, endOffset)
    this.#options.metrics.recordsRestored.value += restored
    return restored
  }

  isRestoreFull(changelog: TaskChangelog): boolean {
    return this.#stateManager.isRestoreFull(changelog)
  }

  passOver(changelog: TaskChangelog, offset: number): void {
    assert(this.#state === 'restoring', `task ${this.id} restores`)
    this.#stateManager.passOver(changelog, offset)
  }

  /** Bytes that the record caches of this task may hold together from now on. */
  resizeCaches(bytesMax: number): void {
    this.#stateManager.resizeCaches(bytesMax)
  }

  /** All changelogs are at their ends: makes the user's code, and runs. */
  completeRestoration(): void {
    this.#transition('restored')
    const { applicationId } = this.#options
    this.#topology.initialize(this, { collector: this.#collector, applicationId })
  }

  /** Takes fetched batches of an input; the first may begin before `startOffset`, its position. */
  addRecords(topic: string, partition: number, records: Buffer, startOffset: number): void {
    this.#inputs.add(topic, partition, records, startOffset)
  }

  /** Records of an input that wait: what a worker pauses and resumes fetching by. */
  bufferedRecords(topic: string, partition: number): number {
    return this.#inputs.queue(topic, partition)?.bufferedRecords ?? 0
  }

  /** Bytes of fetched batches that wait, over all inputs. */
  bufferedBytes(): number {
    return this.#inputs.bufferedBytes()
  }

  /** The next offset to process of an input; undefined before anything was read. */
  position(topic: string, partition: number): number | undefined {
    return this.#inputs.queue(topic, partition)?.position
  }

  /**
   * Processes up to `recordsMax` records, until `deadline` (of the monotonic clock) at the latest;
   * returns how many. Stream-time punctuations run in between.
   *
   * @throws StreamsError what the records or the user's code caused. The task cannot go on then: its
   *   position is the record that failed, or, when a step failed whose code answers later, one
   *   beyond it.
   */
  process(recordsMax: number, deadline: number): number {
    assert(this.#state === 'running', `task ${this.id} runs`)
    assert(this.#prepared === undefined, `task ${this.id} waits for its commit`)
    const { clock, metrics } = this.#options
    const { group } = this.#inputs
    const record = this.record
    const punctuations = this.#punctuations
    const asyncSteps = this.#asyncSteps
    const settled = asyncSteps.settle()
    if (settled > 0) this.#hasWork = true
    group.beginTurn()
    let processed = 0
    while (processed < recordsMax && !asyncSteps.isFull) {
      const queue = group.next()
      if (queue === undefined) break
      record.enter(queue)
      queue.node.process(queue.headKey, queue.headValue)
      queue.take()
      processed += 1
      if (punctuations.nextStreamTime <= group.streamTime)
        this.#punctuate('stream-time', group.streamTime)
      if (processed % recordsPerClockCheck === 0 && clock.monotonic() >= deadline) break
    }
    if (processed > 0) this.#hasWork = true
    metrics.recordsProcessed.value += processed
    return processed + settled
  }

  /** It has steps whose code answers later. */
  get isAsynchronous(): boolean {
    return this.#asyncSteps.exist
  }

  /**
   * Works towards a commit when there are steps whose code answers later: hands on what they gave, and
   * flushes the caches, which may bring them more. False: something is on its way still, the sink's
   * `wake` tells when to ask again. Nothing else may be processed until it is committed.
   */
  drain(): boolean {
    const asyncSteps = this.#asyncSteps
    if (!asyncSteps.exist) return true
    if (asyncSteps.settle() > 0) this.#hasWork = true
    if (asyncSteps.isEmpty && this.commitNeeded) this.#stateManager.flush()
    return asyncSteps.isEmpty
  }

  /** Runs the punctuations of wall-clock time that are due; true when one ran. */
  punctuate(wallClockTime: number): boolean {
    assert(this.#state === 'running', `task ${this.id} runs`)
    if (this.#punctuations.nextWallClockTime > wallClockTime) return false
    assert(this.#prepared === undefined, `task ${this.id} waits for its commit`)
    return this.#punctuate('wall-clock-time', wallClockTime)
  }

  #punctuate(type: PunctuationType, now: number): boolean {
    const ran = this.#punctuations.punctuate(type, now)
    if (ran) this.#hasWork = true
    return ran
  }

  #call({ node, call }: Punctuation, timestamp: number): void {
    this.record.leave(timestamp)
    try {
      call(timestamp)
    } catch (error) {
      this.#handlers.failed(node, error)
    }
  }

  /** True: a commit would make something durable. */
  get commitNeeded(): boolean {
    return this.#hasWork || this.#inputs.hasMoved
  }

  /** True: the user's code asked for a commit since the last one. */
  get commitRequested(): boolean {
    return this.#commitRequested
  }

  /**
   * Flushes the caches, which forwards and writes changelogs, and returns the offsets to commit once
   * the sink has acknowledged everything. Then call {@link committed}.
   */
  prepareCommit(): CommittedOffset[] {
    assert(this.#prepared === undefined, `task ${this.id} waits for its commit`)
    this.#commitRequested = false
    if (!this.commitNeeded) return []
    this.#stateManager.flush()
    assert(this.#asyncSteps.isEmpty, `task ${this.id} has drained before it commits`)
    // Not at `committed`: the task may be suspended while this commit waits, and its closing code write.
    this.#hasWork = false
    const offsets = this.#inputs.offsets(this.metadata)
    this.metadata.needsCommit = false
    this.#prepared = offsets
    return offsets
  }

  /** The offsets of {@link prepareCommit} are committed: the stores may go to their engines. */
  committed(): void {
    if (this.#prepared === undefined) return
    this.#inputs.committed(this.#prepared)
    this.#prepared = undefined
    this.#stateManager.committed()
  }

  writeBehind(): boolean {
    return this.#stateManager.writeBehind()
  }

  memoryBytes(): number {
    return this.#stateManager.memoryBytes()
  }

  dirtyBytes(): number {
    return this.#stateManager.dirtyBytes()
  }

  /** Those of them that are not committed. */
  uncommittedBytes(): number {
    return this.#stateManager.uncommittedBytes()
  }

  /** The store of that name, for queries; undefined before {@link initialize}. */
  store(name: string): TaskStore | undefined {
    return this.#stateManager.store(name)
  }

  /**
   * Ends processing: closes the user's code and drops what waits. Then commit, since that code may
   * have written, and {@link close}.
   */
  suspend(): void {
    const before = this.#state
    this.#transition('suspend')
    this.#inputs.group.clear()
    this.#punctuations.clear()
    if (before !== 'running') return
    // What closing code forwards has the time of the last record.
    this.record.leave(this.record.timestamp)
    // It may have written, which must not be lost.
    if (this.#topology.close()) this.#hasWork = true
  }

  close({ clean }: { clean: boolean }): void {
    if (this.#state === 'closed') return
    try {
      if (clean) this.#finish()
      else this.#abandon()
    } finally {
      this.#transition('close')
      this.#stateManager.close()
    }
  }

  /** Closes the task, which is suspended and committed, but not its stores: a standby goes on with them. */
  recycle(): StateManager {
    assert(this.#state === 'suspended', `task ${this.id} is suspended before it is recycled`)
    this.#assertCommitted()
    this.#transition('close')
    return this.#stateManager
  }

  #assertCommitted(): void {
    const hasCommitted = !this.#hasWork && this.#prepared === undefined
    assert(hasCommitted, `task ${this.id} has committed before it closes clean`)
  }

  #finish(): void {
    if (this.#state !== 'suspended') this.suspend()
    this.#assertCommitted()
    // One slice after the other: nothing else is to be done in between any more.
    while (this.writeBehind());
  }

  #abandon(): void {
    this.#asyncSteps.abort(new Error(`task ${this.id} was given up`))
    if (this.#state === 'suspended') return
    try {
      this.suspend()
    } catch (error) {
      // The task is given up for another failure, or for another owner: the user's code has had its
      // chance to close, and nobody could act on what it throws.
      if (error instanceof AssertionError) throw error
    }
  }

  // What a processor context asks for.

  get streamTime(): number {
    return this.#inputs.group.streamTime
  }

  wallClockTime(): number {
    return this.#options.clock.now()
  }

  connectedStore(name: string): TaskStore {
    const store = this.#stateManager.store(name)
    assert(store !== undefined, `task ${this.id} has the store ${name}`)
    return store
  }

  globalStore(name: string): object | undefined {
    return this.#options.globalStore?.(name)
  }

  schedule(
    node: TaskNode,
    intervalMs: number,
    type: PunctuationType,
    punctuator: (timestamp: number) => void,
    options: { readonly start?: number } = {},
  ): Disposable {
    const call = { intervalMs, node: node.name, call: punctuator }
    return this.#punctuations.schedule(type, call, options.start)
  }

  asyncStep(node: TaskNode, options: AsyncStepOptions): AsyncQueue {
    const { clock, wake = () => undefined } = this.#options
    const run: AsyncStepPorts['run'] = (work, given) => node.run(work, given)
    const step = new AsyncStep(options, { clock, record: this.record, wake, run })
    this.#asyncSteps.add(step)
    return step
  }

  requestCommit(): void {
    this.#commitRequested = true
  }

  dropped(reason: string): void {
    this.#options.metrics.dropped(reason)
  }
}
