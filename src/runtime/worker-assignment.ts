import type { TaskSet } from '../group/membership.ts'
import type { TaskId } from '../processor/record-metadata.ts'

/** What the group wants of a worker, as it said last. */
export interface WorkerAssignment {
  readonly target: TaskSet
  readonly matchedTopics: readonly string[]
}

/** What is left of it when these active tasks are revoked. */
export function withoutActive(
  assignment: WorkerAssignment | undefined,
  revoked: readonly TaskId[],
): WorkerAssignment | undefined {
  if (assignment === undefined) return undefined
  const { active, standby } = assignment.target
  const left = new Set([...active].filter((id) => !revoked.includes(id)))
  return { ...assignment, target: { active: left, standby } }
}
