/**
 * Control batches: the markers that end a transaction on a partition
 * (org.apache.kafka.common.record.ControlRecordType and EndTransactionMarker).
 *
 *     key    int16 version 0 | int16 type
 *     value  int16 version 0 | int32 coordinator epoch
 */
import { StreamsError } from '../errors.ts'
import { RecordBatchReader } from './record-batch.ts'
import { RecordBatchBuilder } from './record-builder.ts'

/** How a transaction ended. `other` marks are of the cluster's own and concern no consumer. */
export type ControlType = 'abort' | 'commit' | 'other'

const abortType = 0
const commitType = 1
const keyBytes = 4
const valueBytes = 6

export interface ControlBatch {
  readonly type: 'abort' | 'commit'
  readonly producerId: number
  readonly producerEpoch: number
  /** Milliseconds since 1970. */
  readonly timestamp: number
  readonly coordinatorEpoch: number
  readonly baseOffset: number
  /** Default -1: the broker sets it. */
  readonly partitionLeaderEpoch?: number
}

/** A batch with one marker. */
export function buildControlBatch(batch: ControlBatch): Buffer {
  const key = Buffer.alloc(keyBytes)
  key.writeInt16BE(batch.type === 'commit' ? commitType : abortType, 2)
  const value = Buffer.alloc(valueBytes)
  value.writeInt32BE(batch.coordinatorEpoch, 2)
  const builder = new RecordBatchBuilder()
  builder.append(key, value, batch.timestamp)
  return builder.build({
    baseOffset: batch.baseOffset,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: -1,
    isTransactional: true,
    isControl: true,
  })
}

/**
 * What the record of a control batch, on which the reader stands, marks.
 *
 * @throws StreamsError `RECORD_BATCH_CORRUPT` when it is no marker.
 */
export function readControlType(reader: RecordBatchReader): ControlType {
  const { buffer, keyStart, keyEnd, baseOffset: offset } = reader
  if (keyEnd - keyStart < keyBytes) {
    throw new StreamsError('RECORD_BATCH_CORRUPT', { offset, detail: 'its marker has no type' })
  }
  const type = buffer.readInt16BE(keyStart + 2)
  if (type === commitType) return 'commit'
  return type === abortType ? 'abort' : 'other'
}

/** A marker as it is in a log. */
export interface Marker {
  readonly type: ControlType
  readonly producerId: number
  readonly producerEpoch: number
  readonly coordinatorEpoch: number
}

/**
 * The marker of a control batch; undefined when compaction has taken it away.
 *
 * @throws StreamsError `RECORD_BATCH_CORRUPT` when it is no marker.
 */
export function readMarker(batch: Buffer): Marker | undefined {
  const reader = new RecordBatchReader()
  reader.reset(batch)
  if (!reader.nextBatch() || !reader.next()) return undefined
  const { producerId, producerEpoch, buffer, valueStart, valueEnd } = reader
  const hasEpoch = valueEnd - valueStart >= valueBytes
  const coordinatorEpoch = hasEpoch ? buffer.readInt32BE(valueStart + 2) : -1
  return { type: readControlType(reader), producerId, producerEpoch, coordinatorEpoch }
}
