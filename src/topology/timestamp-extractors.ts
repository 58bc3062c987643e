import { StreamsError } from '../errors.ts'
import type { TimestampContext } from './node.ts'

/** Not negative, and not more than a number holds exactly: nanoseconds that stand for milliseconds. */
function isValid(timestamp: number): boolean {
  return timestamp >= 0 && timestamp <= Number.MAX_SAFE_INTEGER
}

/**
 * The record's own timestamp; a negative one, or one above `Number.MAX_SAFE_INTEGER`, stops the instance
 * with `TIMESTAMP_INVALID`. The default of every topic. Java's FailOnInvalidTimestamp.
 *
 * @example
 * topic('orders', { value: serdes.string, timestamp: failOnInvalidTimestamp })
 */
export function failOnInvalidTimestamp(
  _value: unknown,
  _key: unknown,
  recordTimestamp: number,
): number {
  if (!isValid(recordTimestamp))
    throw new StreamsError('TIMESTAMP_INVALID', { timestamp: recordTimestamp })
  return recordTimestamp
}

/**
 * The record's own timestamp; a record with a negative one, or one above `Number.MAX_SAFE_INTEGER`, is
 * dropped, counted and logged. Java's LogAndSkipOnInvalidTimestamp.
 *
 * @example
 * topic('old-events', { value: serdes.string, timestamp: logAndSkipOnInvalidTimestamp })
 */
export function logAndSkipOnInvalidTimestamp(
  _value: unknown,
  _key: unknown,
  recordTimestamp: number,
): number {
  // The queue drops what is negative, with a line in the log, whoever gave it.
  return isValid(recordTimestamp) ? recordTimestamp : -1
}

/**
 * The record's own timestamp, and for a record with a negative one, or one above
 * `Number.MAX_SAFE_INTEGER`, the largest time that its partition
 * has had; with none before it, the instance stops with `TIMESTAMP_INVALID`. Java's
 * UsePartitionTimeOnInvalidTimestamp.
 *
 * @example
 * topic('events', { value: serdes.string, timestamp: usePartitionTimeOnInvalidTimestamp })
 */
export function usePartitionTimeOnInvalidTimestamp(
  _value: unknown,
  _key: unknown,
  recordTimestamp: number,
  { partitionTime }: TimestampContext,
): number {
  if (isValid(recordTimestamp)) return recordTimestamp
  if (partitionTime < 0) throw new StreamsError('TIMESTAMP_INVALID', { timestamp: recordTimestamp })
  return partitionTime
}

/**
 * The time at which the record is read, whatever it says itself: then the program works in processing
 * time. In a test driver that is the driver's clock. Java's WallclockTimestampExtractor.
 *
 * @example
 * topic('measurements', { value: serdes.double, timestamp: wallclockTimestamp })
 */
export function wallclockTimestamp(
  _value: unknown,
  _key: unknown,
  _recordTimestamp: number,
  context: TimestampContext,
): number {
  return context.wallClockTime()
}
