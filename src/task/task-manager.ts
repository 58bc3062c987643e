/**
 * All tasks of one worker (org.apache.kafka.streams.processor.internals.TaskManager): makes and
 * closes them, hands them their records, lets them work in turn, and commits them together.
 *
 * The worker's loop, in its words:
 *
 *     create → fetch committed offsets → prepare, initialize → restore changelogs → completeRestoration
 *     addRecords … process(deadline) → punctuate → writeBehind(deadline)
 *     offsets = prepareCommit() → flush the producer → commit the offsets → committed()
 *     revoke: suspend(ids) → prepareCommit(ids) → … → committed(ids) → close(ids, clean) or park(ids)
 *
 * Beside these active tasks it has the standbys, which only follow changelogs and are written behind.
 */
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ErrorHandling } from '../error-handlers.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { parseTaskId, type TaskId } from '../processor/record-metadata.ts'
import { RestoreBudget } from '../store/restore-budget.ts'
import type { Subtopology, Topology } from '../topology/topology.ts'
import type { RecordSink } from './record-sink.ts'
import { StandbyTasks } from './standby-tasks.ts'
import { StateManager, type TaskEngines } from './state-manager.ts'
import { StreamTask } from './stream-task.ts'
import { namingTask } from './task-failure.ts'
import type { CommittedOffset, Task, TaskInput } from './task.ts'

export interface TaskManagerOptions extends ErrorHandling {
  readonly topology: Topology
  readonly applicationId: string
  readonly clock: Clock
  readonly sink: RecordSink
  readonly metrics: StreamsMetrics
  /** Opens the engines of a task; the task closes them. */
  readonly engines: (task: TaskId) => TaskEngines
  /** Bytes that the record caches of each task may hold; 0: no caching. */
  readonly cacheBytesPerTask: number
  /** Partitions of a source topic. */
  readonly partitionCount: (topic: string) => number
  /**
   * Records that the broker has beyond those that were added; undefined: not known yet. Asked only
   * for a partition that is empty while another one of its task is not.
   */
  readonly lag: (topic: string, partition: number) => number | undefined
  /** Milliseconds; see PartitionGroup. Default 0. */
  readonly maxTaskIdleMs?: number
  /** Finds a global store for a processor to read. Default: there are none. */
  readonly globalStore?: (name: string) => object | undefined
  /** See StreamTaskOptions. */
  readonly wake?: () => void
  /** Default: nothing is logged. */
  readonly log?: Log
}

/** What a task reads from now on, and no more. */
export interface InputChange {
  readonly task: StreamTask
  readonly added: readonly TaskInput[]
  readonly removed: readonly TaskInput[]
}

/** All tasks, or those without steps whose code answers later. */
export type WhichTasks = 'all' | 'synchronous'

/** Records of one task before it is the turn of the next. */
const recordsPerTurnMax = 1000

/** The tasks of a worker. Every error that leaves it names its task in `context.task`. */
export class TaskManager {
  readonly standbys: StandbyTasks
  readonly #options: TaskManagerOptions
  readonly #restoreBudget = new RestoreBudget()
  readonly #tasks = new Map<TaskId, StreamTask>()
  /** By `<partition>/<topic>`. */
  readonly #tasksByInput = new Map<string, StreamTask>()
  /** Who begins the next round: the one after who worked last. */
  #turn = 0
  #writeTurn = 0

  constructor(options: TaskManagerOptions) {
    this.#options = options
    this.standbys = new StandbyTasks({
      metrics: options.metrics,
      makeState: (id) => this.#makeState(id),
    })
  }

  /** The active ones, in the order of their making. */
  get tasks(): ReadonlyMap<TaskId, StreamTask> {
    return this.#tasks
  }

  /** The task of that id, whatever its role. */
  find(id: TaskId): Task | undefined {
    return this.#tasks.get(id) ?? this.standbys.all.get(id)
  }

  /** Those of both roles. */
  *all(): Generator<Task> {
    yield* this.#tasks.values()
    yield* this.standbys.all.values()
  }

  /**
   * Makes the task, without any effect outside. A standby of that id ends, and its stores go over to the
   * task as they are.
   */
  create(id: TaskId): StreamTask {
    assert(!this.#tasks.has(id), `there is no task ${id} yet`)
    const { topology: _, cacheBytesPerTask, engines, ...options } = this.#options
    const task = new StreamTask({
      ...options,
      id,
      subtopology: this.#subtopology(id),
      engines: engines(id),
      cacheBytesMax: cacheBytesPerTask,
      restoreBudget: this.#restoreBudget,
      state: this.standbys.recycle(id),
    })
    this.#tasks.set(id, task)
    for (const { topic, partition } of task.inputs) {
      this.#tasksByInput.set(inputKey(topic, partition), task)
    }
    return task
  }

  /** Lets a task read what the topology says by now; see {@link StreamTask.updateInputs}. */
  updateInputs(id: TaskId): InputChange {
    const task = this.#task(id)
    const before = task.inputs
    const added = task.updateInputs(this.#subtopology(id))
    const removed = before.filter((input) => !task.inputs.some((now) => isSameInput(input, now)))
    for (const { topic, partition } of removed)
      this.#tasksByInput.delete(inputKey(topic, partition))
    for (const { topic, partition } of added)
      this.#tasksByInput.set(inputKey(topic, partition), task)
    return { task, added, removed }
  }

  #makeState(id: TaskId): StateManager {
    const { applicationId, metrics, engines, cacheBytesPerTask } = this.#options
    return new StateManager({
      task: id,
      applicationId,
      metrics,
      stores: this.#subtopology(id).stores,
      engines: engines(id),
      cacheBytesMax: cacheBytesPerTask,
      restoreBudget: this.#restoreBudget,
    })
  }

  /** So many managers share the memory in which what is restored is gathered; sizes caches anew as well. */
  shareMemory(managers: number): void {
    this.#restoreBudget.shareWith(managers)
    this.resizeCaches()
  }

  /** Gives each task the bytes for record caches that one has by now. */
  resizeCaches(): void {
    const { cacheBytesPerTask } = this.#options
    for (const task of this.#tasks.values()) task.resizeCaches(cacheBytesPerTask)
    for (const task of this.standbys.all.values()) task.resizeCaches(cacheBytesPerTask)
  }

  #subtopology(id: TaskId): Subtopology {
    const { subtopology: number } = parseTaskId(id)
    const found = this.#options.topology.subtopologies.find((one) => one.id === number)
    assert(found !== undefined, `the topology has the sub-topology of task ${id}`)
    return found
  }

  /** Does a slice of what takes long when the stores are opened; true while there is more. */
  prepare(id: TaskId): boolean {
    const task = this.#task(id)
    return namingTask(task.id, () => task.prepare())
  }

  /** Opens the stores of a task; see {@link StreamTask.initialize}. */
  initialize(id: TaskId, committed: readonly CommittedOffset[]): void {
    const task = this.#task(id)
    namingTask(task.id, () => task.initialize(committed))
  }

  /** Lets a restored task run; see {@link StreamTask.completeRestoration}. */
  completeRestoration(id: TaskId): void {
    const task = this.#task(id)
    namingTask(task.id, () => task.completeRestoration())
  }

  #task(id: TaskId): StreamTask {
    const task = this.#tasks.get(id)
    assert(task !== undefined, `there is a task ${id}`)
    return task
  }

  #chosen(ids: Iterable<TaskId> | undefined): StreamTask[] {
    if (ids === undefined) return [...this.#tasks.values()]
    return [...ids].map((id) => this.#task(id))
  }

  /** The task that reads a partition; undefined: none here. */
  taskOf(topic: string, partition: number): StreamTask | undefined {
    return this.#tasksByInput.get(inputKey(topic, partition))
  }

  /**
   * Hands over fetched batches. False: no task reads that partition any more, as after a revocation
   * that overtook the fetch; the records are dropped.
   */
  addRecords(topic: string, partition: number, records: Buffer, startOffset: number): boolean {
    const task = this.taskOf(topic, partition)
    if (task === undefined || task.state === 'suspended') return false
    task.addRecords(topic, partition, records, startOffset)
    return true
  }

  /** Records of a partition that wait for their task. */
  bufferedRecords(topic: string, partition: number): number {
    return this.taskOf(topic, partition)?.bufferedRecords(topic, partition) ?? 0
  }

  /**
   * Lets the running tasks work in turn until nothing can be processed or the deadline (of the
   * monotonic clock) is reached; returns how many records that were. `synchronous`: only those that
   * have no steps whose code answers later, while the others drain.
   */
  process(deadline: number, which: WhichTasks = 'all'): number {
    const running = this.#running(which)
    let total = 0
    let idleTasks = 0
    while (idleTasks < running.length) {
      this.#turn %= running.length
      const task = running[this.#turn] as StreamTask
      const processed = namingTask(task.id, () => task.process(recordsPerTurnMax, deadline))
      total += processed
      idleTasks = processed === 0 ? idleTasks + 1 : 0
      this.#turn += 1
      if (this.#options.clock.monotonic() >= deadline) break
    }
    return total
  }

  #running(which: WhichTasks): StreamTask[] {
    return [...this.#tasks.values()].filter(
      (task) => task.state === 'running' && (which === 'all' || !task.isAsynchronous),
    )
  }

  /**
   * Works towards a commit of these tasks (default: all); false: some of them wait for steps whose
   * code answers later. See {@link StreamTask.drain}.
   */
  drain(ids?: Iterable<TaskId>): boolean {
    let isDrained = true
    for (const task of this.#chosen(ids)) {
      if (task.state !== 'running' && task.state !== 'suspended') continue
      if (!namingTask(task.id, () => task.drain())) isDrained = false
    }
    return isDrained
  }

  /** Runs wall-clock punctuations that are due; true when one ran. */
  punctuate(which: WhichTasks = 'all'): boolean {
    const now = this.#options.clock.now()
    let ran = false
    for (const task of this.#running(which)) {
      if (namingTask(task.id, () => task.punctuate(now))) ran = true
    }
    return ran
  }

  /** True: some task's code has asked for a commit. */
  get commitRequested(): boolean {
    for (const task of this.#tasks.values()) if (task.commitRequested) return true
    return false
  }

  /** True: a commit would make something durable. */
  get commitNeeded(): boolean {
    for (const task of this.#tasks.values()) if (task.commitNeeded) return true
    return false
  }

  /**
   * Flushes the caches of these tasks (default: of all that run or are suspended), and returns the
   * offsets to commit once the sink has acknowledged everything. Nothing of these tasks may be
   * processed until {@link committed}; if the commit fails for good, close them unclean.
   */
  prepareCommit(ids?: Iterable<TaskId>): CommittedOffset[] {
    const offsets: CommittedOffset[] = []
    for (const task of this.#chosen(ids)) {
      if (task.state !== 'running' && task.state !== 'suspended') continue
      for (const offset of namingTask(task.id, () => task.prepareCommit())) offsets.push(offset)
    }
    return offsets
  }

  /** The offsets of {@link prepareCommit} are committed. */
  committed(ids?: Iterable<TaskId>): void {
    for (const task of this.#chosen(ids)) namingTask(task.id, () => task.committed())
  }

  /**
   * Writes committed state to the engines, a slice of each task in turn, until the deadline (of the
   * monotonic clock); true while there is more.
   */
  writeBehind(deadline: number): boolean {
    const tasks = [...this.all()]
    let doneTasks = 0
    while (doneTasks < tasks.length) {
      this.#writeTurn %= tasks.length
      const task = tasks[this.#writeTurn] as Task
      const isMore = namingTask(task.id, () => task.writeBehind())
      doneTasks = isMore ? 0 : doneTasks + 1
      this.#writeTurn += 1
      if (this.#options.clock.monotonic() >= deadline) return doneTasks < tasks.length
    }
    return false
  }

  /** Ends processing of these tasks; see {@link StreamTask.suspend}. */
  suspend(ids: Iterable<TaskId>): void {
    for (const task of this.#chosen(ids)) namingTask(task.id, () => task.suspend())
  }

  /**
   * Ends these tasks, which are suspended and committed, and keeps their stores open for the standbys
   * that they may become; see {@link StandbyTasks}.
   */
  park(ids: Iterable<TaskId>): void {
    for (const task of this.#chosen(ids)) {
      this.#forget(task)
      namingTask(task.id, () => this.standbys.park(task))
    }
  }

  #forget(task: StreamTask): void {
    this.#tasks.delete(task.id)
    for (const { topic, partition } of task.inputs) {
      this.#tasksByInput.delete(inputKey(topic, partition))
    }
  }

  /**
   * Closes these active tasks (default: all). All are closed, also when one fails; the first failure is
   * thrown.
   */
  close(ids: Iterable<TaskId> | undefined, options: { clean: boolean }): void {
    const failures: unknown[] = []
    for (const task of this.#chosen(ids)) {
      this.#forget(task)
      try {
        namingTask(task.id, () => task.close(options))
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  /** Bytes in the caches and write-behind buffers of all tasks. */
  memoryBytes(): number {
    let bytes = 0
    for (const task of this.all()) bytes += task.memoryBytes()
    return bytes
  }

  /** Bytes of all tasks that are not in the engines yet. */
  dirtyBytes(): number {
    let bytes = 0
    for (const task of this.all()) bytes += task.dirtyBytes()
    return bytes
  }

  /** Bytes of what was written to stores since the last commit, but for what caches hold. */
  uncommittedBytes(): number {
    let bytes = 0
    for (const task of this.#tasks.values()) bytes += task.uncommittedBytes()
    return bytes
  }

  /** Sets the gauges of tasks and their memory; how far changelogs are read is their readers'. */
  measure(): void {
    const { metrics } = this.#options
    let running = 0
    let restoring = 0
    for (const { state } of this.#tasks.values()) {
      if (state === 'running') running += 1
      if (state === 'restoring') restoring += 1
    }
    metrics.tasksRunning.set(running)
    metrics.tasksRestoring.set(restoring)
    metrics.tasksStandby.set(this.standbys.all.size)
    metrics.stateMemoryBytes.set(this.memoryBytes())
    metrics.dirtyBytes.set(this.dirtyBytes())
  }
}

function isSameInput(a: TaskInput, b: TaskInput): boolean {
  return a.topic === b.topic && a.partition === b.partition
}

function inputKey(topic: string, partition: number): string {
  return `${partition}/${topic}`
}
