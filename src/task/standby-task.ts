import { assert } from '../base/assert.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { StateManager, TaskStore } from './state-manager.ts'
import { nextTaskState, type TaskEvent } from './task-life.ts'
import type { Task, TaskChangelog, TaskState } from './task.ts'

/** What a {@link StandbyTask} is made of. */
export interface StandbyTaskOptions {
  readonly id: TaskId
  /** Not open yet, or of an active task that becomes this one. */
  readonly state: StateManager
  readonly metrics: StreamsMetrics
}

/**
 * A copy of the stores of a task that another instance runs: it only follows their changelogs, so that
 * the task can begin here at once when the other one is gone
 * (org.apache.kafka.streams.processor.internals.StandbyTask). A warm-up is the same thing.
 *
 * What it has read comes from changelogs, where everything is committed or will be: its engines may have
 * it at any time. They get it in large runs, and all of it at {@link StandbyTask.commit}.
 */
export class StandbyTask implements Task {
  readonly id: TaskId
  readonly role = 'standby'
  readonly #stateManager: StateManager
  readonly #metrics: StreamsMetrics
  #state: TaskState = 'created'

  constructor({ id, state, metrics }: StandbyTaskOptions) {
    this.id = id
    this.#stateManager = state
    this.#metrics = metrics
  }

  get state(): TaskState {
    return this.#state
  }

  #transition(event: TaskEvent): void {
    this.#state = nextTaskState(this.#state, event)
  }

  /** Opens the stores, unless they are: then their changelogs can be followed. */
  initialize(): void {
    this.#transition('follow')
    this.#stateManager.open()
  }

  get changelogs(): readonly TaskChangelog[] {
    return this.#stateManager.changelogs
  }

  restore(changelog: TaskChangelog, records: Buffer, endOffset: number): number {
    assert(this.#state === 'running', `standby ${this.id} runs`)
    const applied = this.#stateManager.restore(changelog, records, endOffset)
    this.#metrics.standbyRecords.value += applied
    return applied
  }

  isRestoreFull(changelog: TaskChangelog): boolean {
    return this.#stateManager.isRestoreFull(changelog)
  }

  passOver(changelog: TaskChangelog, offset: number): void {
    assert(this.#state === 'running', `standby ${this.id} runs`)
    this.#stateManager.passOver(changelog, offset)
  }

  /** How far the group has come in a topic that serves as a changelog: it is followed no further. */
  limit(topic: string, offset: number): void {
    this.#stateManager.limit(topic, offset)
  }

  /** Bytes that the record caches of this task may hold together, once it is active. */
  resizeCaches(bytesMax: number): void {
    this.#stateManager.resizeCaches(bytesMax)
  }

  /** Lets the engines take all that was read: see {@link StandbyTask.writeBehind}. */
  commit(): void {
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

  store(name: string): TaskStore | undefined {
    return this.#stateManager.store(name)
  }

  /** Ends the task but not its stores: an active task goes on with them. */
  recycle(): StateManager {
    this.#transition('suspend')
    this.#transition('close')
    return this.#stateManager
  }

  close({ clean }: { clean: boolean }): void {
    if (this.#state === 'closed') return
    this.#transition('suspend')
    try {
      if (clean) this.commit()
    } finally {
      this.#transition('close')
      this.#stateManager.close()
    }
  }
}
