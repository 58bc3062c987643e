import { describe, expect, test } from 'vitest'
import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import { BrokerIdentity } from './broker-identity.ts'

const start = (disk: MemoryDisk): BrokerIdentity =>
  new BrokerIdentity({ disk, random: seededRandom(1), dataDir: '/data' })

describe('BrokerIdentity', () => {
  test('the cluster keeps its id, and each start is a new leader epoch', () => {
    const disk = new MemoryDisk()
    const first = start(disk)
    expect(first.clusterId).toMatch(/^[A-Za-z0-9_-]{22}$/)
    expect(first.leaderEpoch).toBe(0)
    const second = start(disk)
    expect(second.clusterId).toBe(first.clusterId)
    expect(second.leaderEpoch).toBe(1)
  })

  test('a producer id is never given twice, whenever the broker was killed', () => {
    const disk = new MemoryDisk()
    const given = new Set<number>()
    let count = 0
    for (const uses of [3, 1_001, 0, 5]) {
      const identity = start(disk)
      for (let use = 0; use < uses; use++) {
        given.add(identity.newProducerId())
        count += 1
      }
      disk.crash('unsynced')
    }
    expect(given.size).toBe(count)
  })

  test('a producer id is not given when it cannot be reserved', () => {
    const disk = new MemoryDisk()
    const identity = start(disk)
    disk.failWrite()
    expect(() => identity.newProducerId()).toThrow(StreamsError)
    expect(identity.newProducerId()).toBe(0)
  })
})
