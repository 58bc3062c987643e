import type { StreamsError } from '../errors.ts'
import type { TopicPartition } from './topic-metadata.ts'

/**
 * Where to start when an offset is not in the log: at one of its ends, or at the first record of the
 * last so many milliseconds; `none`: that is an error of the partition.
 */
export type OffsetReset = 'earliest' | 'latest' | 'none' | { readonly byDuration: number }

/**
 * Where to start: an end of the log, or the first record with at least this timestamp; when no record
 * has one, the end.
 */
export type FetchStart = 'earliest' | 'latest' | { readonly time: number }

/** A partition to be read, and from where. */
export interface FetchAssignment extends TopicPartition {
  /** The first offset wanted, or where to look for it. */
  readonly offset: number | FetchStart
  /**
   * Of the record before the offset, by which a log that was cut is found out. Default -1: not known,
   * the log is believed.
   */
  readonly leaderEpoch?: number
  /** Default: that of the fetcher. */
  readonly offsetReset?: OffsetReset
}

/** What one fetch brought of one partition. */
export interface FetchedRecords extends TopicPartition {
  /**
   * Whole record batches, for a RecordBatchReader (which verifies them). A view of the response:
   * it keeps the whole response in memory for as long as it is held. Empty when `error` is set, and when
   * all that was fetched had been aborted.
   */
  readonly records: Buffer
  /** Skip records below it: the first batch may begin before. */
  readonly startOffset: number
  /** The offset after the last batch in `records`, and after those behind it that were aborted. */
  readonly nextOffset: number
  readonly highWatermark: number
  readonly logStartOffset: number
  readonly lastStableOffset: number
  /**
   * Set: this partition is stopped (`OFFSET_OUT_OF_RANGE` under reset `none`, a Kafka error that
   * does not pass). It goes on after {@link Fetcher.seek}; others are not affected.
   */
  readonly error: StreamsError | undefined
}
