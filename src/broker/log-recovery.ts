import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import type { BatchScanner } from './batch-scanner.ts'
import { LogSegment, cleanedSuffix, segmentBaseOffset } from './log-segment.ts'

export interface RecoveryOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Log
  readonly directory: string
  /** Told of every sound batch, in the order of the log. */
  readonly onBatch: (batch: BatchScanner) => void
}

/**
 * Opens the segments of a log, and puts right what a crash has left half done
 * (org.apache.kafka.storage.internals.log.LogLoader). The file of the last one stays open. None for
 * a log that is new.
 */
export function recoverSegments(options: RecoveryOptions): LogSegment[] {
  const { disk, log, directory, onBatch } = options
  disk.makeDirectory(directory)
  const names = disk.list(directory)
  for (const name of names.filter((other) => other.endsWith(cleanedSuffix)))
    disk.remove(`${directory}/${name}`)
  const offsets = names.flatMap((name) => segmentBaseOffset(name) ?? [])
  const segments: LogSegment[] = []
  for (const [index, baseOffset] of offsets.entries()) {
    const expected = segments.at(-1)?.nextOffset ?? baseOffset
    const segment = segmentAt(baseOffset, options)
    if (baseOffset < expected) {
      // Its records are in a cleaned segment, which a crash kept from replacing it.
      segment.remove()
      continue
    }
    const { cutBytes, isDamaged } = segment.recover(onBatch)
    segments.push(segment)
    if (cutBytes === 0) {
      if (index < offsets.length - 1) segment.release()
      continue
    }
    const facts = { path: segment.path, cutBytes, endOffset: segment.nextOffset }
    if (!isDamaged && index === offsets.length - 1) {
      log.info('cut off a torn batch at the end of a log', facts)
      continue
    }
    log.error('a log is damaged; what follows was set aside in files named .cut', facts)
    setAside(offsets.slice(index + 1), options)
    break
  }
  return segments
}

/**
 * After a damaged batch nothing of the log may be served: readers would not see that some is
 * missing.
 */
function setAside(baseOffsets: readonly number[], options: RecoveryOptions): void {
  for (const baseOffset of baseOffsets) {
    const { path } = segmentAt(baseOffset, options)
    options.disk.rename(path, `${path}.cut`)
  }
}

function segmentAt(
  baseOffset: number,
  { disk, directory, clock }: Pick<RecoveryOptions, 'disk' | 'directory' | 'clock'>,
): LogSegment {
  return new LogSegment(disk, directory, { baseOffset, nowMs: clock.now() })
}
