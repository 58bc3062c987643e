/**
 * Decides whether what a producer sent may be appended
 * (org.apache.kafka.storage.internals.log.LogValidator).
 */
import { isStreamsError, messageOf, type StreamsError } from '../errors.ts'
import type { KafkaErrorName } from '../protocol/error-codes.ts'
import { patchLogAppendTime } from '../protocol/record-batch-patch.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { Compression } from '../protocol/compression.ts'
import type { TopicSettings } from './topic-configs.ts'

/** The first version of Produce whose clients know zstd. */
const zstdVersionMin = 7

/** Facts of a batch that was validated, and is to be appended. */
export interface BatchFacts {
  readonly lastOffsetDelta: number
  readonly recordCount: number
  readonly maxTimestamp: number
  /** -1 without idempotence; so are epoch and sequence. */
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  /** Whether it is part of a transaction. */
  readonly isTransactional: boolean
  /** -1 when the records have the producer's timestamps. */
  readonly logAppendTimeMs: number
}

/** A batch in the form in which the log takes it, or why it is refused. */
export type ValidatedBatch =
  | { readonly kind: 'accepted'; readonly batch: Buffer; readonly facts: BatchFacts }
  | { readonly kind: 'refused'; readonly error: KafkaErrorName; readonly message: string }

export interface ValidationOptions {
  readonly settings: TopicSettings
  readonly nowMs: number
  /** Of the Produce request. */
  readonly apiVersion: number
}

const refused = (error: KafkaErrorName, message: string): ValidatedBatch => ({
  kind: 'refused',
  error,
  message,
})

/**
 * Checks the records of one partition in a Produce request. The topic's timestamps and compression
 * are put into the batch; in the usual case that is in place, and its bytes stay where they are.
 */
export function validateBatch(records: Buffer | null, options: ValidationOptions): ValidatedBatch {
  if (records === null || records.length === 0) {
    return refused('INVALID_RECORD', 'There are no records.')
  }
  const { settings } = options
  if (records.length > settings.batchBytesMax) {
    return refused(
      'MESSAGE_TOO_LARGE',
      `The batch has ${records.length} bytes, max.message.bytes is ${settings.batchBytesMax}.`,
    )
  }
  const reader = new RecordBatchReader()
  reader.reset(records)
  try {
    if (!reader.nextBatch() || reader.sizeInBytes !== records.length) {
      return refused('INVALID_RECORD', 'There must be exactly one whole record batch.')
    }
    const problem = headerProblem(reader, options) ?? recordsProblem(reader, settings)
    return problem ?? accept(records, reader, options)
  } catch (error) {
    if (!isStreamsError(error)) throw error
    return refusedAs(error)
  }
}

function refusedAs(error: StreamsError): ValidatedBatch {
  if (error.code === 'RECORD_BATCH_CORRUPT') return refused('CORRUPT_MESSAGE', messageOf(error))
  if (error.code === 'COMPRESSION_UNAVAILABLE')
    return refused('UNSUPPORTED_COMPRESSION_TYPE', messageOf(error))
  return refused('INVALID_RECORD', messageOf(error))
}

function headerProblem(
  reader: RecordBatchReader,
  { settings, nowMs, apiVersion }: ValidationOptions,
): ValidatedBatch | undefined {
  const { recordCount, lastOffset, baseOffset, maxTimestamp } = reader
  if (reader.isControl) return refused('INVALID_RECORD', 'Producers write no control records.')
  if (baseOffset !== 0) return refused('INVALID_RECORD', 'The base offset must be 0.')
  if (recordCount === 0) return refused('INVALID_RECORD', 'The batch is empty.')
  if (lastOffset !== recordCount - 1)
    return refused('INVALID_RECORD', `${recordCount} records end at offset ${lastOffset}.`)
  if (reader.producerId >= 0 && (reader.producerEpoch < 0 || reader.baseSequence < 0))
    return refused('INVALID_RECORD', 'An idempotent batch needs an epoch and a sequence.')
  if (reader.isTransactional && reader.producerId < 0)
    return refused('INVALID_RECORD', 'A transactional batch needs a producer id.')
  if (reader.compression === 'zstd' && apiVersion < zstdVersionMin)
    return refused('UNSUPPORTED_COMPRESSION_TYPE', 'zstd needs Produce version 7 or newer.')
  if (settings.timestampType === 'log-append') return undefined
  if (reader.timestampType === 'log-append')
    return refused('INVALID_TIMESTAMP', 'Only the broker sets the time of the append.')
  if (maxTimestamp - nowMs > settings.timestampAfterMaxMs)
    return refused(
      'INVALID_TIMESTAMP',
      `The timestamp ${maxTimestamp} is more than message.timestamp.after.max.ms=${settings.timestampAfterMaxMs} after the broker's clock, ${nowMs}.`,
    )
  if (maxTimestamp >= 0 && nowMs - maxTimestamp > settings.timestampBeforeMaxMs)
    return refused(
      'INVALID_TIMESTAMP',
      `The timestamp ${maxTimestamp} is more than message.timestamp.before.max.ms=${settings.timestampBeforeMaxMs} before the broker's clock, ${nowMs}.`,
    )
  return undefined
}

/**
 * Looks at each record where that costs little. Compressed ones are believed, as their bytes are
 * what the consumer gets, unless the topic is compacted: a record without a key has no place in it.
 */
function recordsProblem(
  reader: RecordBatchReader,
  settings: TopicSettings,
): ValidatedBatch | undefined {
  if (reader.compression !== 'none' && !settings.isCompacted) return undefined
  try {
    return eachRecordProblem(reader, settings)
  } catch (error) {
    // What cannot be read here can still be kept for others; compaction leaves it as it is.
    if (isStreamsError(error, 'COMPRESSION_UNAVAILABLE')) return undefined
    throw error
  }
}

function eachRecordProblem(
  reader: RecordBatchReader,
  settings: TopicSettings,
): ValidatedBatch | undefined {
  let expected = 0
  while (reader.next()) {
    if (reader.offset !== expected)
      return refused('INVALID_RECORD', `Record ${expected} has the offset ${reader.offset}.`)
    if (settings.isCompacted && !reader.hasKey)
      return refused('INVALID_RECORD', 'A compacted topic takes no record without a key.')
    expected += 1
  }
  return undefined
}

function accept(
  records: Buffer,
  reader: RecordBatchReader,
  { settings, nowMs }: ValidationOptions,
): ValidatedBatch {
  const codec = settings.compression
  const batch =
    codec === undefined || codec === reader.compression ? records : recompressed(records, codec)
  const isLogAppendTime = settings.timestampType === 'log-append'
  if (isLogAppendTime) patchLogAppendTime(batch, nowMs)
  return {
    kind: 'accepted',
    batch,
    facts: {
      lastOffsetDelta: reader.lastOffset - reader.baseOffset,
      recordCount: reader.recordCount,
      maxTimestamp: isLogAppendTime ? nowMs : reader.maxTimestamp,
      producerId: reader.producerId,
      producerEpoch: reader.producerEpoch,
      baseSequence: reader.baseSequence,
      isTransactional: reader.isTransactional,
      logAppendTimeMs: isLogAppendTime ? nowMs : -1,
    },
  }
}

function recompressed(records: Buffer, compression: Compression): Buffer {
  const reader = new RecordBatchReader()
  const builder = new RecordBatchBuilder()
  reader.reset(records)
  reader.nextBatch()
  while (reader.next())
    builder.append(reader.key(), reader.value(), reader.timestamp, reader.headers())
  return builder.build({
    producerId: reader.producerId,
    producerEpoch: reader.producerEpoch,
    baseSequence: reader.baseSequence,
    isTransactional: reader.isTransactional,
    compression,
  })
}
