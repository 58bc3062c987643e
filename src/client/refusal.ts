/** What brokers refuse of a producer, and who decides about it. */
import type { StreamsError } from '../errors.ts'
import { errorCode } from '../protocol/error-codes.ts'
import type { BatchedRecord } from './producer-batch.ts'

/** Where a record that was sent came from. */
export interface RecordOrigin {
  readonly taskId: string
  /** The sink; undefined: it is of a changelog. */
  readonly node: string | undefined
  /** Of the input record; the empty text and -1: there was none. */
  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** What the input record had; undefined: nobody knows. */
  readonly source: { readonly key: Buffer | null; readonly value: Buffer | null } | undefined
}

/** A record that the brokers refuse, or did not take in time. */
export interface RefusedRecord extends BatchedRecord {
  readonly topic: string
  readonly partition: number
}

/**
 * Decides about one: `continue` drops it, `retry` fails its partition with `DELIVERY_FAILED`; the
 * StreamsError that it throws fails its partition instead.
 */
export type RefusalHandler = (record: RefusedRecord, error: StreamsError) => 'continue' | 'retry'

/** The batch, or one record, is larger than the topic takes. */
export function isTooLarge(code: number): boolean {
  return code === errorCode.MESSAGE_TOO_LARGE || code === errorCode.RECORD_LIST_TOO_LARGE
}

/** Refusals that say that a record is not right, while the broker and the producer are. */
export function isOfRecord(code: number): boolean {
  switch (code) {
    case errorCode.INVALID_RECORD:
    case errorCode.INVALID_TIMESTAMP:
    case errorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
      return true
    default:
      return isTooLarge(code)
  }
}

/** Refusals that a batch gets when one before it is not written. */
export function isGap(code: number): boolean {
  return code === errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER || code === errorCode.UNKNOWN_PRODUCER_ID
}
