import { AssertionError } from '../base/assert.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { RecordContext } from '../store/state-store.ts'

/**
 * What a node threw, with the node and the record (org.apache.kafka.streams.errors.internals.
 * FailedProcessingException). Failures that have a code of their own pass: the worker acts on them. So
 * do those that a child has already been named for, and broken invariants.
 */
export function processorFailure(
  error: unknown,
  where: { node: string; task: TaskId; record: RecordContext },
): unknown {
  if (error instanceof AssertionError) return error
  if (error instanceof StreamsError && error.code !== 'SERDE_FAILED') return error
  const { node, task, record } = where
  const origin =
    record.topic === ''
      ? {}
      : { topic: record.topic, partition: record.partition, offset: record.offset }
  return new StreamsError(
    'PROCESSING_FAILED',
    { node, task, ...origin, detail: messageOf(error) },
    { cause: error },
  )
}
