import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { StreamsError } from '../errors.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { PartitionLog, type LogSettings } from './partition-log.ts'

const directory = '/data/t-0'
const firstSegment = `${directory}/00000000000000000000.log`

interface Place {
  disk: MemoryDisk
  clock: ManualClock
  settings: LogSettings
}

const newPlace = (settings: Partial<LogSettings> = {}): Place => ({
  disk: new MemoryDisk(),
  clock: new ManualClock(1_000_000),
  settings: {
    segmentBytes: 1_000_000,
    segmentMs: Number.POSITIVE_INFINITY,
    retentionMs: Number.POSITIVE_INFINITY,
    retentionBytes: Number.POSITIVE_INFINITY,
    ...settings,
  },
})

function openLog({ disk, clock, settings }: Place, leaderEpoch = 0): PartitionLog {
  return new PartitionLog({
    disk,
    clock,
    log: silentLog,
    directory,
    settings: () => settings,
    leaderEpoch,
  })
}

interface Producer {
  id: number
  epoch: number
  sequence: number
}

/** Appends one batch of values; the timestamp of each is 1,000 times its offset unless given. */
function append(
  log: PartitionLog,
  values: string[],
  options: { timestamps?: number[]; producer?: Producer; isTransactional?: boolean } = {},
): number {
  const builder = new RecordBatchBuilder()
  for (const [index, value] of values.entries()) {
    const timestamp = options.timestamps?.[index] ?? (log.endOffset + index) * 1_000
    builder.append(null, Buffer.from(value), timestamp)
  }
  const { id, epoch, sequence } = options.producer ?? { id: -1, epoch: -1, sequence: -1 }
  const { isTransactional = false } = options
  const batch = builder.build({
    producerId: id,
    producerEpoch: epoch,
    baseSequence: sequence,
    isTransactional,
  })
  return log.append(batch, {
    lastOffsetDelta: values.length - 1,
    recordCount: values.length,
    maxTimestamp: builder.maxTimestamp,
    producerId: id,
    producerEpoch: epoch,
    baseSequence: sequence,
    isTransactional,
    logAppendTimeMs: -1,
  })
}

/** Offset and value of each record that a read gives, from the offset on. */
function readAll(log: PartitionLog, from = log.startOffset): string[] {
  const found: string[] = []
  let offset = from
  while (offset < log.endOffset) {
    const bytes = log.read(offset, { bytesMax: 10_000, atLeastOne: true })
    if (bytes === 'out-of-range') return [...found, `out of range at ${offset}`]
    if (bytes.length === 0) break
    const reader = new RecordBatchReader()
    reader.reset(bytes)
    while (reader.nextBatch()) {
      while (reader.next()) {
        if (reader.offset >= offset) found.push(`${reader.offset}:${reader.valueString()}`)
      }
    }
    offset = reader.nextOffset
  }
  return found
}

function sizeOf(log: PartitionLog, offset: number, bytesMax: number, atLeastOne = false): number {
  const bytes = log.read(offset, { bytesMax, atLeastOne })
  return bytes === 'out-of-range' ? -1 : bytes.length
}

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return error instanceof StreamsError ? error.code : `another error: ${String(error)}`
  }
  return 'no error'
}

describe('PartitionLog', () => {
  test('records are read back at the offsets that append returned', () => {
    const log = openLog(newPlace())
    expect(append(log, ['a', 'b'])).toBe(0)
    expect(append(log, ['c'])).toBe(2)
    expect(log.endOffset).toBe(3)
    expect(readAll(log)).toEqual(['0:a', '1:b', '2:c'])
    expect(readAll(log, 1)).toEqual(['1:b', '2:c'])
  })

  test('the end of the log gives no bytes, beyond it and before the start is out of range', () => {
    const log = openLog(newPlace())
    append(log, ['a'])
    expect(sizeOf(log, 1, 100, true)).toBe(0)
    expect(sizeOf(log, 2, 100)).toBe(-1)
    expect(sizeOf(log, -1, 100)).toBe(-1)
  })

  test('a read gives whole batches within its limit, and the first beyond it only when asked', () => {
    const log = openLog(newPlace())
    append(log, ['a'])
    append(log, ['b'])
    const batchBytes = log.size / 2
    expect(sizeOf(log, 0, batchBytes * 2)).toBe(batchBytes * 2)
    expect(sizeOf(log, 0, batchBytes * 2 - 1)).toBe(batchBytes)
    expect(sizeOf(log, 0, batchBytes - 1)).toBe(0)
    expect(sizeOf(log, 0, batchBytes - 1, true)).toBe(batchBytes)
    expect(sizeOf(log, 0, 0, true)).toBe(batchBytes)
  })

  test('every offset is found through the sparse index, in every segment', () => {
    const log = openLog(newPlace({ segmentBytes: 20_000 }))
    for (let count = 0; count < 1_000; count++) append(log, [`value ${count}`, 'x'.repeat(40)])
    expect(log.segments.length).toBeGreaterThan(5)
    for (let offset = 0; offset < 2_000; offset += 1) {
      const bytes = log.read(offset, { bytesMax: 1, atLeastOne: true })
      const reader = new RecordBatchReader()
      reader.reset(bytes as Buffer)
      expect(reader.nextBatch()).toBe(true)
      expect(reader.baseOffset).toBe(offset - (offset % 2))
    }
  })

  test('a closed log has its records, producers and segments when it is opened again', () => {
    const place = newPlace({ segmentBytes: 200 })
    const log = openLog(place)
    for (let sequence = 0; sequence < 5; sequence++) {
      append(log, [`v${sequence}`], { producer: { id: 9, epoch: 1, sequence } })
    }
    log.close()
    const again = openLog(place)
    expect(readAll(again)).toEqual(['0:v0', '1:v1', '2:v2', '3:v3', '4:v4'])
    expect(again.segments.length).toBe(log.segments.length)
    const twin = { producerId: 9, producerEpoch: 1, baseSequence: 3, recordCount: 1 }
    expect(again.producers.check(twin)).toMatchObject({ kind: 'duplicate', of: { baseOffset: 3 } })
    expect(again.producers.check({ ...twin, baseSequence: 6 })).toEqual({
      kind: 'refused',
      error: 'OUT_OF_ORDER_SEQUENCE_NUMBER',
    })
  })
})

describe('recovery', () => {
  test('a last batch that is torn at any byte is cut off, and the log goes on after the one before', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a', 'b'])
    const soundBytes = log.size
    append(log, ['torn', 'too'])
    const content = place.disk.readFile(firstSegment) as Buffer
    for (let size = soundBytes; size < content.length; size++) {
      place.disk.crash('nothing')
      place.disk.writeFileAtomic(firstSegment, content.subarray(0, size))
      const again = openLog(place)
      expect(readAll(again)).toEqual(['0:a', '1:b'])
      expect(append(again, ['next'])).toBe(2)
      expect(readAll(again)).toEqual(['0:a', '1:b', '2:next'])
      expect(place.disk.list(directory)).toEqual(['00000000000000000000.log'])
    }
  })

  test('one byte of the last batch that is not covered by nothing flips: the batch is cut off', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a'])
    const soundBytes = log.size
    append(log, ['b'])
    const content = place.disk.readFile(firstSegment) as Buffer
    // Base offset and leader epoch are outside the checksum: of these only what makes no sense
    // shows.
    const unprotected = new Set([8, 9, 10, 11, 12, 13, 14, 15].map((at) => soundBytes + at))
    for (let at = soundBytes + 8; at < content.length; at++) {
      const damaged = Buffer.from(content)
      damaged[at] = (damaged[at] as number) ^ 0x10
      place.disk.crash('nothing')
      place.disk.writeFileAtomic(firstSegment, damaged)
      const again = openLog(place)
      if (unprotected.has(at) && again.endOffset === 2) continue
      expect(again.endOffset, `byte ${at}`).toBe(1)
    }
  })

  test('after damage in the middle nothing behind it is served, but it is set aside', () => {
    const place = newPlace({ segmentBytes: 150 })
    const log = openLog(place)
    for (const value of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) append(log, [value])
    expect(log.segments.length).toBe(4)
    const second = log.segments[1]?.path as string
    const content = place.disk.readFile(second) as Buffer
    content[40] = 0xff
    place.disk.crash('nothing')
    place.disk.writeFileAtomic(second, content)
    const again = openLog(place)
    expect(readAll(again)).toEqual(['0:a', '1:b'])
    expect(place.disk.list(directory).filter((name) => name.endsWith('.cut'))).toEqual([
      '00000000000000000002.log.cut',
      '00000000000000000004.log.cut',
      '00000000000000000006.log.cut',
    ])
    expect(append(again, ['next'])).toBe(2)
    expect(readAll(again)).toEqual(['0:a', '1:b', '2:next'])
  })

  test('what was written before the process died is there, whatever was not synced', () => {
    const place = newPlace()
    append(openLog(place), ['a'])
    place.disk.crash('nothing')
    expect(readAll(openLog(place))).toEqual(['0:a'])
  })

  test('after the machine died, what was synced is there and the log goes on', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a'])
    log.sync()
    append(log, ['lost'])
    place.disk.crash('unsynced')
    const again = openLog(place, 1)
    expect(readAll(again)).toEqual(['0:a'])
    expect(append(again, ['b'])).toBe(1)
  })

  test('files that are not segments are left alone, a half-cleaned one is removed', () => {
    const place = newPlace()
    append(openLog(place), ['a'])
    place.disk.crash('nothing')
    place.disk.writeFileAtomic(`${directory}/notes.txt`, Buffer.from('mine'))
    place.disk.writeFileAtomic(`${firstSegment}.cleaned`, Buffer.from('half'))
    expect(readAll(openLog(place))).toEqual(['0:a'])
    expect(place.disk.list(directory)).toEqual(['00000000000000000000.log', 'notes.txt'])
  })
})

describe('a disk that fails', () => {
  test('a failed append leaves the log as it was, and the next one works', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a'])
    place.disk.failWrite()
    expect(codeOf(() => append(log, ['b'.repeat(100)]))).toBe('DISK_FAILED')
    expect(log.endOffset).toBe(1)
    expect(readAll(log)).toEqual(['0:a'])
    expect(append(log, ['c'])).toBe(1)
    place.disk.crash('nothing')
    expect(readAll(openLog(place))).toEqual(['0:a', '1:c'])
  })

  test('the half of a batch that a failed append left is gone after a restart', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a'])
    place.disk.failWrite()
    expect(codeOf(() => append(log, ['b'.repeat(100)]))).toBe('DISK_FAILED')
    place.disk.crash('nothing')
    const again = openLog(place)
    expect(readAll(again)).toEqual(['0:a'])
    expect(place.disk.readFile(firstSegment)?.length).toBe(again.size)
  })

  test('a refused batch is not remembered as written by its producer', () => {
    const place = newPlace()
    const log = openLog(place)
    const producer = { id: 1, epoch: 0, sequence: 0 }
    place.disk.capacityBytes = 10
    expect(codeOf(() => append(log, ['a'], { producer }))).toBe('DISK_FAILED')
    place.disk.capacityBytes = 1_000
    expect(append(log, ['a'], { producer })).toBe(0)
  })
})

describe('retention', () => {
  test('segments whose youngest record is older than retention.ms are deleted', () => {
    const place = newPlace({ segmentBytes: 150, retentionMs: 5_000 })
    const log = openLog(place)
    const now = place.clock.now()
    append(log, ['old'], { timestamps: [now - 9_000] })
    append(log, ['older'], { timestamps: [now - 10_000] })
    append(log, ['young'], { timestamps: [now - 1_000] })
    append(log, ['now'], { timestamps: [now] })
    expect(log.segments.length).toBe(2)
    expect(log.deleteExpired()).toBe(1)
    expect(log.startOffset).toBe(2)
    expect(readAll(log)).toEqual(['2:young', '3:now'])
    expect(sizeOf(log, 1, 100)).toBe(-1)
  })

  test('an active segment with nothing but expired records goes too, and offsets go on', () => {
    const place = newPlace({ retentionMs: 5_000 })
    const log = openLog(place)
    append(log, ['a', 'b'], { timestamps: [1, 2] })
    expect(log.deleteExpired()).toBe(1)
    expect(log.startOffset).toBe(2)
    expect(append(log, ['c'])).toBe(2)
    log.close()
    const again = openLog(place)
    expect([again.startOffset, again.endOffset]).toEqual([2, 3])
  })

  test('records without timestamps age from when their segment was begun', () => {
    const place = newPlace({ retentionMs: 5_000 })
    const log = openLog(place)
    append(log, ['a'], { timestamps: [-1] })
    place.clock.advance(5_000)
    expect(log.deleteExpired()).toBe(0)
    place.clock.advance(1)
    expect(log.deleteExpired()).toBe(1)
  })

  test('the oldest segments are deleted while what remains is at least retention.bytes', () => {
    const place = newPlace({ segmentBytes: 100 })
    const log = openLog(place)
    for (const value of ['a', 'b', 'c', 'd']) append(log, [value])
    const batchBytes = log.size / 4
    place.settings = { ...place.settings, retentionBytes: batchBytes * 2 }
    const limited = openLog(place)
    expect(limited.deleteExpired()).toBe(2)
    expect(readAll(limited)).toEqual(['2:c', '3:d'])
  })

  test('a segment is ended after segment.ms', () => {
    const place = newPlace({ segmentMs: 1_000 })
    const log = openLog(place)
    append(log, ['a'])
    place.clock.advance(1_001)
    append(log, ['b'])
    expect(log.segments.length).toBe(2)
    expect(readAll(log)).toEqual(['0:a', '1:b'])
  })
})

describe('deleteBefore', () => {
  test('records before the offset are gone, also after a restart', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a', 'b', 'c'])
    log.deleteBefore(2)
    expect(log.startOffset).toBe(2)
    expect(sizeOf(log, 1, 100)).toBe(-1)
    expect(readAll(log)).toEqual(['2:c'])
    place.disk.crash('nothing')
    expect(openLog(place).startOffset).toBe(2)
  })

  test('deleting all makes an empty log that goes on at its end', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a', 'b'])
    log.deleteBefore(2)
    expect(log.size).toBe(0)
    expect(log.segments.length).toBe(1)
    expect(append(log, ['c'])).toBe(2)
    place.disk.crash('nothing')
    expect(readAll(openLog(place))).toEqual(['2:c'])
  })

  test('a log whose deleted records were lost with the machine goes on after them', () => {
    const place = newPlace()
    append(openLog(place), ['a', 'b', 'c'])
    place.disk.crash('unsynced')
    // Of two files that were not synced, one may have come through.
    const two = Buffer.from([0, 0, 0, 0, 0, 0, 0, 2])
    place.disk.writeFileAtomic(`${directory}/start-offset`, two)
    const again = openLog(place)
    expect([again.startOffset, again.endOffset]).toEqual([2, 2])
    expect(append(again, ['x'])).toBe(2)
  })
})

describe('timestamps', () => {
  test('the first record at or after a time is found, in disorder and across segments', () => {
    const log = openLog(newPlace({ segmentBytes: 200 }))
    append(log, ['a', 'b'], { timestamps: [100, 50] })
    append(log, ['c'], { timestamps: [300] })
    append(log, ['d', 'e'], { timestamps: [200, 400] })
    expect(log.findTimestamp(0)).toEqual({ offset: 0, timestamp: 100 })
    expect(log.findTimestamp(101)).toEqual({ offset: 2, timestamp: 300 })
    expect(log.findTimestamp(301)).toEqual({ offset: 4, timestamp: 400 })
    expect(log.findTimestamp(401)).toBeUndefined()
    expect(log.findMaxTimestamp()).toEqual({ offset: 4, timestamp: 400 })
  })

  test('records before the start of the log are passed over, also in a batch that holds both', () => {
    const log = openLog(newPlace())
    append(log, ['a', 'b'], { timestamps: [100, 500] })
    append(log, ['c', 'd', 'e'], { timestamps: [200, 300, 400] })
    log.deleteBefore(3)
    expect(log.findTimestamp(0)).toEqual({ offset: 3, timestamp: 300 })
    expect(log.findTimestamp(301)).toEqual({ offset: 4, timestamp: 400 })
    expect(log.findTimestamp(401)).toBeUndefined()
  })

  test('the search through many batches gives what a search from the start would', () => {
    const log = openLog(newPlace({ segmentBytes: 50_000 }))
    for (let index = 0; index < 2_000; index++) append(log, ['x'], { timestamps: [index * 10] })
    for (let wanted = 5; wanted < 19_990; wanted += 313) {
      expect(log.findTimestamp(wanted)?.offset).toBe(Math.ceil(wanted / 10))
    }
  })

  test('an empty log, and one whose records have no timestamps, know none', () => {
    const log = openLog(newPlace())
    expect(log.findTimestamp(0)).toBeUndefined()
    expect(log.findMaxTimestamp()).toBeUndefined()
    append(log, ['a'], { timestamps: [-1] })
    expect(log.findTimestamp(0)).toBeUndefined()
    expect(log.findMaxTimestamp()).toBeUndefined()
  })
})

describe('leader epochs', () => {
  test('the end of an epoch is where the next one with records began', () => {
    const place = newPlace()
    append(openLog(place, 0), ['a', 'b'])
    place.disk.crash('nothing')
    append(openLog(place, 3), ['c'])
    place.disk.crash('nothing')
    const log = openLog(place, 5)
    expect(log.epochEnd(0)).toEqual({ leaderEpoch: 0, endOffset: 2 })
    expect(log.epochEnd(2)).toEqual({ leaderEpoch: 0, endOffset: 2 })
    expect(log.epochEnd(3)).toEqual({ leaderEpoch: 3, endOffset: 3 })
    expect(log.epochEnd(5)).toEqual({ leaderEpoch: 5, endOffset: 3 })
    expect(log.epochEnd(6)).toEqual({ leaderEpoch: -1, endOffset: -1 })
  })
})

describe('watchers', () => {
  test('are told of each append after it, and of the end of the log', () => {
    const log = openLog(newPlace())
    const heard: string[] = []
    log.watchers.add({
      onAppend: () => heard.push(`append, end ${log.endOffset}`),
      onClose: () => heard.push('close'),
    })
    append(log, ['a', 'b'])
    log.close()
    log.close()
    expect(heard).toEqual(['append, end 2', 'close'])
  })
})

describe('transactions', () => {
  const begin = (log: PartitionLog, value: string, id: number, sequence = 0): number =>
    append(log, [value], { producer: { id, epoch: 0, sequence }, isTransactional: true })

  const end = (log: PartitionLog, type: 'commit' | 'abort', producerId: number): void =>
    log.appendMarker({ type, producerId, producerEpoch: 0, coordinatorEpoch: 3 })

  /** Offsets of the batches that a reader of committed records gets. */
  const readStable = (log: PartitionLog, from = 0): number[] => {
    const limits = { bytesMax: 10_000, atLeastOne: true, before: log.lastStableOffset }
    const bytes = log.read(from, limits) as Buffer
    const reader = new RecordBatchReader()
    reader.reset(bytes)
    const offsets: number[] = []
    while (reader.nextBatch()) offsets.push(reader.baseOffset)
    return offsets
  }

  test('the last stable offset is that of the oldest open transaction', () => {
    const log = openLog(newPlace())
    append(log, ['a'])
    begin(log, 'b', 7)
    begin(log, 'c', 8)
    append(log, ['d'])
    expect([log.lastStableOffset, readStable(log), readStable(log, 1)]).toEqual([1, [0], []])
    end(log, 'commit', 8)
    expect(log.lastStableOffset).toBe(1)
    end(log, 'commit', 7)
    expect([log.lastStableOffset, log.endOffset]).toEqual([6, 6])
    expect(readStable(log, 1)).toEqual([1, 2, 3, 4, 5])
  })

  test('open and aborted transactions are known again after a crash', () => {
    const place = newPlace()
    const log = openLog(place)
    begin(log, 'a', 7)
    begin(log, 'b', 8)
    log.roll()
    end(log, 'abort', 7)
    begin(log, 'c', 7, 1)
    const again = openLog(place)
    expect([...again.transactions.open]).toEqual([...log.transactions.open])
    expect(again.transactions.aborted).toEqual([
      { producerId: 7, firstOffset: 0, lastOffset: 2, lastStableOffset: 1 },
    ])
    expect([again.lastStableOffset, again.endOffset]).toEqual([1, 4])
    expect(again.producers.summaries()).toEqual(log.producers.summaries())
  })

  test('a marker that the disk refuses leaves the transaction open', () => {
    const place = newPlace()
    const log = openLog(place)
    begin(log, 'a', 7)
    place.disk.failWrite()
    expect(() => end(log, 'commit', 7)).toThrow(StreamsError)
    expect([log.lastStableOffset, log.endOffset]).toEqual([0, 1])
    end(log, 'commit', 7)
    expect([log.lastStableOffset, openLog(place).lastStableOffset]).toEqual([2, 2])
  })

  test('watchers hear of a marker', () => {
    const log = openLog(newPlace())
    begin(log, 'a', 7)
    const heard: number[] = []
    const onAppend = (): void => {
      heard.push(log.lastStableOffset)
    }
    log.watchers.add({ onAppend, onClose: () => undefined })
    end(log, 'abort', 7)
    expect(heard).toEqual([2])
  })

  test('retention keeps what an open transaction may still make readable', () => {
    const place = newPlace({ retentionMs: 1_000, retentionBytes: 10 })
    const log = openLog(place)
    append(log, ['a'], { timestamps: [1] })
    log.roll()
    begin(log, 'b', 7)
    log.roll()
    append(log, ['c'], { timestamps: [1] })
    place.clock.advance(1_000_000)
    log.deleteExpired()
    expect([log.startOffset, log.endOffset]).toEqual([1, 3])
    end(log, 'abort', 7)
    place.clock.advance(2_000_000)
    log.deleteExpired()
    expect([log.startOffset, log.endOffset]).toEqual([4, 4])
    expect(log.transactions.aborted).toEqual([])
  })

  test('deleting the records of an open transaction leaves its end to be found', () => {
    const place = newPlace()
    const log = openLog(place)
    begin(log, 'a', 7)
    append(log, ['b'])
    log.deleteBefore(1)
    expect(log.lastStableOffset).toBe(1)
    end(log, 'abort', 7)
    expect([log.lastStableOffset, readStable(log, 1)]).toEqual([3, [1, 2]])
  })
})
