import { StreamsError, isStreamsError } from '../errors.ts'

/** What a fetch from a changelog that failed means for the task. */
export function changelogFailure(
  error: StreamsError,
  { task, store }: { readonly task: string; readonly store: string },
): StreamsError {
  if (!isStreamsError(error, 'OFFSET_OUT_OF_RANGE')) return error
  // Old records were deleted, tombstones among them: what the store has may be gone by now.
  const context = { task, store, detail: error.message }
  return new StreamsError('TASK_CORRUPTED', context, { cause: error })
}
