import { canPass, kafkaErrorName } from '../client/kafka-failure.ts'
import { endsTransaction } from '../client/transaction-failure.ts'
import { isStreamsError, type StreamsError } from '../errors.ts'

/** How deep an error is looked into for what caused it. */
const causeDepthMax = 8

/**
 * True for records that were not taken, but can be when they are written anew: also when a broker has lost
 * what it knew of a producer, and when a transaction has ended before its time. Whoever meets such a failure
 * first may have named it for its task or step: what counts is the one at the bottom.
 */
export function isPassingDelivery(error: unknown): error is StreamsError {
  let current = error
  for (let depth = 0; depth < causeDepthMax && current instanceof Error; depth += 1) {
    const { cause } = current
    const isPassing =
      canPass(cause) ||
      endsTransaction(kafkaErrorName(cause)) ||
      isStreamsError(cause, 'TASK_MIGRATED') ||
      isStreamsError(cause, 'TRANSACTION_ABORTED')
    if (isPassing && isStreamsError(current, 'DELIVERY_FAILED')) return true
    current = cause
  }
  return false
}
