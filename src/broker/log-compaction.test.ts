import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom, randomInteger } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import type { Compression } from '../protocol/compression.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { readMarker } from '../protocol/record-control.ts'
import { LogCleaner } from './log-cleaner.ts'
import { compact, type CompactionResult, type CompactionSettings } from './log-compaction.ts'
import { PartitionLog } from './partition-log.ts'

const directory = '/data/t-0'
const hour = 3_600_000

const settings: CompactionSettings = {
  minCleanableDirtyRatio: 0,
  minCompactionLagMs: 0,
  maxCompactionLagMs: Number.POSITIVE_INFINITY,
  deleteRetentionMs: hour,
  segmentBytes: 1_000_000,
}

interface Place {
  disk: MemoryDisk
  clock: ManualClock
}

const newPlace = (): Place => ({ disk: new MemoryDisk(), clock: new ManualClock(10 * hour) })

function openLog({ disk, clock }: Place): PartitionLog {
  return new PartitionLog({
    disk,
    clock,
    log: silentLog,
    directory,
    settings: () => ({
      segmentBytes: 1_000_000,
      segmentMs: Number.POSITIVE_INFINITY,
      retentionMs: Number.POSITIVE_INFINITY,
      retentionBytes: Number.POSITIVE_INFINITY,
    }),
    leaderEpoch: 0,
  })
}

/** A record as text: `key=value`, a tombstone as `key=`, a record without a key as `=value`. */
function append(
  log: PartitionLog,
  records: string[],
  options: {
    compression?: Compression
    producer?: { id: number; sequence: number }
    isTransactional?: boolean
    timestamp?: number
  } = {},
): void {
  const builder = new RecordBatchBuilder()
  for (const record of records) {
    const [key = '', value = ''] = record.split('=')
    builder.append(
      key === '' ? null : Buffer.from(key),
      value === '' ? null : Buffer.from(value),
      options.timestamp ?? 1_000,
      [['from', Buffer.from(record)]],
    )
  }
  const { id, sequence } = options.producer ?? { id: -1, sequence: -1 }
  const producer = { producerId: id, producerEpoch: id < 0 ? -1 : 0, baseSequence: sequence }
  const { compression = 'none', isTransactional = false } = options
  log.append(builder.build({ ...producer, compression, isTransactional }), {
    ...producer,
    isTransactional,
    lastOffsetDelta: records.length - 1,
    recordCount: records.length,
    maxTimestamp: builder.maxTimestamp,
    logAppendTimeMs: -1,
  })
}

const clean = (
  log: PartitionLog,
  { disk, clock }: Place,
  options: Partial<CompactionSettings> & { keysMax?: number } = {},
): CompactionResult | undefined =>
  compact(log, { ...settings, ...options }, { disk, nowMs: clock.now(), keysMax: options.keysMax })

/** `offset:key=value` of each record. */
function readAll(log: PartitionLog): string[] {
  const found: string[] = []
  for (let offset = log.startOffset; offset < log.endOffset;) {
    const bytes = log.read(offset, { bytesMax: 100_000, atLeastOne: true }) as Buffer
    if (bytes.length === 0) break
    const reader = new RecordBatchReader()
    reader.reset(bytes)
    while (reader.nextBatch()) {
      if (reader.isControl)
        found.push(`${reader.baseOffset}:${readMarker(reader.batchBytes())?.type}`)
      while (!reader.isControl && reader.next()) {
        const text = `${reader.keyString() ?? ''}=${reader.valueString() ?? ''}`
        expect(reader.headers()).toEqual([['from', Buffer.from(text)]])
        expect(reader.timestamp).toBe(1_000)
        found.push(`${reader.offset}:${text}`)
      }
      offset = reader.nextOffset
    }
  }
  return found
}

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return error instanceof StreamsError ? error.code : `another error: ${String(error)}`
  }
  return 'no error'
}

describe('compact', () => {
  test('of each key the last record stays, at its offset and in order', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'b=1', 'a=2'])
    append(log, ['c=1', 'b=2'])
    log.roll()
    expect(clean(log, place)?.removedBytes).toBeGreaterThan(0)
    expect(readAll(log)).toEqual(['2:a=2', '3:c=1', '4:b=2'])
    expect([log.startOffset, log.endOffset]).toEqual([0, 5])
  })

  test('the active segment is not touched, and its records make nothing obsolete yet', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'a=2'])
    log.roll()
    append(log, ['a=3', 'a=4'])
    clean(log, place)
    expect(readAll(log)).toEqual(['1:a=2', '2:a=3', '3:a=4'])
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['3:a=4'])
  })

  test('an offset that is gone reads on at the next one that is there', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1'])
    append(log, ['a=2'])
    append(log, ['b=1'])
    log.roll()
    append(log, ['b=2'])
    clean(log, place)
    const reader = new RecordBatchReader()
    reader.reset(log.read(0, { bytesMax: 1, atLeastOne: true }) as Buffer)
    expect([reader.nextBatch(), reader.baseOffset]).toEqual([true, 1])
  })

  test('a tombstone stays for delete.retention.ms after its first cleaning, then goes', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'a=', 'b=1'])
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['1:a=', '2:b=1'])
    place.clock.advance(hour - 1)
    append(log, ['c=1'])
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['1:a=', '2:b=1', '3:c=1'])
    place.clock.advance(1)
    append(log, ['d=1'])
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['2:b=1', '3:c=1', '4:d=1'])
  })

  test('how long a tombstone has been kept is known after a restart', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a='])
    log.roll()
    clean(log, place)
    log.close()
    place.clock.advance(hour)
    const again = openLog(place)
    append(again, ['b=1'])
    again.roll()
    clean(again, place)
    expect(readAll(again)).toEqual(['1:b=1'])
  })

  test('a tombstone deletes what came before it, also what was cleaned long ago', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'b=1'])
    log.roll()
    clean(log, place)
    append(log, ['a='])
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['1:b=1', '2:a='])
  })

  test('with few dirty bytes nothing is done', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'b=1', 'c=1'])
    log.roll()
    clean(log, place)
    append(log, ['a=2'])
    log.roll()
    expect(clean(log, place, { minCleanableDirtyRatio: 0.5 })).toBeUndefined()
    expect(clean(log, place, { minCleanableDirtyRatio: 0.3 })).toBeDefined()
    expect(clean(log, place)).toBeUndefined()
  })

  test('a record older than max.compaction.lag.ms is reason enough', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'b=1', 'c=1'])
    log.roll()
    clean(log, place)
    append(log, ['a=2'], { timestamp: place.clock.now() })
    log.roll()
    const lag = { minCleanableDirtyRatio: 1, maxCompactionLagMs: 100 }
    place.clock.advance(100)
    expect(clean(log, place, lag)).toBeUndefined()
    place.clock.advance(1)
    expect(clean(log, place, lag)).toBeDefined()
  })

  test('segments with records younger than min.compaction.lag.ms are left alone', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'a=2'])
    log.roll()
    append(log, ['b=1', 'b=2'], { timestamp: place.clock.now() })
    log.roll()
    clean(log, place, { minCompactionLagMs: 10 })
    expect(log.checkpoint.cleanedTo).toBe(2)
    place.clock.advance(10)
    clean(log, place, { minCompactionLagMs: 10 })
    expect(log.checkpoint.cleanedTo).toBe(4)
  })

  test('compressed batches stay compressed, with what is left of them', () => {
    for (const compression of ['gzip', 'snappy', 'lz4'] as const) {
      const place = newPlace()
      const log = openLog(place)
      append(log, ['a=1', 'b=1', 'a=2'], { compression })
      log.roll()
      clean(log, place)
      expect(readAll(log)).toEqual(['1:b=1', '2:a=2'])
      const reader = new RecordBatchReader()
      reader.reset(log.read(0, { bytesMax: 1, atLeastOne: true }) as Buffer)
      reader.nextBatch()
      expect([reader.compression, reader.lastOffset]).toEqual([compression, 2])
    }
  })

  test('a producer goes on in sequence after its records are gone and the broker was restarted', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1'], { producer: { id: 5, sequence: 0 } })
    append(log, ['a=2'], { producer: { id: 5, sequence: 1 } })
    append(log, ['a=3'])
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['2:a=3'])
    log.close()
    const again = openLog(place)
    const next = { producerId: 5, producerEpoch: 0, baseSequence: 2, recordCount: 1 }
    expect(again.producers.check(next)).toEqual({ kind: 'append' })
    const early = again.producers.check({ ...next, baseSequence: 3 })
    expect(early).toEqual({ kind: 'refused', error: 'OUT_OF_ORDER_SEQUENCE_NUMBER' })
  })

  test('small segments become one, and the log is the same after a restart', () => {
    const place = newPlace()
    const log = openLog(place)
    for (let index = 0; index < 10; index++) {
      append(log, [`k${index % 3}=${index}`])
      log.roll()
    }
    clean(log, place)
    expect(log.segments.length).toBe(2)
    const left = ['7:k1=7', '8:k2=8', '9:k0=9']
    expect(readAll(log)).toEqual(left)
    log.close()
    const again = openLog(place)
    expect(readAll(again)).toEqual(left)
    expect(again.endOffset).toBe(10)
  })

  test('a crash between putting the cleaned segment in place and removing the old ones is harmless', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'b=1'])
    log.roll()
    append(log, ['a='])
    log.roll()
    append(log, ['b=2'])
    log.roll()
    const old = log.segments.map(({ path }) => [path, place.disk.readFile(path)] as const)
    clean(log, place)
    const merged = readAll(log)
    expect(merged).toEqual(['2:a=', '3:b=2'])
    // The crash may have left any number of the old segments, but only from the last ones.
    for (const from of [2, 1]) {
      place.disk.crash('nothing')
      for (const [path, content] of old.slice(from)) {
        if (content !== undefined && !place.disk.exists(path))
          place.disk.writeFileAtomic(path, content)
      }
      expect(readAll(openLog(place))).toEqual(merged)
    }
  })

  test('a disk that fills up during a cleaning leaves the log whole', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'b=1', 'a=2'])
    log.roll()
    place.disk.capacityBytes = place.disk.usedBytes + 10
    expect(codeOf(() => clean(log, place))).toBe('DISK_FAILED')
    expect(readAll(log)).toEqual(['0:a=1', '1:b=1', '2:a=2'])
    expect(place.disk.list(directory).filter((name) => name.endsWith('.cleaned'))).toEqual([])
    place.disk.capacityBytes = Number.POSITIVE_INFINITY
    clean(log, place)
    expect(readAll(log)).toEqual(['1:b=1', '2:a=2'])
  })

  test('with more keys than it may remember, it cleans a shorter part and goes on the next time', () => {
    const place = newPlace()
    const log = openLog(place)
    for (const value of [1, 2]) {
      for (const key of ['a', 'b', 'c', 'd']) append(log, [`${key}=${value}`])
    }
    append(log, ['a=3'])
    log.roll()
    clean(log, place, { keysMax: 2 })
    expect(log.checkpoint.cleanedTo).toBe(2)
    for (let round = 0; round < 10; round++) clean(log, place, { keysMax: 2 })
    expect(log.checkpoint.cleanedTo).toBe(9)
    expect(readAll(log)).toEqual(['5:b=2', '6:c=2', '7:d=2', '8:a=3'])
  })

  test('whatever was written and however often it is cleaned, the last value of each key is there', () => {
    const random = seededRandom(42)
    const place = newPlace()
    let log = openLog(place)
    const expected = new Map<string, string>()
    for (let round = 0; round < 300; round++) {
      const records: string[] = []
      for (let count = randomInteger(random, 5); count >= 0; count--) {
        const key = `k${randomInteger(random, 20)}`
        const value = randomInteger(random, 4) === 0 ? '' : String(round)
        records.push(`${key}=${value}`)
        expected.set(key, value)
      }
      append(log, records, { compression: randomInteger(random, 3) === 0 ? 'gzip' : 'none' })
      if (randomInteger(random, 4) === 0) log.roll()
      if (randomInteger(random, 6) === 0) clean(log, place)
      place.clock.advance(randomInteger(random, hour / 4))
      if (randomInteger(random, 20) === 0) {
        place.disk.crash('nothing')
        log = openLog(place)
      }
    }
    const found = new Map<string, string>()
    let last = -1
    for (const record of readAll(log)) {
      const [offset = '', key = '', value = ''] = record.split(/[:=]/)
      expect(Number(offset)).toBeGreaterThan(last)
      last = Number(offset)
      if (value === '') found.delete(key)
      else found.set(key, value)
    }
    const alive = [...expected].filter(([, value]) => value !== '')
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(alive))
  })
})

describe('LogCleaner', () => {
  test('cleans every log at each interval of the clock, until it is closed', async () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'a=2'])
    log.roll()
    const cleaner = new LogCleaner({
      ...place,
      log: silentLog,
      intervalMs: 500,
      logs: () => [{ log, compaction: settings }],
    })
    cleaner.start()
    await place.clock.run(499)
    expect(readAll(log)).toEqual(['0:a=1', '1:a=2'])
    await place.clock.run(1)
    expect(readAll(log)).toEqual(['1:a=2'])
    append(log, ['a=3'])
    log.roll()
    await place.clock.run(500)
    expect(readAll(log)).toEqual(['2:a=3'])
    await cleaner.close()
    expect(place.clock.timerCount).toBe(0)
  })
})

describe('compact, with transactions', () => {
  const end = (log: PartitionLog, type: 'commit' | 'abort', producerId: number): void =>
    log.appendMarker({ type, producerId, producerEpoch: 0, coordinatorEpoch: 0 })

  const inTransaction = (id: number, sequence = 0) => ({
    producer: { id, sequence },
    isTransactional: true,
  })

  test('nothing from the last stable offset on is touched', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'a=2'])
    log.roll()
    append(log, ['b=1'], inTransaction(7))
    append(log, ['b=2'])
    log.roll()
    append(log, ['b=3'])
    log.roll()
    expect(log.lastStableOffset).toBe(2)
    clean(log, place)
    expect(readAll(log)).toEqual(['1:a=2', '2:b=1', '3:b=2', '4:b=3'])
    end(log, 'commit', 7)
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['1:a=2', '4:b=3', '5:commit'])
  })

  test('aborted records go, and make nothing obsolete', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1', 'b=1'])
    append(log, ['a=2', 'c=2'], inTransaction(7))
    append(log, ['d=1'], inTransaction(8))
    append(log, ['a=3'], inTransaction(7, 2))
    end(log, 'abort', 7)
    end(log, 'commit', 8)
    append(log, ['e=1'], inTransaction(7, 3))
    end(log, 'commit', 7)
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual([
      '0:a=1',
      '1:b=1',
      '4:d=1',
      '6:abort',
      '7:commit',
      '8:e=1',
      '9:commit',
    ])
    expect(log.transactions.aborted).toEqual([])
    const again = openLog(place)
    expect(readAll(again)).toEqual(readAll(log))
    expect([again.lastStableOffset, again.transactions.aborted]).toEqual([10, []])
  })

  test('a marker goes as a tombstone does, once no batch of its transaction is left', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1'], inTransaction(7))
    end(log, 'commit', 7)
    append(log, ['a=2'], inTransaction(7, 1))
    end(log, 'abort', 7)
    append(log, ['b=1'], inTransaction(7, 2))
    end(log, 'commit', 7)
    log.roll()
    clean(log, place)
    const first = ['0:a=1', '1:commit', '3:abort', '4:b=1', '5:commit']
    expect(readAll(log)).toEqual(first)
    place.clock.advance(hour)
    append(log, ['a=3'])
    log.roll()
    clean(log, place)
    // The record at 0 has just gone, so its marker stays for another cleaning.
    expect(readAll(log)).toEqual(['1:commit', '4:b=1', '5:commit', '6:a=3'])
    append(log, ['c=1'])
    log.roll()
    clean(log, place)
    expect(readAll(log)).toEqual(['4:b=1', '5:commit', '6:a=3', '7:c=1'])
    const again = openLog(place)
    expect(again.lastStableOffset).toBe(8)
    expect(again.producers.check({ ...next7, baseSequence: 3 })).toEqual({ kind: 'append' })
    expect(again.producers.check({ ...next7, baseSequence: 2 }).kind).toBe('duplicate')
  })

  test('the last that is known of a producer stays: its newest batch without records, or its marker', () => {
    const place = newPlace()
    const log = openLog(place)
    append(log, ['a=1'], inTransaction(7))
    end(log, 'abort', 7)
    append(log, ['b=1'], inTransaction(8))
    log.appendMarker({ type: 'commit', producerId: 8, producerEpoch: 1, coordinatorEpoch: 0 })
    append(log, ['a=2', 'b=2'])
    log.roll()
    clean(log, place)
    place.clock.advance(hour)
    append(log, ['a=3', 'b=3'])
    log.roll()
    clean(log, place)
    clean(log, place)
    expect(readAll(log)).toEqual(['1:abort', '3:commit', '6:a=3', '7:b=3'])
    const again = openLog(place)
    expect(again.lastStableOffset).toBe(8)
    expect(again.producers.check({ ...next7, baseSequence: 1 })).toEqual({ kind: 'append' })
    const old = again.producers.check({ ...next7, producerId: 8, baseSequence: 1 })
    expect(old).toEqual({ kind: 'refused', error: 'INVALID_PRODUCER_EPOCH' })
  })
})

const next7 = { producerId: 7, producerEpoch: 0, baseSequence: 0, recordCount: 1 }
