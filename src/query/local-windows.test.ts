import { describe, expect, test } from 'vitest'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { partitionForKey } from '../protocol/murmur2.ts'
import { serdes } from '../serde/serdes.ts'
import {
  keyValueStore,
  sessionStore,
  versionedStore,
  windowStore,
  type AnyStore,
} from '../store/descriptor.ts'
import { noHeaders } from '../store/state-store.ts'
import { buildStore, type BuiltStore } from '../store/store-builder.ts'
import { TypedSessionStore } from '../store/typed-session-store.ts'
import { TypedVersionedStore } from '../store/typed-versioned-store.ts'
import { StampedWindowStore } from '../store/typed-window-stores.ts'
import { executorStore, localStore } from './executor-store.ts'
import { LocalQuery } from './local-query.ts'
import type {
  AnyStoreView,
  LocalPartition,
  QueryAvailability,
  QueryTarget,
} from './query-target.ts'

const partitionCount = 3
const json = { key: serdes.string, value: serdes.json<{ n: number }>() }
const windows = windowStore('clicks', { ...json, retention: 1_000_000, windowSize: 1_000 })
const sessions = sessionStore('visits', { ...json, retention: 1_000_000, caching: true })
const versions = versionedStore('prices', { ...json, historyRetention: 1_000_000 })

/** An instance with real stores, one for each partition that it holds. */
class Instance implements QueryTarget {
  availability: QueryAvailability = 'running'
  readonly hostsKnown = true
  readonly metrics = new StreamsMetrics()
  readonly stores = new Map<number, BuiltStore>()
  readonly restoring = new Set<number>()
  readonly #descriptor: AnyStore

  constructor(descriptor: AnyStore, held: readonly number[] = [0, 1, 2]) {
    this.#descriptor = descriptor
    for (const partition of held) this.stores.set(partition, this.#build())
  }

  #build(): BuiltStore {
    const engine = new MemoryEngine()
    return buildStore(
      { descriptor: this.#descriptor, timestamped: this.#descriptor.kind === 'window' },
      {
        taskId: '0_0',
        partition: 0,
        record: { timestamp: 5, offset: 0, topic: '', partition: 0, headers: noHeaders },
        engine: () => engine,
        changelog: { write: () => undefined },
        cacheBytesMax: 1_000_000,
        metrics: this.metrics,
      },
    )
  }

  of(key: string): BuiltStore {
    const partition = partitionForKey(Buffer.from(key), partitionCount)
    const store = this.stores.get(partition)
    if (store === undefined) throw new Error(`the partition of ${key} is not here`)
    return store
  }

  get storeNames(): string[] {
    return [this.#descriptor.name]
  }

  descriptor(name: string): AnyStore | undefined {
    return name === this.#descriptor.name ? this.#descriptor : undefined
  }

  isGlobal(): boolean {
    return false
  }

  partitionCount(): number {
    return partitionCount
  }

  local(_name: string, partition: number): LocalPartition | undefined {
    const store = this.stores.get(partition)
    if (store === undefined) return undefined
    const isRestoring = this.restoring.has(partition)
    const view = (store as { readView(): AnyStoreView }).readView()
    return {
      role: 'active',
      state: isRestoring ? 'restoring' : 'running',
      view: isRestoring ? undefined : view,
      lag: isRestoring ? 7 : 0,
      position: {},
    }
  }

  hosts(): { active: undefined; standby: [] } {
    return { active: undefined, standby: [] }
  }
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

describe('windows of this instance', () => {
  function clicks(held?: readonly number[]): Instance {
    const instance = new Instance(windows, held)
    for (const store of instance.stores.values()) {
      if (!(store instanceof StampedWindowStore)) throw new Error('windows were asked for')
    }
    return instance
  }

  function put(instance: Instance, key: string, start: number, n: number): void {
    ;(instance.of(key) as StampedWindowStore<unknown, unknown>).put(key, { n }, 10, start)
  }

  function filled(): Instance {
    const instance = clicks()
    for (const key of ['a', 'b', 'c', 'kafka', 'to']) {
      for (const start of [0, 1_000, 2_000]) put(instance, key, start, start / 1_000)
    }
    return instance
  }

  test('are found by key and start', async () => {
    const store = localStore(filled(), windows, 'here')
    expect(store.name).toBe('clicks')
    expect(await store.fetch('kafka', 1_000)).toEqual({ n: 1 })
    expect(await store.fetch('kafka', 5_000)).toBe(undefined)
    expect(await store.fetch('nobody', 0)).toBe(undefined)
  })

  test('of a key come in both directions, as many as are wanted', async () => {
    const instance = filled()
    const store = localStore(instance, windows, 'here')
    expect(await all(store.fetchRange('kafka', 1_000, 9_000))).toEqual([
      [1_000, { n: 1 }],
      [2_000, { n: 2 }],
    ])
    expect(await all(store.fetchRange('a', 0, Infinity, { reverse: true, limit: 1 }))).toEqual([
      [2_000, { n: 2 }],
    ])
    expect(instance.metrics.openIterators.value).toBe(0)
  })

  test('of all keys come from all partitions', async () => {
    const instance = filled()
    const store = localStore(instance, windows, 'here')
    const rows = await all(store.range({ from: 'b', to: 'kafka', timeFrom: 1_000, timeTo: 1_999 }))
    expect(rows.toSorted(([{ key: one }], [{ key: other }]) => (one < other ? -1 : 1))).toEqual(
      ['b', 'c', 'kafka'].map((key) => [{ key, window: { start: 1_000, end: 2_000 } }, { n: 1 }]),
    )
    expect(await all(store.range({ limit: 4 }))).toHaveLength(4)
    expect(instance.metrics.openIterators.value).toBe(0)
  })

  test('are values of the reader, not those that the task goes on to use', async () => {
    const instance = filled()
    const value = await localStore(instance, windows, 'here').fetch('a', 0)
    const live = (instance.of('a') as StampedWindowStore<unknown, unknown>).fetch('a', 0)
    expect(value).toEqual(live?.value)
    expect(value).not.toBe(live?.value)
  })

  test('a scan that is left is closed, and one whose store closes ends with an error', async () => {
    const instance = filled()
    const store = localStore(instance, windows, 'here')
    for await (const row of store.range()) if (row.length > 0) break
    expect(instance.metrics.openIterators.value).toBe(0)
    const scan = store.fetchRange('a', 0, Infinity)[Symbol.asyncIterator]()
    await scan.next()
    ;(instance.of('a') as StampedWindowStore<unknown, unknown>).close()
    await expect(scan.next()).rejects.toMatchObject({ code: 'STORE_NOT_AVAILABLE' })
  })

  test('are refused with the reason why they cannot be told', async () => {
    const instance = filled()
    const store = localStore(instance, windows, 'here')
    const code = async (read: () => unknown): Promise<unknown> => {
      try {
        return await read()
      } catch (error) {
        return (error as { code: string }).code
      }
    }
    instance.restoring.add(1)
    expect(await code(() => store.fetch('kafka', 0))).toBe('STORE_NOT_AVAILABLE')
    expect(await code(() => all(store.range()))).toBe('STORE_NOT_AVAILABLE')
    instance.stores.delete(1)
    expect(await code(() => store.fetch('kafka', 0))).toBe('STORE_MIGRATED')
    expect(await code(() => all(store.range()))).toHaveLength(6)
    expect(await code(() => store.fetch('a', 0, { signal: AbortSignal.abort() }))).toBe('ABORTED')
    expect(await code(() => store.fetch(5 as never, 0))).toBe('KEY_INVALID')
    instance.availability = 'stopped'
    expect(await code(() => store.fetch('a', 0))).toBe('STREAMS_STOPPED')
  })

  test('are not asked as another kind of store, nor another kind as windows', async () => {
    const asKeys = localStore(filled(), keyValueStore('clicks', json), 'here')
    await expect(asKeys.get('a')).rejects.toThrow('clicks is a window store')
    await expect(all(asKeys.range())).rejects.toMatchObject({ code: 'QUERY_INVALID' })
    const asSessions = localStore(filled(), sessionStore('clicks', json), 'here')
    await expect(asSessions.fetchSession('a', 0, 0)).rejects.toThrow(
      'clicks is a window store, it is asked as a session store',
    )
  })

  test('are asked only where they are: the whole application cannot be asked yet', () => {
    const executor = new LocalQuery(filled(), 'here')
    expect(() => executorStore(executor, windows)).toThrow('can only be asked in the process')
  })
})

test('sessions of this instance are found by key, bounds and time', async () => {
  const instance = new Instance(sessions)
  for (const key of ['a', 'kafka', 'to']) {
    const store = instance.of(key) as TypedSessionStore<unknown, unknown>
    store.put({ key, window: { start: 0, end: 10 } }, { n: 1 })
    store.put({ key, window: { start: 50, end: 60 } }, { n: 2 })
  }
  const store = localStore(instance, sessions, 'here')
  const second = [{ key: 'kafka', window: { start: 50, end: 60 } }, { n: 2 }]
  expect(await store.fetchSession('kafka', 50, 60)).toEqual({ n: 2 })
  expect(await store.fetchSession('kafka', 50, 61)).toBe(undefined)
  expect(await all(store.findSessions('kafka', 11, Infinity))).toEqual([second])
  expect((await all(store.fetch('kafka', { reverse: true })))[0]).toEqual(second)
  expect(await all(store.range({ from: 'b' }))).toHaveLength(4)
  expect(instance.metrics.openIterators.value).toBe(0)
})

test('versions of this instance are found by key and time', async () => {
  const instance = new Instance(versions)
  const held = instance.of('kafka') as TypedVersionedStore<unknown, unknown>
  held.put('kafka', { n: 1 }, 10)
  held.put('kafka', { n: 2 }, 20)
  const store = localStore(instance, versions, 'here')
  expect(await store.get('kafka')).toEqual({ value: { n: 2 }, timestamp: 20 })
  expect(await store.get('kafka', { asOf: 15 })).toEqual({
    value: { n: 1 },
    timestamp: 10,
    validTo: 20,
  })
  expect(await store.get('kafka', { asOf: 5 })).toBe(undefined)
  expect(await all(store.versions('kafka', 0, 15))).toEqual([
    { value: { n: 1 }, timestamp: 10, validTo: 20 },
  ])
  held.close()
  await expect(store.get('kafka')).rejects.toMatchObject({ code: 'STORE_NOT_AVAILABLE' })
})
