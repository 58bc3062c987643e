/** What the errors of transactions mean to who works in one. */
import { isStreamsError, StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { kafkaFailure } from './kafka-failure.ts'

/** Somebody else has taken over the place in the group. */
const memberErrors: ReadonlySet<number> = new Set([
  errorCode.ILLEGAL_GENERATION,
  errorCode.UNKNOWN_MEMBER_ID,
  errorCode.FENCED_INSTANCE_ID,
  errorCode.STALE_MEMBER_EPOCH,
])

/** Somebody else has taken over: the transactional id, or the place in the group. */
const fencingErrors: ReadonlySet<number> = new Set([
  ...memberErrors,
  errorCode.PRODUCER_FENCED,
  errorCode.INVALID_PRODUCER_EPOCH,
  errorCode.INVALID_PRODUCER_ID_MAPPING,
  errorCode.TRANSACTION_COORDINATOR_FENCED,
])

/** This transaction cannot be committed any more; the next one can. */
const abortingErrors: ReadonlySet<number> = new Set([
  errorCode.TRANSACTION_ABORTABLE,
  errorCode.INVALID_TXN_STATE,
  errorCode.UNKNOWN_PRODUCER_ID,
  errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
])

/**
 * An answer that ends a transaction: `TASK_MIGRATED`, `TRANSACTION_ABORTED`, or `KAFKA_ERROR` for what
 * will not be better the next time, such as a missing right.
 */
export function transactionFailure(
  api: string,
  code: number,
  { transactionalId, subject = transactionalId }: { transactionalId: string; subject?: string },
): StreamsError {
  const { name, message } = kafkaError(code)
  const detail = `${name}, ${message}`
  if (fencingErrors.has(code)) {
    return new StreamsError('TASK_MIGRATED', {
      task: `of the transactional id ${transactionalId}`,
      error: name,
      detail,
    })
  }
  if (abortingErrors.has(code)) {
    return new StreamsError('TRANSACTION_ABORTED', { transactionalId, api, error: name, detail })
  }
  return kafkaFailure(api, code, { subject })
}

/** True when the group refused the member, not the producer: it may have another generation by now. */
export function isOfMember(error: unknown): boolean {
  if (!isStreamsError(error, 'TASK_MIGRATED')) return false
  const { error: name } = error.context
  return [...memberErrors].some((code) => kafkaError(code).name === name)
}

/** True for the answers to Produce after which all is done again from the last commit. */
export function endsTransaction(name: string | undefined): boolean {
  return [...fencingErrors, ...abortingErrors].some((code) => kafkaError(code).name === name)
}
