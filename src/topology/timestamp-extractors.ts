import { StreamsError } from '../errors.ts'
import type { TimestampContext } from './node.ts'

/**
 * The record's own timestamp; a negative one stops the instance with `TIMESTAMP_INVALID`. The default
 * of every topic. Java's FailOnInvalidTimestamp.
 *
 * @example
 * topic('orders', { value: serdes.string, timestamp: failOnInvalidTimestamp })
 */
export function failOnInvalidTimestamp(
  _value: unknown,
  _key: unknown,
  recordTimestamp: number,
): number {
  if (recordTimestamp < 0)
    throw new StreamsError('TIMESTAMP_INVALID', { timestamp: recordTimestamp })
  return recordTimestamp
}

/**
 * The record's own timestamp; a record with a negative one is dropped, counted and logged. Java's
 * LogAndSkipOnInvalidTimestamp.
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
  return recordTimestamp
}

/**
 * The record's own timestamp, and for a record with a negative one the largest time that its partition
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
  if (recordTimestamp >= 0) return recordTimestamp
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
