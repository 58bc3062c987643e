import {
  batchAttribute,
  batchPosition,
  lengthEnd,
  readInt64,
} from '../protocol/record-batch-layout.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { readControlType } from '../protocol/record-control.ts'

/** A transaction that was aborted, as a fetch response names it. */
export interface AbortedTransaction {
  readonly producerId: number
  /** Of its first record in the partition. */
  readonly firstOffset: number
}

/** Batches side by side of which none was aborted: bytes from `start` to `end`. */
export interface CommittedRun {
  readonly start: number
  readonly end: number
  /** The offset after the batch before the run; that of the call for the first. */
  readonly startOffset: number
}

/**
 * Leaves out what aborted transactions wrote (KIP-98). `records` are the whole batches of one partition
 * in one response, `aborted` the transactions that the same response names: those that overlap with it,
 * whether they began in an earlier response or end in a later one. So nothing is remembered from one
 * response to the next.
 *
 *     aborted  (7, from 3)  (7, from 12)
 *     batches  [7: 3-5] [8: 6-7] [7 abort: 8] [7: 9-11] [7: 12-14]
 *     runs              [6 ................. 11]
 *
 * A producer may abort twice in one response: its marker ends the first, and the second begins at its
 * own offset. Markers are kept, as they move positions. Throws `RECORD_BATCH_CORRUPT`.
 */
export function committedRuns(
  records: Buffer,
  aborted: readonly AbortedTransaction[],
  startOffset: number,
): CommittedRun[] {
  const upcoming = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset)
  const open = new Set<number>()
  const runs: CommittedRun[] = []
  let begun = 0
  let run = { start: 0, startOffset }
  let position = 0
  while (position < records.length) {
    const end = position + lengthEnd + records.readInt32BE(position + batchPosition.length)
    const lastOffset =
      readInt64(records, position) + records.readInt32BE(position + batchPosition.lastOffsetDelta)
    let next = upcoming[begun]
    while (next !== undefined && next.firstOffset <= lastOffset) {
      open.add(next.producerId)
      begun += 1
      next = upcoming[begun]
    }
    const attributes = records.readInt16BE(position + batchPosition.attributes)
    const producerId = readInt64(records, position + batchPosition.producerId)
    if ((attributes & batchAttribute.transactional) !== 0 && open.has(producerId)) {
      if ((attributes & batchAttribute.control) === 0) {
        if (position > run.start) runs.push({ ...run, end: position })
        run = { start: end, startOffset: Math.max(startOffset, lastOffset + 1) }
      } else if (isAbortMarker(records.subarray(position, end))) open.delete(producerId)
    }
    position = end
  }
  if (position > run.start) runs.push({ ...run, end: position })
  return runs
}

function isAbortMarker(batch: Buffer): boolean {
  const reader = new RecordBatchReader()
  reader.reset(batch)
  return reader.nextBatch() && reader.next() && readControlType(reader) === 'abort'
}
