import { isStreamsError, messageOf } from '../errors.ts'
import { errorCode, type KafkaErrorName } from '../protocol/error-codes.ts'

/** Why the broker does not do what a request asks: becomes an error code in the response. */
export class Refusal extends Error {
  readonly error: KafkaErrorName

  constructor(error: KafkaErrorName, message: string) {
    super(message)
    this.name = 'Refusal'
    this.error = error
  }

  get code(): number {
    return errorCode[this.error]
  }
}

/**
 * The refusal that a failure stands for: itself, or the disk's. Anything else is a bug and thrown
 * on, which ends the connection that asked.
 */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (isStreamsError(error, 'DISK_FAILED'))
    return new Refusal('KAFKA_STORAGE_ERROR', messageOf(error))
  throw error
}

/** Does the work, or says why not. */
export function orRefusal<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    return refusalOf(error)
  }
}
