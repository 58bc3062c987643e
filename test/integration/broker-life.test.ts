import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { ManualClock } from '../../src/base/manual-clock.ts'
import type { DiskLock } from '../../src/base/disk.ts'
import { MemoryDisk } from '../../src/base/memory-disk.ts'
import type { BrokerOptions } from '../../src/broker/index.ts'
import { StreamsError } from '../../src/errors.ts'
import { produce } from '../../src/protocol/messages/0-produce.ts'
import { fetch } from '../../src/protocol/messages/1-fetch.ts'
import { metadata } from '../../src/protocol/messages/3-metadata.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { offsetFetch } from '../../src/protocol/messages/9-offset-fetch.ts'
import { joinGroup } from '../../src/protocol/messages/11-join-group.ts'
import { apiVersions } from '../../src/protocol/messages/18-api-versions.ts'
import { initProducerId } from '../../src/protocol/messages/22-init-producer-id.ts'
import { offsetForLeaderEpoch } from '../../src/protocol/messages/23-offset-for-leader-epoch.ts'
import { Writer } from '../../src/protocol/writer.ts'
import {
  abandon,
  batchOf,
  closeBrokers,
  connect,
  create,
  fetchBody,
  fetchOne,
  produceBody,
  produceOne,
  start,
} from './raw-client.ts'

afterEach(closeBrokers)

/** A disk whose locks another process may take over. */
class WatchedLocks extends MemoryDisk {
  refreshCount = 0
  isTaken = false

  override lock(path: string): DiskLock {
    const inner = super.lock(path)
    return {
      ...inner,
      refresh: () => {
        this.refreshCount += 1
        if (!this.isTaken) return inner.refresh()
        throw new StreamsError('STATE_DIRECTORY_LOCKED', { directory: '/data', pid: 7 })
      },
    }
  }
}

describe('a broker', () => {
  test('starts in memory on a free port, tells its address, and starts and closes once', async () => {
    const broker = await start()
    expect(broker.port).toBeGreaterThan(0)
    expect(broker.address).toBe(`127.0.0.1:${broker.port}`)
    await expect(broker.start()).rejects.toThrow(StreamsError)
    await broker.close()
    await broker.close()
    expect(() => broker.port).toThrow(StreamsError)
  })

  test('tells clients the advertised host, and localhost when it listens everywhere', async () => {
    const everywhere = await start({ host: '0.0.0.0' })
    expect(everywhere.address).toBe(`localhost:${everywhere.port}`)
    const named = await start({ advertisedHost: 'kafka.test' })
    const client = await connect(named)
    const { brokers: nodes } = await client.request(metadata, 9, { topics: [] })
    expect(nodes).toEqual([{ nodeId: 1, host: 'kafka.test', port: named.port, rack: null }])
  })

  test('a port in use, a locked directory and bad options are told', async () => {
    const disk = new MemoryDisk()
    const first = await start({ dataDir: '/data', disk })
    const codeOf = async (options: BrokerOptions): Promise<string> => {
      try {
        await start(options)
      } catch (error) {
        return error instanceof StreamsError ? error.code : 'another error'
      }
      return 'started'
    }
    expect(await codeOf({ dataDir: '/data', disk })).toBe('STATE_DIRECTORY_LOCKED')
    expect(await codeOf({ port: first.port })).toBe('ADDRESS_IN_USE')
    expect(await codeOf({ topicDefaults: { 'retention.ms': 'never' } })).toBe('CONFIG_INVALID')
    expect(await codeOf({ defaultPartitions: 0 })).toBe('CONFIG_INVALID')
    // A start that failed holds no lock.
    expect(await codeOf({ dataDir: '/other', disk, port: first.port })).toBe('ADDRESS_IN_USE')
    expect(await codeOf({ dataDir: '/other', disk })).toBe('started')
  })

  test('goes on to say that it has its directory, and ends when another one has taken it over', async () => {
    const clock = new ManualClock()
    const disk = new WatchedLocks()
    const broker = await start({ clock, disk, dataDir: '/data' })
    const client = await connect(broker)
    clock.advance(2000)
    clock.advance(2000)
    expect(disk.refreshCount).toBe(2)
    await client.request(metadata, 9, { topics: [] })
    await create(client, 't')
    const before = disk.usedBytes
    disk.isTaken = true
    clock.advance(2000)
    await broker.close()
    await expect(connect(broker)).rejects.toThrow(StreamsError)
    // What it had not written yet does not come over what the other one writes.
    expect(disk.usedBytes).toBe(before)
    expect(disk.refreshCount).toBe(3)
  })

  test('everything is there after a kill: topics, records, offsets, producers; leader epochs rise', async () => {
    const disk = new MemoryDisk()
    const broker = await start({ dataDir: '/data', disk })
    const client = await connect(broker)
    await create(client, 't', { 'retention.ms': '-1' }, 2)
    const { producerId } = await client.request(initProducerId, 4, {
      transactionalId: null,
      transactionTimeoutMs: 0,
    })
    const producer = { id: producerId, epoch: 0, sequence: 0 }
    const batch = (): Buffer => batchOf(['a', 'b'], { producer })
    expect(await produceOne(client, 't', batch())).toMatchObject({ error: 'NONE', baseOffset: 0 })
    await client.request(offsetCommit, 8, {
      groupId: 'g',
      topics: [
        {
          name: 't',
          partitions: [
            {
              partitionIndex: 0,
              committedOffset: 1,
              committedLeaderEpoch: 0,
              committedMetadata: 'x',
            },
          ],
        },
      ],
    })
    disk.crash('nothing')
    await abandon(broker)
    const again = await start({ dataDir: '/data', disk })
    const second = await connect(again)
    expect(await produceOne(second, 't', batch())).toMatchObject({ error: 'NONE', baseOffset: 0 })
    expect((await fetchOne(second, 't')).values).toEqual(['0:a', '1:b'])
    expect((await fetchOne(second, 't', { leaderEpoch: 0 })).error).toBe('FENCED_LEADER_EPOCH')
    expect((await fetchOne(second, 't', { leaderEpoch: 1 })).error).toBe('NONE')
    const { topics } = await second.request(metadata, 9, { topics: [{ name: 't' }] })
    expect(topics[0]?.partitions.map(({ leaderEpoch }) => leaderEpoch)).toEqual([1, 1])
    const { groups } = await second.request(offsetFetch, 8, {
      groups: [{ groupId: 'g', topics: null }],
    })
    expect(groups[0]?.topics).toEqual([
      {
        name: 't',
        partitions: [
          {
            partitionIndex: 0,
            committedOffset: 1,
            committedLeaderEpoch: 0,
            metadata: 'x',
            errorCode: 0,
          },
        ],
      },
    ])
    const { topics: ends } = await second.request(offsetForLeaderEpoch, 4, {
      topics: [
        { topic: 't', partitions: [{ partition: 0, currentLeaderEpoch: 1, leaderEpoch: 0 }] },
      ],
    })
    expect(ends[0]?.partitions[0]).toMatchObject({ leaderEpoch: 0, endOffset: 2 })
  })

  test('clean() applies retention and compaction now', async () => {
    const broker = await start()
    const client = await connect(broker)
    await create(client, 't', { 'retention.ms': '1', 'segment.bytes': '100' })
    await produceOne(client, 't', batchOf(['a']))
    await produceOne(client, 't', batchOf(['b']))
    await broker.clean()
    expect(await fetchOne(client, 't', { offset: 2 })).toMatchObject({
      error: 'NONE',
      logStartOffset: 2,
      highWatermark: 2,
    })
  })
})

describe('connections', () => {
  test('requests that are sent together are answered in order, also behind one that waits', async () => {
    const clock = new ManualClock()
    const client = await connect(await start({ clock, cleanIntervalMs: 1_000_000 }))
    await create(client, 't')
    const idleCount = clock.timerCount
    const waiting = client.send(fetch, 11, fetchBody('t', { maxWaitMs: 500 }))
    const second = client.send(metadata, 9, { topics: [] })
    const third = client.send(produce, 9, produceBody('t', batchOf(['a'])))
    while (clock.timerCount <= idleCount) await clock.settle()
    clock.advance(500)
    expect((await waiting.take()).responses.length).toBe(1)
    expect((await second.take()).brokers.length).toBe(1)
    expect((await third.take()).responses.length).toBe(1)
  })

  test('bytes that are no request close their connection, are told once, and disturb no one', async () => {
    const lines: string[] = []
    const logger = createLog((level, message) => lines.push(`${level} ${message}`), {
      level: 'warn',
    })
    const broker = await start({ logger, requestBytesMax: 10_000 })
    const bystander = await connect(broker)
    await create(bystander, 't')
    const frame = (...bytes: number[]): Buffer => {
      const framed = Buffer.alloc(4 + bytes.length)
      framed.writeInt32BE(bytes.length, 0)
      framed.set(bytes, 4)
      return framed
    }
    const bad = [
      Buffer.from([0x7f, 0xff, 0xff, 0xff]),
      Buffer.from([0xff, 0xff, 0xff, 0xff]),
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      frame(),
      frame(0, 0),
      // An API that nobody knows; Metadata of a version that nobody knows; Metadata without a body.
      frame(0x03, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff),
      frame(0, 3, 0, 99, 0, 0, 0, 1, 0xff, 0xff),
      frame(0, 3, 0, 5, 0, 0, 0, 1, 0xff, 0xff),
      // Metadata that claims two billion topics.
      frame(0, 3, 0, 5, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff),
    ]
    for (const bytes of bad) {
      const client = await connect(broker)
      client.raw(bytes)
      await client.closed()
    }
    expect(lines).toEqual(['warn closed a connection'])
    expect((await produceOne(bystander, 't', batchOf(['a']))).error).toBe('NONE')
  })

  test('whatever bytes follow a good header, the broker answers or hangs up, and serves the others', async () => {
    const broker = await start({ requestBytesMax: 100_000 })
    const bystander = await connect(broker)
    const { apiKeys } = await bystander.request(apiVersions, 0, {})
    const request = fc.record({
      api: fc.constantFrom(...apiKeys.filter(({ apiKey }) => apiKey !== joinGroup.key)),
      version: fc.nat(20),
      body: fc.uint8Array({ maxLength: 200 }),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ api, version, body }) => {
        const writer = new Writer()
        writer.int32(0)
        writer.int16(api.apiKey)
        writer.int16(Math.min(version, api.maxVersion))
        writer.int32(1)
        writer.nullableString(null)
        writer.raw(body)
        writer.patchInt32(0, writer.position - 4)
        const client = await connect(broker)
        client.raw(writer.finish())
        // Something that is surely refused, so that the connection ends in any case.
        client.raw(Buffer.from([0xff, 0xff, 0xff, 0xff]))
        // A fetch may wait long before it comes to that.
        if (api.apiKey !== fetch.key) await client.closed()
        client.close()
        expect((await bystander.request(apiVersions, 0, {})).errorCode).toBe(0)
      }),
      { numRuns: 300 },
    )
  })

  test('closing the broker ends whatever waits', async () => {
    const broker = await start()
    const [reader, member] = [await connect(broker), await connect(broker)]
    await create(reader, 't')
    reader.send(fetch, 11, fetchBody('t', { maxWaitMs: 600_000 }))
    member.send(joinGroup, 5, {
      groupId: 'g',
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 10_000,
      memberId: 'x',
      protocolType: 'consumer',
      protocols: [],
    })
    await broker.close()
    await Promise.all([reader.closed(), member.closed()])
    expect([reader.isClosed, member.isClosed]).toEqual([true, true])
  })
})
