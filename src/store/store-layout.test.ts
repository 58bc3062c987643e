/** A program is changed, and has another kind of store under the name of an old one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rocksdbEngines } from '../../test/peers/rocksdb.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'
import { systemClock } from '../base/clock.ts'
import { systemDisk } from '../base/disk.ts'
import { StreamsError } from '../errors.ts'
import type { KvEngine, KvEngineFactory } from '../kv/kv.ts'
import { lmdbEngine } from '../kv/lmdb-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, sessionStore, versionedStore, windowStore } from './descriptor.ts'
import { PlainKeyValueStore } from './plain-key-value-store.ts'
import { noHeaders, type StoreContext } from './state-store.ts'
import { changeLayout } from './store-layout.ts'
import { buildStore, type BuiltStore } from './store-builder.ts'
import type { StoreToBuild } from './store-layers.ts'
import { TimestampedStore } from './timestamped-key-value-store.ts'
import type { PlainWindowStore, StampedWindowStore } from './typed-window-stores.ts'

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

/** Some of them make a slice. */
const large = 'x'.repeat(25_000)
const plain = withoutChangelog(kinds['key-value'])
const stamped = withoutChangelog(kinds['timestamped key-value'])
const rowNames = Array.from({ length: 10 }, (_, at) => `k${at}`)

function fillPlain(engine: KvEngine): BuiltStore {
  const store = open(engine, plain) as PlainKeyValueStore<unknown, unknown>
  for (const name of rowNames) store.put(name, name + large)
  store.committed(undefined)
  while (store.writeBehind());
  return store
}

/** Of a store with timestamps. */
function rowsOf(store: BuiltStore): unknown[] {
  return rowNames.map((name) => (store as TimestampedStore<string, string>).get(name))
}

const allStamped = rowNames.map((name) => ({ value: name + large, timestamp: -1 }))

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
    const store = open(engine, plain) as PlainKeyValueStore<unknown, unknown>
    store.put('a', 'row')
    store.put('b', '')
    store.committed(undefined)
    restart(store)
    const changed = open(engine, stamped) as TimestampedStore<unknown, unknown>
    expect(changed.get('a')).toEqual({ value: 'row', timestamp: -1 })
    expect(changed.get('b')).toEqual({ value: '', timestamp: -1 })
    restart(changed)
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
    const changed = open(engine, withoutChangelog(kinds['timestamped window']))
    expect((changed as StampedWindowStore<string, string>).fetch('a', 30)).toEqual({
      value: 'row',
      timestamp: -1,
    })
    changed.close()
  })

  test.each([1, 2, 3])(
    'rows get timestamps in slices, of which a crash leaves whole ones: after %i',
    (done) => {
      restart(fillPlain(engine))
      for (let slice = 0; slice < done; slice += 1) expect(changeLayout(engine, stamped)).toBe(true)
      engine.close()
      engine = make(directory)
      const store = open(engine, stamped)
      expect(rowsOf(store)).toEqual(allStamped)
      expect(changeLayout(engine, stamped)).toBe(false)
      restart(store)
      const again = open(engine, stamped)
      expect(rowsOf(again)).toEqual(allStamped)
      again.close()
    },
  )

  test('no slice has much more than its share of the rows', () => {
    restart(fillPlain(engine))
    let slices = 1
    while (changeLayout(engine, stamped)) slices += 1
    // Three of 25 kB are as much as a slice is to have.
    expect(slices).toBe(4)
  })

  test('a slice that cannot be written leaves what there was', () => {
    restart(fillPlain(engine))
    expect(changeLayout(engine, stamped)).toBe(true)
    const mark = engine.table('__layouts').get(Buffer.from('s'))?.toString()
    const failing = Object.create(engine, {
      batch: {
        value: () => {
          const batch = engine.batch()
          return {
            put: batch.put.bind(batch),
            commit: () => {
              throw new StreamsError('DISK_FAILED', { path: directory, detail: 'ENOSPC' })
            },
          }
        },
      },
      table: { value: engine.table.bind(engine) },
      tableNames: { value: engine.tableNames.bind(engine) },
    }) as KvEngine
    expect(thrownBy(() => changeLayout(failing, stamped)).code).toBe('DISK_FAILED')
    expect(engine.table('__layouts').get(Buffer.from('s'))?.toString()).toBe(mark)
    const store = open(engine, stamped)
    expect(rowsOf(store)).toEqual(allStamped)
    store.close()
  })

  test('windows get timestamps in slices, segment by segment', () => {
    const { descriptor } = kinds.window
    const long = { ...descriptor, changelog: false, retention: 600_000 } as const
    const store = open(engine, { descriptor: long, timestamped: false })
    // In three segments.
    const starts = [0, 1, 300_001, 300_002, 300_003, 300_004, 600_001, 600_002]
    for (const start of starts) (store as PlainWindowStore<string, string>).put('a', large, start)
    store.committed(undefined)
    while (store.writeBehind());
    restart(store)
    const after = { descriptor: long, timestamped: true }
    for (;;) {
      const isMore = changeLayout(engine, after)
      engine.close()
      engine = make(directory)
      if (!isMore) break
    }
    const changed = open(engine, after) as StampedWindowStore<string, string>
    const found = starts.map((start) => changed.fetch('a', start))
    expect(found).toEqual(starts.map(() => ({ value: large, timestamp: -1 })))
    changed.close()
  })

  test('with rows that partly have timestamps, a store of the old kind is refused', () => {
    restart(fillPlain(engine))
    changeLayout(engine, stamped)
    expect(thrownBy(() => open(engine, plain)).code).toBe('STORE_KIND_DIFFERS')
    const store = open(engine, stamped)
    expect(rowsOf(store)).toEqual(allStamped)
    store.close()
  })

  test('rows that partly have timestamps are kept when the store gets a changelog as well', () => {
    restart(fillPlain(engine))
    changeLayout(engine, stamped)
    const store = open(engine, kinds['timestamped key-value'])
    expect(rowsOf(store)).toEqual(allStamped)
    store.close()
  })

  test('rows that partly have timestamps are dropped for a kind that its changelog restores', () => {
    restart(fillPlain(engine))
    changeLayout(engine, stamped)
    const store = open(engine, kinds.versioned)
    expect(engine.table('s').approximateEntryCount()).toBe(0)
    store.close()
  })

  test.each([
    ['cut', (mark: string) => mark.slice(0, -3)],
    ['without a key', (mark: string) => JSON.stringify({ ...JSON.parse(mark), after: undefined })],
    ['with half a key', (mark: string) => JSON.stringify({ ...JSON.parse(mark), after: 'azI*' })],
    ['with another table', (mark: string) => JSON.stringify({ ...JSON.parse(mark), table: 's/1' })],
    ['with numbers', (mark: string) => JSON.stringify({ ...JSON.parse(mark), table: 5 })],
    ['of nothing', () => '{}'],
    ['that is null', () => 'null'],
  ])('a mark that is damaged is refused, and nothing is changed: %s', (_, damage) => {
    restart(fillPlain(engine))
    changeLayout(engine, stamped)
    const layouts = engine.table('__layouts')
    const mark = layouts.get(Buffer.from('s'))?.toString() ?? ''
    const damaged = damage(mark)
    layouts.put(Buffer.from('s'), Buffer.from(damaged))
    expect(thrownBy(() => open(engine, stamped))).toMatchObject({
      code: 'STORE_KIND_DIFFERS',
      context: { store: 's', found: damaged },
    })
    expect(layouts.get(Buffer.from('s'))?.toString()).toBe(damaged)
    layouts.put(Buffer.from('s'), Buffer.from(mark))
    const store = open(engine, stamped)
    expect(rowsOf(store)).toEqual(allStamped)
    store.close()
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
