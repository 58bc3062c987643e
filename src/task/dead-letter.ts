/**
 * Dead letters as Kafka Streams writes them (KIP-1034,
 * org.apache.kafka.streams.errors.internals.ExceptionHandlerUtils): the bytes of the source record, the
 * headers that it has at the step that failed, and six more that tell what was wrong with it.
 *
 * The class of an exception is a JavaScript name here: that of the error, and for errors of Millpond
 * also their code, as `StreamsError.SERDE_FAILED`.
 */
import type { DeadLetterRecord, ErrorHandlerContext } from '../error-handlers.ts'
import { StreamsError, messageOf } from '../errors.ts'

const prefix = '__streams.errors.'
/** Errors may be the cause of each other. */
const causeDepthMax = 20

/** The record for a dead letter queue. */
export function deadLetter(
  topic: string,
  context: ErrorHandlerContext,
  error: unknown,
): DeadLetterRecord {
  const { sourceRawKey, sourceRawValue, timestamp, headers, topic: source } = context
  const facts: readonly (readonly [name: string, value: string | null])[] = [
    ['exception', nameOf(error)],
    ['message', messageOf(error)],
    ['stacktrace', stackOf(error)],
    ['topic', source ?? null],
    ['partition', String(context.partition)],
    ['offset', String(context.offset)],
  ]
  const added = facts.map(
    ([name, value]) => [prefix + name, value === null ? null : Buffer.from(value)] as const,
  )
  return {
    topic,
    key: sourceRawKey,
    value: sourceRawValue,
    timestamp,
    headers: [...headers, ...added],
  }
}

function nameOf(error: unknown): string {
  if (error instanceof StreamsError) return `${error.name}.${error.code}`
  return error instanceof Error ? error.name : typeof error
}

/** As Java prints it: the error and its causes, each with where it was thrown. */
function stackOf(error: unknown): string {
  const parts: string[] = []
  let current: unknown = error
  for (let depth = 0; depth < causeDepthMax && current !== undefined; depth += 1) {
    const { stack = messageOf(current), cause } = current instanceof Error ? current : {}
    parts.push(depth === 0 ? stack : `Caused by: ${stack}`)
    current = cause
  }
  return parts.join('\n')
}
