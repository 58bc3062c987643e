import { StreamsError } from '../errors.ts'
import { parseTaskId, taskId, type TaskId } from '../processor/record-metadata.ts'
import type { TaskSet } from './membership.ts'
import { sortedTaskIds } from './task-ids.ts'

/** Tasks of one sub-topology, as KIP-1071 writes them. */
export interface WireTasks {
  readonly subtopologyId: string
  readonly partitions: readonly number[]
}

/** The tasks of a member as the coordinator sees them: it tells warm-ups and standbys apart. */
export interface StreamsTasks extends TaskSet {
  readonly warmup: ReadonlySet<TaskId>
}

export const noStreamsTasks: StreamsTasks = {
  active: new Set(),
  standby: new Set(),
  warmup: new Set(),
}

/** The three lists of a heartbeat. */
export function wireTasks({ active, standby, warmup }: StreamsTasks): {
  activeTasks: WireTasks[]
  standbyTasks: WireTasks[]
  warmupTasks: WireTasks[]
} {
  return {
    activeTasks: grouped(active),
    standbyTasks: grouped(standby),
    warmupTasks: grouped(warmup),
  }
}

/**
 * Reads the three lists of an answer; undefined: nothing has changed. Throws `ASSIGNMENT_FAILED` for a
 * sub-topology that the topology does not have.
 */
export function readWireTasks(
  lists: {
    readonly activeTasks: readonly WireTasks[] | null
    readonly standbyTasks: readonly WireTasks[] | null
    readonly warmupTasks: readonly WireTasks[] | null
  },
  subtopologies: ReadonlySet<number>,
): StreamsTasks | undefined {
  const { activeTasks, standbyTasks, warmupTasks } = lists
  if (activeTasks === null && standbyTasks === null && warmupTasks === null) return undefined
  return {
    active: idsOf(activeTasks ?? [], subtopologies),
    standby: idsOf(standbyTasks ?? [], subtopologies),
    warmup: idsOf(warmupTasks ?? [], subtopologies),
  }
}

/**
 * What a worker runs of it: a task only once, active before standby; a warm-up is a standby to it.
 */
export function runnableTasks({ active, standby, warmup }: StreamsTasks): TaskSet {
  const copies = [...standby, ...warmup].filter((id) => !active.has(id))
  return { active, standby: new Set(copies) }
}

/** True when both have the same tasks in the same roles. */
export function isSameTasks(a: StreamsTasks, b: StreamsTasks): boolean {
  return (
    isSameSet(a.active, b.active) &&
    isSameSet(a.standby, b.standby) &&
    isSameSet(a.warmup, b.warmup)
  )
}

function isSameSet(a: ReadonlySet<TaskId>, b: ReadonlySet<TaskId>): boolean {
  return a.size === b.size && [...a].every((id) => b.has(id))
}

function grouped(ids: ReadonlySet<TaskId>): WireTasks[] {
  const groups = new Map<number, number[]>()
  for (const id of sortedTaskIds(ids)) {
    const { subtopology, partition } = parseTaskId(id)
    const partitions = groups.get(subtopology)
    if (partitions === undefined) groups.set(subtopology, [partition])
    else partitions.push(partition)
  }
  return [...groups].map(([id, partitions]) => ({ subtopologyId: String(id), partitions }))
}

function idsOf(lists: readonly WireTasks[], subtopologies: ReadonlySet<number>): Set<TaskId> {
  const ids = new Set<TaskId>()
  for (const { subtopologyId, partitions } of lists) {
    const subtopology = Number(subtopologyId)
    if (!subtopologies.has(subtopology)) {
      const detail = `the group gave out a task of sub-topology ${subtopologyId}, which this program does not have`
      throw new StreamsError('ASSIGNMENT_FAILED', { detail })
    }
    for (const partition of partitions) ids.add(taskId(subtopology, partition))
  }
  return ids
}
