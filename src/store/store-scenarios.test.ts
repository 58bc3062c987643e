/** Public bugs of peers, as scenarios with exact right values, for stores of every engine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rocksdbEngines } from '../../test/peers/rocksdb.ts'
import { systemClock } from '../base/clock.ts'
import { systemDisk } from '../base/disk.ts'
import type { KvEngine, KvEngineFactory } from '../kv/kv.ts'
import { lmdbEngine } from '../kv/lmdb-engine.ts'
import { memoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { serdes } from '../serde/serdes.ts'
import {
  keyValueStore,
  sessionStore,
  windowStore,
  type AnyStore,
  type KeyValueStoreDescriptor,
  type SessionStoreDescriptor,
  type WindowStoreDescriptor,
} from './descriptor.ts'
import type { KeyValueStore } from './key-value-store.ts'
import type { SessionStore } from './session-store.ts'
import { noHeaders, type ChangelogWriter, type StateStore } from './state-store.ts'
import { buildStore } from './store-builder.ts'
import type { WindowStore } from './window-store.ts'

/** What the descriptor says, without timestamps. */
type StoreOf<D> =
  D extends WindowStoreDescriptor<infer K, infer V>
    ? WindowStore<K, V>
    : D extends SessionStoreDescriptor<infer K, infer V>
      ? SessionStore<K, V>
      : D extends KeyValueStoreDescriptor<infer K, infer V>
        ? KeyValueStore<K, V>
        : never

interface Home {
  readonly engine: KvEngine
  readonly changelog: ChangelogWriter
}

function open<D extends AnyStore>(
  descriptor: D,
  { engine, changelog }: Home,
): StoreOf<D> & StateStore {
  const store = buildStore(
    { descriptor, timestamped: false },
    {
      taskId: '0_0',
      partition: 0,
      record: { timestamp: 0, offset: 0, topic: 'in', partition: 0, headers: noHeaders },
      engine: () => engine,
      changelog,
      cacheBytesMax: 1_000_000,
      metrics: new StreamsMetrics(),
    },
  )
  return store as unknown as StoreOf<D> & StateStore
}

const silent: ChangelogWriter = { write: () => undefined }

function withEngine(make: KvEngineFactory, work: (engine: KvEngine) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-scenarios-'))
  const engine = make(directory)
  try {
    work(engine)
  } finally {
    engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

function withStore<D extends AnyStore>(
  make: KvEngineFactory,
  descriptor: D,
  work: (store: StoreOf<D> & StateStore) => void,
): void {
  withEngine(make, (engine) => work(open(descriptor, { engine, changelog: silent })))
}

const forEver = 100_000_000_000
const strings = { key: serdes.string, value: serdes.string }
const engines = [
  { engine: 'memory', make: memoryEngine },
  { engine: 'lmdb', make: lmdbEngine({ disk: systemDisk, clock: systemClock }) },
  ...rocksdbEngines.map((make) => ({ engine: 'rocksdb', make })),
]

describe.each(engines)('over $engine', ({ make }) => {
  const duplicates = windowStore('joined', {
    ...strings,
    retention: forEver,
    windowSize: 1_000,
    retainDuplicates: true,
    // KAFKA-9921: a cache would keep the last one only. It is ignored.
    caching: true,
  })

  test('S6: a store that retains duplicates keeps all, and a put of nothing deletes none', () => {
    withStore(make, duplicates, (store) => {
      const time = 5_000
      for (const value of ['zero', 'zero', 'zero+', 'zero++']) store.put('0', value, time)
      store.put('0', undefined, time)
      const values = [...store.fetchRange('0', time - 1_000, time + 1_000)]
      expect(values.map(([, value]) => value)).toEqual(['zero', 'zero', 'zero+', 'zero++'])
      expect(values.every(([start]) => start === time)).toBe(true)
      expect(store.fetch('0', time)).toBe('zero++')
    })
  })

  test('S5: duplicates survive a restore, and those that come later', () => {
    const records: { key: Buffer; value: Buffer | null }[] = []
    const changelog: ChangelogWriter = {
      write: (_store, key, value) => void records.push({ key, value }),
    }
    const values = ['a', 'b', 'c', 'd', 'e']
    withEngine(make, (engine) => {
      const store = open(duplicates, { engine, changelog })
      for (const value of values) store.put('k', value, 7)
    })
    withEngine(make, (engine) => {
      const store = open(duplicates, { engine, changelog })
      for (const { key, value } of records) store.restore(key, value, 0)
      store.restored(records.length - 1)
      expect([...store.fetchRange('k', 0, 10)].map(([, value]) => value)).toEqual(values)
      // Numbers begin anew; none of them takes the place of a row.
      store.put('k', 'f', 7)
      expect([...store.fetchRange('k', 0, 10)]).toHaveLength(6)
    })
    const logged = new Set(records.map(({ key }) => key.toString('hex')))
    expect(logged.size).toBe(6)
  })

  test('duplicates are numbered as in Kafka Streams, also a put of nothing', () => {
    const records: string[] = []
    const changelog: ChangelogWriter = {
      write: (_store, key, value) => {
        const number = key.readInt32BE(key.length - 4)
        records.push(`${number} ${value === null ? 'nothing' : value.toString()}`)
      },
    }
    withEngine(make, (engine) => {
      const store = open(duplicates, { engine, changelog })
      store.put('k', 'a', 7)
      store.put('other', 'b', 8)
      store.put('k', undefined, 7)
      store.put('k', 'c', 7)
    })
    expect(records).toEqual(['1 a', '2 b', '3 nothing', '4 c'])
  })

  test('S25: windows of keys that begin with each other do not mix', () => {
    const bytes = { key: serdes.bytes, value: serdes.string }
    const options = { retention: 120_000, windowSize: 60_000, retainDuplicates: true }
    withStore(make, windowStore('w', { ...bytes, ...options }), (store) => {
      const [key1, key2, key3] = [1, 2, 3].map((length) => Buffer.alloc(length)) as [
        Buffer,
        Buffer,
        Buffer,
      ]
      store.put(key1, '1', 0)
      store.put(key2, '2', 0)
      store.put(key3, '3', 0)
      store.put(key1, '4', 1)
      store.put(key2, '5', 1)
      store.put(key3, '6', 59_999)
      store.put(key1, '7', 59_999)
      store.put(key2, '8', 59_999)
      store.put(key3, '9', 59_999)
      const valuesOf = (key: Buffer): string[] =>
        [...store.fetchRange(key, 0, Infinity)].map(([, value]) => value)
      expect(valuesOf(key1)).toEqual(['1', '4', '7'])
      expect(valuesOf(key2)).toEqual(['2', '5', '8'])
      expect(valuesOf(key3)).toEqual(['3', '6', '9'])
    })
  })

  const sessions = (caching: boolean): SessionStoreDescriptor<string, number> =>
    sessionStore('s', { key: serdes.string, value: serdes.int, retention: forEver, caching })

  test.each([true, false])('S25: sessions of such keys do not mix, caching: %s', (caching) => {
    withStore(make, sessions(caching), (store) => {
      const far = Number.MAX_SAFE_INTEGER - 2
      store.put({ key: 'a', window: { start: 0, end: 0 } }, 1)
      store.put({ key: 'aa', window: { start: 0, end: 10 } }, 2)
      store.put({ key: 'a', window: { start: 10, end: 20 } }, 3)
      store.put({ key: 'aa', window: { start: 10, end: 20 } }, 4)
      const values = (rows: Iterable<[unknown, number]>): number[] =>
        [...rows].map(([, value]) => value).sort((a, b) => a - b)
      expect(values(store.findSessions('a', 0, far))).toEqual([1, 3])
      expect(values(store.findSessions('aa', 0, far))).toEqual([2, 4])
      expect(values(store.findSessionsRange({ from: 'a', to: 'aa' }, 0, far))).toEqual([1, 2, 3, 4])
      expect(values(store.findSessionsRange({ from: 'a', to: 'aa' }, 10, 0))).toEqual([2])
    })
  })

  test('S25: the furthest session of a key is found among all others', () => {
    withStore(make, sessions(false), (store) => {
      const far = Number.MAX_SAFE_INTEGER - 2
      store.put({ key: 'a', window: { start: far, end: far + 1 } }, 5)
      const rows = [...store.findSessions('a', 0, Infinity)]
      expect(rows).toEqual([[{ key: 'a', window: { start: far, end: far + 1 } }, 5]])
    })
  })

  test.each([true, false])(
    'S24: sessions come in order in both directions, caching: %s',
    (caching) => {
      withStore(make, sessions(caching), (store) => {
        store.put({ key: 'key-a', window: { start: 0, end: 500 } }, 4)
        store.put({ key: 'key-aa', window: { start: 0, end: 500 } }, 4)
        store.put({ key: 'key-b', window: { start: 1_500, end: 2_000 } }, 6)
        store.put({ key: 'key-bb', window: { start: 1_500, end: 2_000 } }, 6)
        const keys = (reverse: boolean): string[] =>
          [...store.range({ reverse })].map(([{ key }]) => key)
        expect(keys(false)).toEqual(['key-a', 'key-aa', 'key-b', 'key-bb'])
        expect(keys(true)).toEqual(['key-bb', 'key-b', 'key-aa', 'key-a'])
        const found = (reverse: boolean): string[] =>
          [...store.findSessionsRange({ from: 'key-a', to: 'key-bb' }, 0, 2_000, { reverse })].map(
            ([{ key }]) => key,
          )
        expect(found(false)).toEqual(['key-a', 'key-aa', 'key-b', 'key-bb'])
        expect(found(true)).toEqual(['key-bb', 'key-b', 'key-aa', 'key-a'])
      })
    },
  )

  test('S29: a range of signed numbers is empty, since -1 is behind 1 in bytes; orderedNumber has their order', () => {
    const keys = (rows: Iterable<[number, string]>): number[] => [...rows].map(([key]) => key)
    const signed = keyValueStore('n', { key: serdes.int, value: serdes.string })
    withStore(make, signed, (store) => {
      for (const key of [-1, 0, 1]) store.put(key, String(key))
      expect(keys(store.range({ from: -1, to: 1 }))).toEqual([])
      expect(keys(store.range({ from: 0, to: 1 }))).toEqual([0, 1])
      expect(keys(store.range())).toEqual([0, 1, -1])
    })
    const ordered = keyValueStore('o', { key: serdes.orderedNumber, value: serdes.string })
    withStore(make, ordered, (store) => {
      for (const key of [1, -2, 0, -1]) store.put(key, String(key))
      expect(keys(store.range({ from: -1, to: 1 }))).toEqual([-1, 0, 1])
      expect(keys(store.range())).toEqual([-2, -1, 0, 1])
    })
  })

  test('S30: a prefix finds what begins with it, also when it has no successor', () => {
    withStore(make, keyValueStore('p', strings), (store) => {
      for (const key of ['abc', 'abcd', 'abce']) store.put(key, key)
      const found = (prefix: string): string[] =>
        [...store.prefix(Buffer.from(prefix))].map(([key]) => key)
      expect(found('abcd')).toEqual(['abcd'])
      expect(found('abc')).toEqual(['abc', 'abcd', 'abce'])
      expect(found('')).toEqual(['abc', 'abcd', 'abce'])
    })
    withStore(make, keyValueStore('n', { key: serdes.long, value: serdes.string }), (store) => {
      const text = 'x' as unknown as Uint8Array
      expect(() => store.prefix(text)).toThrow(
        'The key is not valid for the store n: a prefix is bytes of serialized keys, a Uint8Array or Buffer, not "x".',
      )
    })
    const bytes = keyValueStore('b', { key: serdes.bytes, value: serdes.string })
    withStore(make, bytes, (store) => {
      store.put(Buffer.from([0xfe, 1]), 'other')
      store.put(Buffer.from([0xff, 1]), 'one')
      store.put(Buffer.from([0xff, 0xff]), 'two')
      const found = [...store.prefix(Buffer.from([0xff]))].map(([, value]) => value)
      expect(found).toEqual(['one', 'two'])
    })
  })

  test('a range whose bounds are keys finds the keys within, whatever their lengths', () => {
    withStore(
      make,
      windowStore('w', { ...strings, retention: Infinity, windowSize: 1_000 }),
      (store) => {
        const keys = ['', 'a', 'a\0', 'a\0\0', 'aa', 'b', 'b\0z', 'c']
        const times = [0, 257, 70_000, 2 ** 40]
        for (const key of keys) for (const time of times) store.put(key, 'x', time)
        for (const from of keys) {
          for (const to of keys) {
            const expected = keys.filter((key) => key >= from && key <= to)
            const found = new Set([...store.range({ from, to })].map(([{ key }]) => key))
            expect([...found].sort(), `from ${from} to ${to}`).toEqual(expected)
            expect([...store.range({ from, to, timeFrom: 257, timeTo: 70_000 })]).toHaveLength(
              expected.length * 2,
            )
          }
        }
      },
    )
  })
})
