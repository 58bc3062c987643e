import { StreamsError } from '../errors.ts'
import type { TaskId } from '../processor/record-metadata.ts'

/** Failures of disk, sink or serde know nothing of tasks: adds the name, keeps code and facts. */
export function namingTask<T>(id: TaskId, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof StreamsError) || error.context['task'] !== undefined) throw error
    throw new StreamsError(error.code, { ...error.context, task: id }, { cause: error })
  }
}
