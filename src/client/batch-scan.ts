import { StreamsError } from '../errors.ts'
import { batchPosition, lengthEnd, readInt64 } from '../protocol/record-batch-layout.ts'

/** How far the whole batches in some bytes reach. */
export interface BatchScan {
  /** Bytes of whole batches; what follows is the cut-off begin of another. */
  readonly bytes: number
  /** The offset after the last whole batch; the given one when there is none. */
  readonly nextOffset: number
  /** In which the leader took the last whole batch; -1: there is none, or it is not known. */
  readonly leaderEpoch: number
}

/**
 * Walks over batch headers without reading what they hold: whoever decodes the records verifies them.
 * Throws `RECORD_BATCH_UNSUPPORTED` for the formats before Kafka 0.11, `RECORD_BATCH_CORRUPT` for a
 * header that cannot be.
 */
export function scanBatches(records: Buffer, startOffset: number): BatchScan {
  let position = 0
  let nextOffset = startOffset
  let leaderEpoch = -1
  while (records.length - position >= batchPosition.records) {
    const offset = readInt64(records, position)
    const magic = records.readInt8(position + batchPosition.magic)
    if (magic < 2) throw new StreamsError('RECORD_BATCH_UNSUPPORTED', { offset, magic })
    const length = records.readInt32BE(position + batchPosition.length)
    if (length < batchPosition.records - lengthEnd) {
      throw new StreamsError('RECORD_BATCH_CORRUPT', { offset, detail: `its length is ${length}` })
    }
    if (records.length - position < lengthEnd + length) break
    const lastOffsetDelta = records.readInt32BE(position + batchPosition.lastOffsetDelta)
    if (offset < 0 || lastOffsetDelta < 0) {
      throw new StreamsError('RECORD_BATCH_CORRUPT', {
        offset,
        detail: `its last offset delta is ${lastOffsetDelta}`,
      })
    }
    nextOffset = Math.max(nextOffset, offset + lastOffsetDelta + 1)
    leaderEpoch = records.readInt32BE(position + batchPosition.partitionLeaderEpoch)
    position += lengthEnd + length
  }
  return { bytes: position, nextOffset, leaderEpoch }
}
