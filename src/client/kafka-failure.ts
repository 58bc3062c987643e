import { isStreamsError, StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'

/** A Kafka error code as an error: `KAFKA_ERROR`, its name in `context.error`. */
export function kafkaFailure(
  api: string,
  code: number,
  context: { readonly subject: string; readonly detail?: string | null | undefined },
): StreamsError {
  const { name, retriable, message } = kafkaError(code)
  return new StreamsError('KAFKA_ERROR', {
    api,
    subject: context.subject,
    error: name,
    kafkaRetriable: retriable,
    detail: context.detail ?? message,
  })
}

/** Kafka's name of the error, when it is a `KAFKA_ERROR`. */
export function kafkaErrorName(error: unknown): string | undefined {
  return isStreamsError(error, 'KAFKA_ERROR') ? (error.context['error'] as string) : undefined
}

/** True when the same request can succeed later: lost connections, timeouts, passing Kafka errors. */
export function canPass(error: unknown): boolean {
  return (
    isStreamsError(error, 'BROKER_UNREACHABLE') ||
    isStreamsError(error, 'CONNECTION_CLOSED') ||
    isStreamsError(error, 'REQUEST_TIMEOUT') ||
    (isStreamsError(error, 'KAFKA_ERROR') && error.context['kafkaRetriable'] === true)
  )
}

const leaderErrors: ReadonlySet<number> = new Set([
  errorCode.NOT_LEADER_OR_FOLLOWER,
  errorCode.LEADER_NOT_AVAILABLE,
  errorCode.REPLICA_NOT_AVAILABLE,
  errorCode.UNKNOWN_TOPIC_OR_PARTITION,
  errorCode.UNKNOWN_TOPIC_ID,
  errorCode.INCONSISTENT_TOPIC_ID,
  errorCode.FENCED_LEADER_EPOCH,
  errorCode.UNKNOWN_LEADER_EPOCH,
  errorCode.LISTENER_NOT_FOUND,
  errorCode.KAFKA_STORAGE_ERROR,
])

/** True when the answer means that another broker may lead the partition: ask for metadata. */
export function isLeaderError(code: number): boolean {
  return leaderErrors.has(code)
}

/** True when the answer means that another broker may coordinate: look for it again. */
export function isCoordinatorError(code: number): boolean {
  return code === errorCode.NOT_COORDINATOR || code === errorCode.COORDINATOR_NOT_AVAILABLE
}
