import { canPass, kafkaErrorName } from '../client/kafka-failure.ts'
import { isStreamsError, type StreamsError } from '../errors.ts'

/** How deep an error is looked into for what caused it. */
const causeDepthMax = 8

/** What a broker says that has lost what it knew of a producer: a new producer is told nothing of it. */
const forgottenProducer = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
])

/**
 * True for records that were not taken, but can be when they are written anew. Whoever meets such a
 * failure first may have named it for its task or step: what counts is the one at the bottom.
 */
export function isPassingDelivery(error: unknown): error is StreamsError {
  let current = error
  for (let depth = 0; depth < causeDepthMax && current instanceof Error; depth += 1) {
    const { cause } = current
    const isPassing = canPass(cause) || forgottenProducer.has(kafkaErrorName(cause) ?? '')
    if (isPassing && isStreamsError(current, 'DELIVERY_FAILED')) return true
    current = cause
  }
  return false
}
