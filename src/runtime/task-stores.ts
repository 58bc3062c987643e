import type { TaskProgress } from '../group/membership.ts'
import { progressRunning } from '../group/membership.ts'
import { parseTaskId, type TaskId } from '../processor/record-metadata.ts'
import type { Task } from '../task/task.ts'
import type { TaskManager } from '../task/task-manager.ts'
import type { StoreNode } from '../topology/node.ts'
import { changelogTopic, type Topology } from '../topology/topology.ts'

/** For each task on disk how far each of its stores is, as the next changelog offset. */
export type StoredOffsets = ReadonlyMap<TaskId, ReadonlyMap<string, number>>

/** What the topology says of the stores of a task. */
export class TaskStores {
  readonly #topology: Topology
  readonly #applicationId: string

  constructor(topology: Topology, applicationId: string) {
    this.#topology = topology
    this.#applicationId = applicationId
  }

  /** It has some. */
  isStateful(id: TaskId): boolean {
    return this.#of(id).length > 0
  }

  /** It has one in files. */
  isPersistent(id: TaskId): boolean {
    return this.#of(id).some(({ descriptor }) => descriptor.persistent ?? true)
  }

  /** How far the state is that is here, for the group: of tasks that are open, and of those only on disk. */
  progress(stored: StoredOffsets, { tasks, standbys }: TaskManager): TaskProgress {
    const progress = new Map<TaskId, number>()
    for (const [id, offsets] of stored) {
      const sum = this.#logged(id).reduce((all, name) => all + (offsets.get(name) ?? 0), 0)
      progress.set(id, sum)
    }
    for (const task of standbys.all.values()) progress.set(task.id, positionsOf(task))
    for (const task of tasks.values()) {
      if (!this.isStateful(task.id)) continue
      progress.set(task.id, task.state === 'running' ? progressRunning : positionsOf(task))
    }
    return progress
  }

  #of(id: TaskId): readonly StoreNode[] {
    const { subtopology } = parseTaskId(id)
    return this.#topology.subtopologies.find((one) => one.id === subtopology)?.stores ?? []
  }

  #logged(id: TaskId): string[] {
    return this.#of(id)
      .filter((store) => changelogTopic(this.#applicationId, store) !== undefined)
      .map(({ descriptor }) => descriptor.name)
  }
}

function positionsOf({ changelogs }: Task): number {
  return changelogs.reduce((sum, { position }) => sum + position, 0)
}
