/** `<sub-topology>_<partition>`, as Java prints it. */
export type TaskId = `${number}_${number}`

/** The id of the task that runs a sub-topology on one partition number. */
export function taskId(subtopology: number, partition: number): TaskId {
  return `${subtopology}_${partition}`
}

/** The two numbers of a task id. */
export function parseTaskId(id: TaskId): { subtopology: number; partition: number } {
  const separator = id.indexOf('_')
  return { subtopology: Number(id.slice(0, separator)), partition: Number(id.slice(separator + 1)) }
}

/** Where a record came from. */
export interface RecordMetadata {
  readonly topic: string
  readonly partition: number
  readonly offset: number
}
