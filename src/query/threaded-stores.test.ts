/**
 * The same questions, and the same answers, wherever in a process the stores are: in the thread that asks,
 * in another one, or in several.
 */
import { describe, expect, test } from 'vitest'
import { QueryChannel } from '../../test/peers/query-channel.ts'
import { StoreInstance, partitionOf } from '../../test/peers/store-instance.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { serdes } from '../serde/serdes.ts'
import {
  keyValueStore,
  sessionStore,
  versionedStore,
  windowStore,
  type AnyStore,
} from '../store/descriptor.ts'
import type { TimestampedStore } from '../store/timestamped-key-value-store.ts'
import type { TypedSessionStore } from '../store/typed-session-store.ts'
import type { TypedVersionedStore } from '../store/typed-versioned-store.ts'
import type { StampedWindowStore } from '../store/typed-window-stores.ts'
import { localStore } from './executor-store.ts'
import { LocalQuery } from './local-query.ts'
import { statusHere } from './partition-holder.ts'
import { PortQueries } from './port-queries.ts'
import { QueryResponder } from './query-responder.ts'
import type { QueryableStore } from './queryable-store.ts'
import { QueryRouter, type QueryPeers } from './router.ts'

const json = { key: serdes.string, value: serdes.json<{ n: number }>() }
const totals = keyValueStore('totals', { ...json, caching: false })
const windows = windowStore('clicks', { ...json, retention: 1_000_000, windowSize: 1_000 })
const sessions = sessionStore('visits', { ...json, retention: 1_000_000, caching: true })
const versions = versionedStore('prices', { ...json, historyRetention: 1_000_000 })
const stores: readonly AnyStore[] = [totals, windows, sessions, versions]

// Of three partitions, murmur2 gives `f`, `g`, `to` to 0; `a`, `c`, `kafka` to 1; `b`, `be` to 2.
const words = ['kafka', 'a', 'to', 'be', 'f', 'c', 'b', 'g']

/** An instance, of which the first thread is the one that asks. */
class Process {
  readonly main: StoreInstance
  readonly threads: readonly StoreInstance[]

  /** @param held by thread the partitions that it has */
  constructor(held: readonly (readonly number[])[]) {
    this.threads = held.map((partitions) => new StoreInstance(stores, partitions))
    this.main = this.threads[0] as StoreInstance
    for (const thread of this.threads.slice(1)) {
      const channel = new QueryChannel()
      const clock = new ManualClock()
      const descriptor = (name: string): AnyStore | undefined => this.main.descriptor(name)
      this.main.workers.push(new PortQueries(channel.main, { descriptor, clock }))
      new QueryResponder(channel.thread, { target: thread, clock }).tellHeld()
    }
  }

  /** What a thread has said of its partitions has arrived. */
  static async begun(held: readonly (readonly number[])[]): Promise<Process> {
    const process = new Process(held)
    await new ManualClock().settle()
    return process
  }

  /** The thread that has a partition. */
  holder(partition: number): StoreInstance {
    const holder = this.threads.find(({ tasks }) => tasks.has(partition))
    if (holder === undefined) throw new Error(`nobody has partition ${partition}`)
    return holder
  }

  of(key: string): StoreInstance {
    return this.holder(partitionOf(key))
  }

  store<D extends AnyStore>(descriptor: D): QueryableStore<D> {
    return localStore(this.main, descriptor, 'here:1')
  }

  get openIterators(): number {
    return this.threads.reduce((sum, { metrics }) => sum + metrics.openIterators.value, 0)
  }
}

function fill(process: Process): Process {
  for (const [n, key] of words.entries()) {
    const holder = process.of(key)
    const total = holder.of(key, 'totals') as TimestampedStore<unknown, unknown>
    total.put(key, { n }, 1000 + n)
    const window = holder.of(key, 'clicks') as StampedWindowStore<unknown, unknown>
    for (const start of [0, 1_000, 2_000]) window.put(key, { n: start / 1_000 }, 10, start)
    const session = holder.of(key, 'visits') as TypedSessionStore<unknown, unknown>
    session.put({ key, window: { start: 0, end: 10 } }, { n: 1 })
    session.put({ key, window: { start: 50, end: 60 } }, { n: 2 })
    const version = holder.of(key, 'prices') as TypedVersionedStore<unknown, unknown>
    version.put(key, { n: 1 }, 10)
    version.put(key, { n: 2 }, 20)
  }
  return process
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

/** What an answer comes to: itself, or the code and the facts of its error. */
async function outcome(read: () => unknown): Promise<unknown> {
  try {
    return await read()
  } catch (error) {
    const { code, context, message } = error as Record<string, unknown>
    return { code, context, message }
  }
}

const noPeers: QueryPeers = {
  get: () => Promise.reject(new Error('there are no peers')),
  page: () => Promise.reject(new Error('there are no peers')),
  count: () => Promise.reject(new Error('there are no peers')),
}

const inThisThread = [[0, 1, 2]]
const places: [string, number[][]][] = [
  ['in the thread that asks', inThisThread],
  ['in another thread', [[], [0, 1, 2]]],
  ['in two other threads', [[], [0, 2], [1]]],
  ['in this thread and another', [[0], [1, 2]]],
]

describe.each(places)('stores %s', (_place, held) => {
  const filled = async (): Promise<Process> => fill(await Process.begun(held))

  test('give values by key', async () => {
    const store = (await filled()).store(totals)
    expect(await store.get('kafka')).toEqual({ n: 0 })
    expect(await store.get('be')).toEqual({ n: 3 })
    expect(await store.get('nobody')).toBe(undefined)
    expect([...(await store.getMany(['to', 'nobody', 'be', 'a']))]).toEqual([
      ['to', { n: 2 }],
      ['be', { n: 3 }],
      ['a', { n: 1 }],
    ])
  })

  test('give rows in the order of their keys', async () => {
    const process = await filled()
    const store = process.store(totals)
    const keys = async (rows: AsyncIterable<[string, unknown]>): Promise<string> =>
      (await all(rows)).map(([key]) => key).join(' ')
    expect(await keys(store.range())).toBe('a b be c f g kafka to')
    expect(await keys(store.range({ from: 'b', to: 'f' }))).toBe('b be c f')
    expect(await keys(store.range({ reverse: true, limit: 3 }))).toBe('to kafka g')
    expect(await keys(store.range({ limit: 0 }))).toBe('')
    expect(await keys(store.prefix(Buffer.from('b')))).toBe('b be')
    expect(await keys(store.prefix(Buffer.from('b'), { reverse: true }))).toBe('be b')
    expect(await store.approximateEntryCount()).toBe(8)
    expect(await all(store.range({ limit: 1 }))).toEqual([['a', { n: 1 }]])
    expect(process.openIterators).toBe(0)
  })

  test('give more rows than a page has, each once', async () => {
    const process = await Process.begun(held)
    for (let n = 0; n < 2500; n += 1) {
      const key = `key-${10_000 + n}`
      const total = process.of(key).of(key, 'totals') as TimestampedStore<unknown, unknown>
      total.put(key, { n }, n)
    }
    const rows = await all(process.store(totals).range())
    expect(rows.map(([, { n }]) => n)).toEqual(Array.from({ length: 2500 }, (_, n) => n))
  })

  test('say with which timestamp, from where, and how far they are', async () => {
    const local = new LocalQuery((await filled()).main, 'here:1')
    const store = 'totals'
    const got = await local.get({ kind: 'get', store, keyBytes: Buffer.from('kafka') })
    expect(got.found).toEqual({ value: { n: 0 }, timestamp: 1000 })
    expect(got.meta).toEqual({
      store,
      partition: 1,
      servedBy: 'here:1',
      role: 'active',
      lag: 0,
      position: { lines: { 1: 101 } },
      partial: false,
    })
    const page = await local.page({ kind: 'page', store, bounds: {}, limit: 2 })
    expect(page.rows).toEqual([
      { key: 'a', keyBytes: Buffer.from('a'), value: { n: 1 }, timestamp: 1001 },
      { key: 'b', keyBytes: Buffer.from('b'), value: { n: 6 }, timestamp: 1006 },
    ])
    expect(page.more).toBe(true)
    expect(page.meta).toEqual({
      store,
      partitions: [0, 1, 2],
      servedBy: ['here:1'],
      role: 'active',
      lag: 0,
      position: { lines: { 0: 100, 1: 101, 2: 102 } },
      partial: false,
    })
    const count = await local.count({ kind: 'count', store })
    expect(count.meta).toEqual(page.meta)
  })

  test('are asked the same by the router, for the application and for a hop', async () => {
    const process = await filled()
    const self = { host: 'here', port: 1 }
    const router = new QueryRouter({ target: process.main, self, peers: noPeers })
    const store = 'totals'
    const get = { kind: 'get', store, keyBytes: Buffer.from('be') } as const
    const page = { kind: 'page', store, bounds: { reverse: true }, limit: 3 } as const
    expect((await router.get(get)).found?.value).toEqual({ n: 3 })
    expect((await router.getHere(get)).meta).toMatchObject({ partition: 2, role: 'active' })
    expect((await router.page(page)).rows.map(({ key }) => key)).toEqual(['to', 'kafka', 'g'])
    expect((await router.count({ kind: 'count', store })).approximate).toBe(8)
    const hop = await router.pageHere([0, 2], page)
    expect(hop.rows.map(({ key }) => key)).toEqual(['to', 'g', 'f'])
    expect(hop.meta.partitions).toEqual([0, 2])
    process.holder(1).stands.set(1, { role: 'active', state: 'restoring', lag: 7 })
    const partial = await router.pageHere([0, 1], page)
    expect(partial.meta).toMatchObject({ partitions: [0], partial: true, missingPartitions: [1] })
    expect(await outcome(() => router.countHere([1], { kind: 'count', store }))).toMatchObject({
      code: 'STORE_NOT_AVAILABLE',
      context: { store, partition: 1, lag: 7 },
    })
    const allowed = await router.page({ ...page, allowPartial: true })
    expect(allowed.meta).toMatchObject({ missingPartitions: [1], partial: true })
    expect(await outcome(() => router.pageHere([3], page))).toMatchObject({
      code: 'STORE_PARTITION_INVALID',
    })
  })

  test('give windows by key and time', async () => {
    const process = await filled()
    const store = process.store(windows)
    expect(await store.fetch('kafka', 1_000)).toEqual({ n: 1 })
    expect(await store.fetch('kafka', 5_000)).toBe(undefined)
    expect(await all(store.fetchRange('kafka', 1_000, 9_000))).toEqual([
      [1_000, { n: 1 }],
      [2_000, { n: 2 }],
    ])
    expect(await all(store.fetchRange('a', 0, Infinity, { reverse: true, limit: 1 }))).toEqual([
      [2_000, { n: 2 }],
    ])
    expect(await all(store.range({ from: 'b', to: 'c', timeFrom: 1_000, timeTo: 1_999 }))).toEqual(
      ['c', 'b', 'be'].map((key) => [{ key, window: { start: 1_000, end: 2_000 } }, { n: 1 }]),
    )
    expect(await all(store.range({ limit: 4 }))).toHaveLength(4)
    expect(await all(store.range({ reverse: true }))).toHaveLength(24)
    expect(process.openIterators).toBe(0)
  })

  test('give sessions by key, bounds and time', async () => {
    const process = await filled()
    const store = process.store(sessions)
    const second = [{ key: 'kafka', window: { start: 50, end: 60 } }, { n: 2 }]
    expect(await store.fetchSession('kafka', 50, 60)).toEqual({ n: 2 })
    expect(await store.fetchSession('kafka', 50, 61)).toBe(undefined)
    expect(await all(store.findSessions('kafka', 11, Infinity))).toEqual([second])
    expect((await all(store.fetch('kafka', { reverse: true })))[0]).toEqual(second)
    expect(await all(store.range({ from: 'b', to: 'g' }))).toHaveLength(10)
    expect(await all(store.range({ reverse: true, limit: 3 }))).toHaveLength(3)
    expect(process.openIterators).toBe(0)
  })

  test('give versions by key and time', async () => {
    const store = (await filled()).store(versions)
    const first = { value: { n: 1 }, timestamp: 10, validTo: 20 }
    expect(await store.get('kafka')).toStrictEqual({ value: { n: 2 }, timestamp: 20 })
    expect(await store.get('kafka', { asOf: 15 })).toStrictEqual(first)
    expect(await store.get('kafka', { asOf: 5 })).toBe(undefined)
    expect(await all(store.versions('kafka', 0, 15))).toStrictEqual([first])
    expect(await all(store.versions('be', 0, 50, { reverse: true, limit: 1 }))).toStrictEqual([
      first,
    ])
  })

  test('give more rows of a scan than cross at a time, as they were when it began', async () => {
    const process = await Process.begun(held)
    const store = process.of('kafka').of('kafka', 'clicks') as StampedWindowStore<unknown, unknown>
    for (let n = 0; n < 600; n += 1) store.put('kafka', { n }, 10, n)
    const seen: number[] = []
    for await (const [start] of process.store(windows).fetchRange('kafka', 0, Infinity)) {
      if (seen.length === 0) store.put('kafka', { n: -1 }, 10, 599)
      seen.push(start)
    }
    expect(seen).toEqual(Array.from({ length: 600 }, (_, n) => n))
    expect(process.openIterators).toBe(0)
  })

  test('close what a loop leaves', async () => {
    const process = await filled()
    const held256 = process.of('kafka').of('kafka', 'clicks') as StampedWindowStore<
      unknown,
      unknown
    >
    for (let n = 0; n < 300; n += 1) held256.put('kafka', { n }, 10, n)
    for await (const row of process.store(windows).range()) if (row.length > 0) break
    for await (const row of process.store(windows).fetchRange('kafka', 0, 999)) {
      if (row.length > 0) break
    }
    await new ManualClock().settle()
    expect(process.openIterators).toBe(0)
  })

  test('are values of the reader, not those that the task goes on to use', async () => {
    const process = await filled()
    const live = process.of('a').of('a', 'clicks') as StampedWindowStore<unknown, unknown>
    const value = await process.store(windows).fetch('a', 0)
    expect(value).toEqual(live.fetch('a', 0)?.value)
    expect(value).not.toBe(live.fetch('a', 0)?.value)
  })

  test('refuse with the reason why they cannot tell', async () => {
    const process = await filled()
    const { main } = process
    const codes = async (): Promise<unknown[]> =>
      Promise.all([
        outcome(() => process.store(totals).get('kafka')),
        outcome(() => all(process.store(totals).range())),
        outcome(() => process.store(totals).approximateEntryCount()),
        outcome(() => process.store(windows).fetch('kafka', 0)),
        outcome(() => all(process.store(windows).range())),
        outcome(() => all(process.store(sessions).fetch('kafka'))),
        outcome(() => process.store(versions).get('kafka')),
      ])
    const stores7 = ['totals', 'totals', 'totals', 'clicks', 'clicks', 'visits', 'prices']

    process.holder(1).stands.set(1, { role: 'active', state: 'restoring', lag: 7 })
    expect(await codes()).toEqual(
      stores7.map((store) => ({
        code: 'STORE_NOT_AVAILABLE',
        context: {
          store,
          partition: 1,
          lag: 7,
          detail: 'partition 1 is being restored, 7 records are missing',
        },
        message: `The store ${store} is not available yet: partition 1 is being restored, 7 records are missing.`,
      })),
    )

    process.holder(1).tasks.delete(1)
    const gone = await codes()
    for (const at of [0, 3, 5, 6]) {
      expect(gone[at]).toMatchObject({
        code: 'STORE_MIGRATED',
        context: { store: stores7[at], partition: 1 },
      })
    }
    expect(gone[1]).toHaveLength(5)
    expect(gone[2]).toBe(5)
    expect(gone[4]).toHaveLength(15)

    main.hostsKnown = false
    expect(await outcome(() => process.store(totals).get('kafka'))).toMatchObject({
      code: 'STREAMS_REBALANCING',
    })
    main.availability = 'stopped'
    expect(await codes()).toMatchObject(stores7.map(() => ({ code: 'STREAMS_STOPPED' })))
  })

  test('answer from a copy those who allow it, and no further behind than that', async () => {
    const process = await filled()
    process.holder(1).stands.set(1, { role: 'standby', state: 'running', lag: 12 })
    const store = process.store(totals)
    const code = async (read: () => unknown): Promise<unknown> =>
      ((await outcome(read)) as { code?: unknown }).code ?? 'answered'
    expect(await code(() => store.get('kafka'))).toBe('STORE_MIGRATED')
    expect(await code(() => store.get('kafka', { consistency: 'any' }))).toBe('answered')
    expect(await code(() => store.get('kafka', { maxLag: 12 }))).toBe('answered')
    expect(await outcome(() => store.get('kafka', { maxLag: 11 }))).toMatchObject({
      code: 'STALE',
      context: { store: 'totals', partition: 1, lag: 12, maxLag: 11 },
    })
    expect(await code(() => process.store(windows).fetch('kafka', 0))).toBe('STORE_MIGRATED')
    expect(await process.store(windows).fetch('kafka', 0, { maxLag: 12 })).toEqual({ n: 0 })
    expect(await code(() => process.store(windows).fetch('kafka', 0, { maxLag: 3 }))).toBe('STALE')
    expect(await code(() => all(process.store(sessions).range({ maxLag: 3 })))).toBe('STALE')
    expect(await all(process.store(sessions).range())).toHaveLength(10)
    expect(await all(process.store(sessions).range({ consistency: 'any' }))).toHaveLength(16)
    const local = new LocalQuery(process.main, 'here:1')
    const page = { kind: 'page', store: 'totals', bounds: {}, limit: 9, maxLag: 20 } as const
    expect((await local.page(page)).meta).toMatchObject({ role: 'standby', lag: 12 })
    process.holder(1).stands.set(1, { role: 'standby', state: 'running', lag: undefined })
    expect(await code(() => store.get('kafka', { consistency: 'any' }))).toBe('STORE_NOT_AVAILABLE')
  })

  test('say how far each partition is', async () => {
    const process = await filled()
    process.holder(1).stands.set(1, { role: 'standby', state: 'running', lag: 12 })
    process.holder(2).tasks.delete(2)
    const statuses = await Promise.all(
      [0, 1, 2].map((partition) => statusHere(process.main, 'totals', partition)),
    )
    expect(statuses[0]).toMatchObject({ role: 'active', state: 'running', lag: 0 })
    expect(statuses[1]).toMatchObject({ role: 'standby', state: 'running', lag: 12 })
    expect(statuses[2]).toBe(undefined)
  })

  test('keep no bound where nobody knows how far they lag any more', async () => {
    const process = await filled()
    process.holder(1).stands.set(1, {
      role: 'standby',
      state: 'running',
      lag: 0,
      isCutOff: true,
    })
    const store = process.store(totals)
    expect(await store.get('kafka', { consistency: 'any' })).toEqual({ n: 0 })
    const bounded = [
      () => store.get('kafka', { maxLag: 1_000_000 }),
      () => all(store.range({ maxLag: 0 })),
      () => store.approximateEntryCount({ maxLag: 0 }),
      () => process.store(windows).fetch('kafka', 0, { maxLag: 0 }),
      () => all(process.store(sessions).range({ maxLag: 0 })),
    ]
    for (const read of bounded) {
      expect(await outcome(read)).toMatchObject({
        code: 'STORE_NOT_AVAILABLE',
        message: expect.stringContaining('cut off from its group') as string,
      })
    }
  })

  test('end a scan with an error when its store closes in the middle', async () => {
    const process = await filled()
    const held300 = process.of('a').of('a', 'clicks') as StampedWindowStore<unknown, unknown>
    for (let n = 0; n < 600; n += 1) held300.put('a', { n }, 10, n)
    const scan = process.store(windows).fetchRange('a', 0, Infinity)
    const failed = outcome(async () => {
      for await (const row of scan) if (row.length > 0) held300.close()
    })
    expect(await failed).toMatchObject({
      code: 'STORE_NOT_AVAILABLE',
      context: { store: 'clicks', detail: 'it is closed' },
    })
    expect(process.openIterators).toBe(0)
  })

  test('refuse what cannot be asked', async () => {
    const process = await filled()
    const other = keyValueStore('others', json)
    const signal = AbortSignal.abort()
    const codes = await Promise.all(
      [
        () => process.store(other).get('a'),
        () => process.store(totals).get(5 as never),
        () => process.store(windows).fetch(5 as never, 0),
        () => all(process.store(windows).range({ from: 5 as never })),
        () => all(process.store(totals).range({ from: 5 as never })),
        () => process.store(totals).get('a', { signal }),
        () => process.store(windows).fetch('a', 0, { signal }),
        () => all(process.store(windows).range({ signal })),
        () => process.store(totals).get('a', { maxLag: -1 }),
        () => process.store(keyValueStore('clicks', json)).get('a'),
        () => process.store(sessionStore('clicks', json)).fetchSession('a', 0, 0),
        () => all(process.store(windowStore('totals', json)).fetchRange('a', 0, 1)),
      ].map(async (read) => ((await outcome(read)) as { code: unknown }).code),
    )
    expect(codes).toEqual([
      'STORE_UNKNOWN',
      'KEY_INVALID',
      'KEY_INVALID',
      'KEY_INVALID',
      'KEY_INVALID',
      'ABORTED',
      'ABORTED',
      'ABORTED',
      'QUERY_INVALID',
      'QUERY_INVALID',
      'QUERY_INVALID',
      'QUERY_INVALID',
    ])
  })

  test.each([NaN, -1, 1.5, '5', null])('refuse %s rows of a scan', async (given) => {
    const process = await filled()
    const limit = given as number
    const scans = [
      () => process.store(totals).range({ limit }),
      () => process.store(totals).prefix(Buffer.from('b'), { limit }),
      () => process.store(windows).range({ limit }),
      () => process.store(windows).fetchRange('a', 0, 9, { limit }),
      () => process.store(sessions).range({ limit }),
      () => process.store(sessions).fetch('a', { limit }),
      () => process.store(sessions).findSessions('a', 0, 9, { limit }),
      () => process.store(versions).versions('a', 0, 9, { limit }),
    ]
    for (const scan of scans) {
      expect(await outcome(() => all<unknown>(scan()))).toMatchObject({
        code: 'QUERY_INVALID',
        message: expect.stringContaining('limit is a whole number of rows') as string,
      })
    }
    expect(process.openIterators).toBe(0)
  })

  test.each([NaN, '5', null, 5n])('refuse %s as a time', async (given) => {
    const process = await filled()
    const time = given as number
    const reads = [
      () => process.store(windows).fetch('a', time),
      () => all(process.store(windows).fetchRange('a', time, 9)),
      () => all(process.store(windows).fetchRange('a', 0, time)),
      () => process.store(windows).fetch('a', undefined as never),
      () => all(process.store(windows).range({ timeFrom: time })),
      () => all(process.store(windows).range({ timeTo: time })),
      () => process.store(sessions).fetchSession('a', time, 9),
      () => process.store(sessions).fetchSession('a', 0, time),
      () => all(process.store(sessions).findSessions('a', time, 9)),
      () => all(process.store(sessions).findSessions('a', 0, time)),
      () => process.store(versions).get('a', { asOf: time }),
      () => all(process.store(versions).versions('a', time, 9)),
      () => all(process.store(versions).versions('a', 0, time)),
    ]
    for (const read of reads) {
      expect(await outcome(read)).toMatchObject({
        code: 'QUERY_INVALID',
        message: expect.stringContaining('is a number of milliseconds') as string,
      })
    }
  })

  test('end a scan whose asker gives up', async () => {
    const process = await filled()
    const given = new AbortController()
    const failed = outcome(async () => {
      for await (const row of process.store(windows).range({ signal: given.signal })) {
        if (row.length > 0) given.abort()
      }
    })
    expect(await failed).toMatchObject({
      code: 'ABORTED',
      context: { what: 'an answer of the store clicks' },
    })
    await new ManualClock().settle()
    expect(process.openIterators).toBe(0)
  })
})
