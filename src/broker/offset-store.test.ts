import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { StreamsError } from '../errors.ts'
import { compact } from './log-compaction.ts'
import { OffsetStore } from './offset-store.ts'

const open = (disk: MemoryDisk, clock = new ManualClock(500)): OffsetStore =>
  new OffsetStore({ disk, clock, log: silentLog, dataDir: '/data', leaderEpoch: 0 })

const entry = (topic: string, partition: number, offset: number) => ({
  topic,
  partition,
  offset,
  leaderEpoch: 3,
  metadata: `m${offset}`,
})

const t0 = { topic: 't', partition: 0 }

describe('OffsetStore', () => {
  test('the last commit of each partition is there after the process was killed', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    store.commit('g', [entry('t', 0, 10), entry('t', 1, 20)])
    store.commit('g', [entry('t', 0, 11)])
    store.commit('other', [entry('t', 0, 99)])
    disk.crash('nothing')
    const again = open(disk)
    expect(again.get('g', t0)).toEqual({
      position: 2,
      offset: 11,
      leaderEpoch: 3,
      metadata: 'm11',
      committedAtMs: 500,
    })
    expect(again.get('g', { topic: 't', partition: 1 })?.offset).toBe(20)
    expect(again.get('other', t0)?.offset).toBe(99)
    expect(again.groupIds()).toEqual(['g', 'other'])
  })

  test('what was deleted stays deleted', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    store.commit('g', [entry('t', 0, 1), entry('t', 1, 1), entry('u', 0, 1)])
    store.commit('h', [entry('u', 0, 1)])
    store.delete('g', [t0, { topic: 'unknown', partition: 5 }])
    store.deleteTopic('u')
    for (const seen of [store, open(disk)]) {
      expect(seen.keys('g')).toEqual([{ topic: 't', partition: 1 }])
      expect(seen.has('h')).toBe(false)
    }
    store.delete('g')
    expect(open(disk).groupIds()).toEqual([])
  })

  test('a commit that the disk refuses changes nothing', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    store.commit('g', [entry('t', 0, 1)])
    disk.failWrite()
    expect(() => store.commit('g', [entry('t', 0, 2)])).toThrow(StreamsError)
    expect(store.get('g', t0)?.offset).toBe(1)
    store.commit('g', [entry('t', 0, 3)])
    expect(open(disk).get('g', t0)?.offset).toBe(3)
  })

  test('compaction keeps what counts', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    for (let offset = 0; offset < 100; offset++) store.commit('g', [entry('t', 0, offset)])
    store.commit('gone', [entry('t', 0, 1)])
    store.delete('gone')
    const { log, compaction } = store.cleanable()
    log.roll()
    const before = log.size
    compact(log, compaction as NonNullable<typeof compaction>, { disk, nowMs: 600 })
    expect(log.size).toBeLessThan(before / 10)
    const again = open(disk)
    expect(again.get('g', t0)?.offset).toBe(99)
    expect(again.groupIds()).toEqual(['g'])
  })
})

describe('OffsetStore, with transactions', () => {
  const producer = { producerId: 7, producerEpoch: 0 }

  const end = (store: OffsetStore, type: 'commit' | 'abort', producerId = 7): void =>
    store.endTransaction({ type, producerId, producerEpoch: 0, coordinatorEpoch: 0 })

  test('what a transaction commits is pending until its end, also over a crash', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    store.commit('g', [entry('t', 0, 1)])
    store.commitInTransaction('g', [entry('t', 0, 5), entry('t', 1, 6)], producer)
    store.commitInTransaction('h', [entry('t', 0, 9)], producer)
    for (const seen of [store, open(disk)]) {
      expect([seen.get('g', t0)?.offset, seen.isPending('g', t0)]).toEqual([1, true])
      expect([seen.has('h'), seen.get('h', t0), seen.groupIds()]).toEqual([
        true,
        undefined,
        ['g', 'h'],
      ])
    }
    end(store, 'commit')
    for (const seen of [store, open(disk)]) {
      expect([seen.get('g', t0)?.offset, seen.isPending('g', t0)]).toEqual([5, false])
      expect(seen.get('g', { topic: 't', partition: 1 })?.metadata).toBe('m6')
      expect(seen.get('h', t0)?.offset).toBe(9)
    }
  })

  test('what was aborted was never committed', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    store.commitInTransaction('g', [entry('t', 0, 5)], producer)
    end(store, 'abort')
    for (const seen of [store, open(disk)])
      expect([seen.has('g'), seen.isPending('g', t0)]).toEqual([false, false])
  })

  test('of a commit and a transaction the later record holds', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    store.commitInTransaction('g', [entry('t', 0, 5)], producer)
    store.commit('g', [entry('t', 0, 8)])
    end(store, 'commit')
    expect([store.get('g', t0)?.offset, open(disk).get('g', t0)?.offset]).toEqual([8, 8])
  })

  test('what is deleted while it is pending stays deleted', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    store.commitInTransaction('g', [entry('t', 0, 5), entry('u', 0, 5)], producer)
    store.commitInTransaction('h', [entry('u', 0, 5)], { producerId: 8, producerEpoch: 0 })
    store.delete('g', [t0])
    store.deleteTopic('u')
    end(store, 'commit')
    end(store, 'commit', 8)
    for (const seen of [store, open(disk)]) expect(seen.groupIds()).toEqual([])
  })

  test('compaction keeps what is pending, and then what counts', () => {
    const disk = new MemoryDisk()
    const store = open(disk)
    const compactNow = (): void => {
      const { log, compaction } = store.cleanable()
      log.roll()
      compact(log, compaction as NonNullable<typeof compaction>, { disk, nowMs: 600 })
    }
    store.commit('g', [entry('t', 0, 1)])
    store.commitInTransaction('g', [entry('t', 0, 5)], producer)
    compactNow()
    expect([open(disk).get('g', t0)?.offset, open(disk).isPending('g', t0)]).toEqual([1, true])
    end(store, 'abort')
    store.commitInTransaction('h', [entry('t', 0, 7)], producer)
    end(store, 'commit')
    compactNow()
    compactNow()
    const again = open(disk)
    expect([again.get('g', t0)?.offset, again.get('h', t0)?.offset]).toEqual([1, 7])
    expect([again.isPending('g', t0), again.isPending('h', t0)]).toEqual([false, false])
  })
})
