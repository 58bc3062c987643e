/** A program is changed, and has another kind of store under the name of an old one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rocksdbEngines } from '../../test/peers/rocksdb.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'
import { systemClock } from '../base/clock.ts'
import { systemDisk } from '../base/disk.ts'
import type { KvEngine, KvEngineFactory } from '../kv/kv.ts'
import { lmdbEngine } from '../kv/lmdb-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, sessionStore, versionedStore, windowStore } from './descriptor.ts'
import { PlainKeyValueStore } from './plain-key-value-store.ts'
import { noHeaders, type StoreContext } from './state-store.ts'
import { buildStore, type BuiltStore } from './store-builder.ts'
import type { StoreToBuild } from './store-layers.ts'
import { TimestampedStore } from './timestamped-key-value-store.ts'
import { StampedWindowStore } from './typed-window-stores.ts'

const text = { key: serdes.string, value: serdes.string }
const keyValue = keyValueStore('s', text)
const kinds = {
  'key-value': { descriptor: keyValue, timestamped: false },
  'timestamped key-value': { descriptor: keyValue, timestamped: true },
  versioned: {
    descriptor: versionedStore('s', { ...text, historyRetention: 1_000 }),
    timestamped: false,
  },
  window: {
    descriptor: windowStore('s', { ...text, windowSize: 10, retention: 1_000 }),
    timestamped: false,
  },
  'timestamped window': {
    descriptor: windowStore('s', { ...text, windowSize: 10, retention: 1_000 }),
    timestamped: true,
  },
  'window, with duplicates': {
    descriptor: windowStore('s', {
      ...text,
      windowSize: 10,
      retention: 1_000,
      retainDuplicates: true,
    }),
    timestamped: false,
  },
  session: { descriptor: sessionStore('s', { ...text, retention: 1_000 }), timestamped: false },
  buffer: { descriptor: keyValue, timestamped: false, buffer: 'records' },
} satisfies Record<string, StoreToBuild>
type Kind = keyof typeof kinds

const withoutChangelog = (node: StoreToBuild): StoreToBuild => ({
  ...node,
  descriptor: { ...node.descriptor, changelog: false },
})

function open(engine: KvEngine, node: StoreToBuild): BuiltStore {
  const record = { timestamp: 5, offset: 1, topic: 'in', partition: 0, headers: noHeaders }
  const context: StoreContext = {
    taskId: '0_0',
    partition: 0,
    record,
    engine: () => engine,
    changelog: { write: () => undefined },
    cacheBytesMax: 0,
    metrics: new StreamsMetrics(),
  }
  return buildStore(node, context)
}

/** Puts a row, and commits it up to the offset 7 of the changelog. */
function fill(store: BuiltStore): void {
  if (store instanceof PlainKeyValueStore) store.put('a', 'row')
  else if (store instanceof TimestampedStore) store.put('a', 'row', 5)
  else if (store.restoreOffset() === 0) store.restored(6)
  store.flush()
  store.committed(7)
  while (store.writeBehind());
}

const engines: { name: string; make: KvEngineFactory }[] = [
  {
    name: 'LMDB',
    make: lmdbEngine({ disk: systemDisk, clock: systemClock }),
  },
  ...rocksdbEngines.map((make) => ({ name: 'RocksDB', make })),
]

describe.each(engines)('in $name', ({ make }) => {
  let directory: string
  let engine: KvEngine
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'millpond-layout-'))
    engine = make(directory)
  })
  afterEach(() => {
    engine.close()
    rmSync(directory, { recursive: true, force: true })
  })

  /** The store is closed, and the process begins again. */
  function restart(store: BuiltStore): void {
    store.close()
    engine.close()
    engine = make(directory)
  }

  test.each(Object.keys(kinds) as Kind[])('a %s store that stays one goes on', (kind) => {
    const store = open(engine, kinds[kind])
    fill(store)
    restart(store)
    const again = open(engine, kinds[kind])
    expect(again.restoreOffset()).toBe(7)
    again.close()
  })

  test.each<[Kind, Kind]>([
    ['key-value', 'timestamped key-value'],
    ['timestamped key-value', 'key-value'],
    ['key-value', 'versioned'],
    ['timestamped key-value', 'versioned'],
    ['window', 'timestamped window'],
    ['timestamped window', 'window'],
  ])('a %s store that becomes %s is restored from its changelog', (before, after) => {
    const store = open(engine, kinds[before])
    fill(store)
    restart(store)
    const changed = open(engine, kinds[after])
    expect(changed.restoreOffset()).toBe(0)
    expect(engine.table('s').approximateEntryCount()).toBe(0)
    changed.restored(3)
    restart(changed)
    const again = open(engine, kinds[after])
    expect(again.restoreOffset()).toBe(4)
    again.close()
  })

  test.each<[Kind, Kind]>([
    ['key-value', 'window'],
    ['versioned', 'timestamped key-value'],
    ['window', 'session'],
    ['window', 'window, with duplicates'],
    ['session', 'timestamped key-value'],
    ['buffer', 'key-value'],
  ])('a %s store that becomes %s is refused, and stays as it is', (before, after) => {
    const store = open(engine, kinds[before])
    fill(store)
    restart(store)
    expect(thrownBy(() => open(engine, kinds[after]))).toMatchObject({
      code: 'STORE_KIND_DIFFERS',
      context: { store: 's', found: before, kind: after },
    })
    const again = open(engine, kinds[before])
    expect(again.restoreOffset()).toBe(7)
    again.close()
  })

  test('a store without a changelog that gets timestamps keeps its rows, without a time', () => {
    const store = open(engine, withoutChangelog(kinds['key-value'])) as PlainKeyValueStore<
      unknown,
      unknown
    >
    store.put('a', 'row')
    store.put('b', '')
    store.committed(undefined)
    restart(store)
    const stamped = open(
      engine,
      withoutChangelog(kinds['timestamped key-value']),
    ) as TimestampedStore<unknown, unknown>
    expect(stamped.get('a')).toEqual({ value: 'row', timestamp: -1 })
    expect(stamped.get('b')).toEqual({ value: '', timestamp: -1 })
    restart(stamped)
    const plain = withoutChangelog(kinds['key-value'])
    expect(thrownBy(() => open(engine, plain)).code).toBe('STORE_KIND_DIFFERS')
  })

  test('a window store without a changelog that gets timestamps keeps its rows', () => {
    const store = open(engine, withoutChangelog(kinds.window))
    ;(store as unknown as { put(key: string, value: string, start: number): void }).put(
      'a',
      'row',
      30,
    )
    store.committed(undefined)
    restart(store)
    const stamped = open(engine, withoutChangelog(kinds['timestamped window']))
    expect((stamped as StampedWindowStore<string, string>).fetch('a', 30)).toEqual({
      value: 'row',
      timestamp: -1,
    })
    stamped.close()
  })

  test('what a crash left of rows that were being dropped is dropped', () => {
    const store = open(engine, kinds['key-value'])
    fill(store)
    engine.table('__layouts').put(Buffer.from('s'), Buffer.from('dropping'))
    restart(store)
    const again = open(engine, kinds['timestamped key-value']) as TimestampedStore<unknown, unknown>
    expect(again.get('a')).toBeUndefined()
    expect(again.restoreOffset()).toBe(0)
    again.close()
  })
})
