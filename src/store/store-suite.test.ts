/** One suite for every way in which a key-value store is built. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rocksdbEngines } from '../../test/peers/rocksdb.ts'
import { systemClock } from '../base/clock.ts'
import { systemDisk } from '../base/disk.ts'
import type { KvEngine, KvEngineFactory } from '../kv/kv.ts'
import { lmdbEngine } from '../kv/lmdb-engine.ts'
import { memoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from './descriptor.ts'
import { PlainKeyValueStore } from './plain-key-value-store.ts'
import { noHeaders, type RecordContext } from './state-store.ts'
import { buildStore, type BuiltKeyValueStore } from './store-builder.ts'
import { timestampedFormat } from './stored-value.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

type Row = readonly [key: string, value: number, timestamp: number]

/** What a changelog topic has. */
interface LogRecord {
  readonly key: string
  readonly value: number | null
  readonly timestamp: number
}

/** What a store tells the steps below. */
interface Forwarded extends LogRecord {
  readonly old: number | undefined
}

interface Variant {
  readonly make: KvEngineFactory
  readonly caching: boolean
  readonly timestamped: boolean
  /** Small enough for entries to be evicted all the time. */
  readonly cacheBytesMax?: number
}

/** One store, the world around it, and what is known to be right. */
class StoreWorld {
  readonly record: RecordContext = {
    timestamp: -1,
    offset: -1,
    topic: 'in',
    partition: 0,
    headers: noHeaders,
  }
  readonly log: LogRecord[] = []
  readonly forwarded: Forwarded[] = []
  readonly model = new Map<string, { value: number; timestamp: number }>()
  /** The length of the changelog at the last commit. */
  committedOffset = 0
  engine: KvEngine
  store: BuiltKeyValueStore
  readonly #variant: Variant
  readonly #directory: string

  constructor(variant: Variant, directory: string) {
    this.#variant = variant
    this.#directory = directory
    this.engine = variant.make(directory)
    this.store = this.#build()
  }

  #build(): BuiltKeyValueStore {
    const { caching, timestamped, cacheBytesMax = 1_000_000 } = this.#variant
    const descriptor = keyValueStore('counts', { key: serdes.string, value: serdes.int, caching })
    const store = buildStore(
      { descriptor, timestamped },
      {
        taskId: '0_0',
        partition: 0,
        record: this.record,
        engine: () => this.engine,
        changelog: {
          write: (_store, key, value, timestamp) => {
            const number = value && serdes.int.deserialize(value)
            this.log.push({ key: key.toString(), value: number, timestamp })
          },
        },
        cacheBytesMax,
        metrics: new StreamsMetrics(),
      },
    )
    store.setFlushListener(
      (key, value, old, timestamp) => {
        this.forwarded.push({
          key: key as string,
          value: (value ?? null) as number | null,
          old: old as number | undefined,
          timestamp,
        })
      },
      { sendOldValues: true },
    )
    return store
  }

  put(key: string, value: number | undefined, timestamp: number): void {
    this.record.timestamp = timestamp
    this.record.offset += 1
    if (!(this.store instanceof PlainKeyValueStore)) this.store.put(key, value, timestamp)
    else if (value === undefined) this.store.delete(key)
    else this.store.put(key, value)
    if (value === undefined) this.model.delete(key)
    else this.model.set(key, { value, timestamp: this.#variant.timestamped ? timestamp : -1 })
  }

  get(key: string): { value: number; timestamp: number } | undefined {
    const { store } = this
    if (store instanceof PlainKeyValueStore) {
      const value = store.get(key) as number | undefined
      return value === undefined ? undefined : { value, timestamp: -1 }
    }
    const found = store.get(key)
    return found && { value: found.value as number, timestamp: found.timestamp }
  }

  commit(): void {
    this.store.flush()
    this.committedOffset = this.log.length
    this.store.committed(this.committedOffset)
  }

  /** Rows as the store shows them, by its own range. */
  rows(options?: { from?: string; to?: string; reverse?: boolean }): Row[] {
    const { store } = this
    if (store instanceof PlainKeyValueStore) {
      return [...store.range(options)].map(([key, value]) => [key as string, value as number, -1])
    }
    return [...store.range(options)].map(([key, { value, timestamp }]) => [
      key as string,
      value as number,
      timestamp,
    ])
  }

  /** The process dies, and another one takes the state over. */
  restart(): void {
    this.engine.close()
    this.engine = this.#variant.make(this.#directory)
    this.store = this.#build()
    // What was not committed is processed again by others; here it is forgotten.
    this.log.length = this.committedOffset
    this.model.clear()
    for (const [key, row] of this.replay(this.log.length)) this.model.set(key, row)
  }

  /** The state that the changelog gives up to an offset. */
  replay(offset: number): Map<string, { value: number; timestamp: number }> {
    const state = new Map<string, { value: number; timestamp: number }>()
    for (const { key, value, timestamp } of this.log.slice(0, offset)) {
      if (value === null) state.delete(key)
      else state.set(key, { value, timestamp: this.#variant.timestamped ? timestamp : -1 })
    }
    return state
  }

  restore(): void {
    for (const { key, value, timestamp } of this.log.slice(this.store.restoreOffset())) {
      const bytes = value === null ? null : Buffer.from(serdes.int.serialize(value))
      this.store.restore(Buffer.from(key), bytes, timestamp)
      bytes?.fill(0xff)
    }
    if (this.log.length > 0) this.store.restored(this.log.length - 1)
  }

  /** Rows of the engine alone. */
  engineRows(): Row[] {
    return [...this.engine.table('counts').range()].map(({ key, value }) => {
      if (!this.#variant.timestamped) return [key.toString(), value.readInt32BE(), -1]
      const stored = timestampedFormat.decode(value)
      return [key.toString(), stored.value.readInt32BE(), stored.timestamp]
    })
  }
}

function modelRows(
  model: ReadonlyMap<string, { value: number; timestamp: number }>,
  options: { from?: string; to?: string; reverse?: boolean } = {},
): Row[] {
  const { from, to, reverse } = options
  const rows = [...model]
    .filter(([key]) => from === undefined || key >= from)
    .filter(([key]) => to === undefined || key <= to)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { value, timestamp }]): Row => [key, value, timestamp])
  return reverse === true ? rows.reverse() : rows
}

function inWorld(variant: Variant, work: (world: StoreWorld) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-store-'))
  const world = new StoreWorld(variant, directory)
  try {
    work(world)
  } finally {
    world.engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

// What may happen to a store, in any order.

const key = fc.nat(19).map((number) => `key-${String(number).padStart(2, '0')}`)
const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      key,
      value: fc.option(fc.nat(1000), { nil: undefined }),
      timestamp: fc.nat(1000),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('get' as const), key }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rows' as const),
      range: fc.record({ from: key, to: key, reverse: fc.boolean() }, { requiredKeys: [] }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('flush' as const, 'commit' as const) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('slices' as const), count: fc.nat(4) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
)

/** What was seen, and what should have been. */
interface Observation {
  readonly got: unknown
  readonly expected: unknown
}

function apply(
  operation: typeof step extends fc.Arbitrary<infer T> ? T : never,
  world: StoreWorld,
): Observation[] {
  switch (operation.kind) {
    case 'put':
      world.put(operation.key, operation.value, operation.timestamp)
      return []
    case 'get':
      return [{ got: world.get(operation.key), expected: world.model.get(operation.key) }]
    case 'rows': {
      const { range } = operation
      return [{ got: world.rows(range), expected: modelRows(world.model, range) }]
    }
    case 'flush':
      world.store.flush()
      return []
    case 'commit':
      world.commit()
      return []
    case 'slices':
      for (let slice = 0; slice < operation.count; slice += 1) world.store.writeBehind()
      return []
    case 'restart':
      return restart(world)
    default:
      return operation satisfies never
  }
}

function restart(world: StoreWorld): Observation[] {
  world.restart()
  // The engine holds a committed state: exactly what its offset says.
  const offset = world.store.restoreOffset()
  const engine = { got: world.engineRows(), expected: modelRows(world.replay(offset)) }
  const ahead = { got: offset > world.committedOffset, expected: false }
  world.restore()
  return [engine, ahead, { got: world.rows(), expected: modelRows(world.model) }]
}

const lmdb = lmdbEngine({ disk: systemDisk, clock: systemClock })
const variants = [
  { engine: 'memory', make: memoryEngine },
  { engine: 'lmdb', make: lmdb },
  ...rocksdbEngines.map((make) => ({ engine: 'rocksdb', make })),
].flatMap(({ engine, make }) =>
  [true, false].flatMap((caching) =>
    [true, false].map((timestamped) => ({
      name: `${timestamped ? 'timestamped' : 'plain'} store, ${caching ? 'cached' : 'uncached'}, over ${engine}`,
      make,
      caching,
      timestamped,
    })),
  ),
)

describe.each(variants)('a $name', (variant) => {
  test('shows what was put, before and after flush, commit and write-behind', () => {
    inWorld(variant, (world) => {
      const check = (): void => {
        expect(world.get('a')).toEqual(world.model.get('a'))
        expect(world.get('b')).toBeUndefined()
        expect(world.rows()).toEqual(modelRows(world.model))
      }
      world.put('a', 1, 10)
      world.put('b', 2, 11)
      world.put('c', 3, 12)
      world.put('b', undefined, 13)
      check()
      world.store.flush()
      check()
      world.commit()
      check()
      while (world.store.writeBehind()) check()
      check()
      expect(world.engineRows()).toEqual(modelRows(world.model))
    })
  })

  test('writes the changelog: values alone, timestamps on the records, null for a delete', () => {
    inWorld(variant, (world) => {
      world.put('a', 1, 10)
      world.store.flush()
      world.put('a', undefined, 20)
      world.store.flush()
      expect(world.log).toEqual([
        { key: 'a', value: 1, timestamp: 10 },
        { key: 'a', value: null, timestamp: 20 },
      ])
    })
  })

  test('counts its rows', () => {
    inWorld(variant, (world) => {
      for (const key of ['a', 'b', 'c']) world.put(key, 1, 1)
      world.commit()
      expect(world.store.approximateEntryCount()).toBe(3)
      while (world.store.writeBehind());
      expect(world.store.approximateEntryCount()).toBe(3)
    })
  })

  test('finds rows by the first bytes of their keys', () => {
    inWorld(variant, (world) => {
      for (const key of ['ab', 'a', 'b', 'abc', 'ac']) world.put(key, 1, 1)
      const keys = (options?: { reverse?: boolean }): unknown[] =>
        [...world.store.prefix(Buffer.from('ab'), options)].map(([key]) => key)
      expect(keys()).toEqual(['ab', 'abc'])
      expect(keys({ reverse: true })).toEqual(['abc', 'ab'])
      world.commit()
      while (world.store.writeBehind());
      world.put('abb', 1, 1)
      world.put('abc', undefined, 1)
      expect(keys()).toEqual(['ab', 'abb'])
    })
  })

  test('a scan goes on as it began, whatever is written, flushed and evicted', () => {
    inWorld(variant, (world) => {
      for (const key of ['a', 'b', 'c', 'd']) world.put(key, 1, 1)
      world.commit()
      while (world.store.writeBehind());
      world.put('b', 2, 2)
      world.put('e', 5, 5)
      const expected = modelRows(world.model).map(([key, value]) => [key, value])
      using scan = world.store.readView().range()
      const seen = [scan.next().value]
      world.put('a', 9, 9)
      world.put('b', 9, 9)
      world.put('bb', 9, 9)
      world.put('c', undefined, 9)
      world.commit()
      seen.push(scan.next().value)
      world.put('e', 10, 10)
      while (world.store.writeBehind());
      world.put('e', undefined, 11)
      expect([...seen, ...scan]).toEqual(expected)
      expect(world.rows()).toEqual(modelRows(world.model))
    })
  })

  test('a scan that is left ends its readers', () => {
    inWorld(variant, (world) => {
      for (const key of ['a', 'b']) world.put(key, 1, 1)
      world.commit()
      while (world.store.writeBehind());
      world.put('c', 1, 1)
      for (const [key] of world.store.range()) if (key === 'a') break
      const iterator = world.store.range()
      iterator.next()
      iterator[Symbol.dispose]()
      expect(iterator.next()).toEqual({ done: true, value: undefined })
      expect(world.engine.metrics().openIterators).toBe(0)
    })
  })

  test('a key that is null is refused', () => {
    inWorld(variant, (world) => {
      const put = (): void => world.put(null as unknown as string, 1, 1)
      expect(put).toThrow('The key is not valid for the store counts: it is null.')
      expect(() => world.get(undefined as unknown as string)).toThrow('it is undefined')
    })
  })

  test('a value that the serde refuses names the store', () => {
    const work = (): void =>
      inWorld(variant, (world) => {
        world.put('a', 1.5, 1)
        world.store.flush()
      })
    expect(work).toThrow('The serde int could not serialize a value: 1.5 is not a whole number')
    expect(thrownBy(work).context).toMatchObject({ store: 'counts', serde: 'int' })
  })

  test('survives anything: model, changelog, engine and listener agree', () => {
    const steps = fc.array(step, { maxLength: 80 })
    const property = fc.property(
      steps,
      fc.constantFrom(2_000, 1_000_000),
      (operations, cacheBytesMax) => {
        inWorld({ ...variant, cacheBytesMax }, (world) => {
          for (const operation of operations) {
            for (const { got, expected } of apply(operation, world)) expect(got).toEqual(expected)
          }
          expect(world.rows()).toEqual(modelRows(world.model))
          world.commit()
          expect(modelRows(world.replay(world.log.length))).toEqual(modelRows(world.model))
          while (world.store.writeBehind());
          expect(world.store.dirtyBytes()).toBe(0)
          expect(world.engineRows()).toEqual(modelRows(world.model))
          expect(world.store.restoreOffset()).toBe(world.log.length)
        })
      },
    )
    fc.assert(property, { numRuns: variant.make === memoryEngine ? 100 : 30, seed: 20_261_129 })
  })

  test('close keeps what is committed, and forgets the rest', () => {
    inWorld(variant, (world) => {
      world.put('a', 1, 1)
      world.commit()
      world.put('b', 2, 2)
      world.store.flush()
      world.store.close()
      world.store.close()
      expect(world.store.dirtyBytes()).toBe(0)
      expect(world.store.memoryBytes()).toBe(0)
      const rows = world.engineRows().map(([key]) => key)
      // An engine in memory goes with its task; it holds back nothing.
      expect(rows).toEqual(world.engine.persistent ? ['a'] : ['a', 'b'])
    })
  })
})

test('the listener of a cached store hears each change once, with what it replaces', () => {
  inWorld({ make: memoryEngine, caching: true, timestamped: true }, (world) => {
    world.put('a', 1, 1)
    world.put('a', 2, 2)
    world.put('b', 3, 3)
    world.store.flush()
    world.put('a', undefined, 4)
    world.store.flush()
    expect(world.forwarded).toEqual([
      { key: 'a', value: 2, old: undefined, timestamp: 2 },
      { key: 'b', value: 3, old: undefined, timestamp: 3 },
      { key: 'a', value: null, old: 2, timestamp: 4 },
    ])
  })
})

test('the listener of an uncached store is never called', () => {
  inWorld({ make: memoryEngine, caching: false, timestamped: true }, (world) => {
    expect(world.store.setFlushListener(() => undefined, { sendOldValues: false })).toBe(false)
    world.put('a', 1, 1)
    world.store.flush()
    expect(world.forwarded).toEqual([])
  })
})

test('a task without bytes for caches has uncached stores', () => {
  const variant = { make: memoryEngine, caching: true, timestamped: true, cacheBytesMax: 0 }
  inWorld(variant, (world) => {
    world.put('a', 1, 1)
    expect(world.log).toEqual([{ key: 'a', value: 1, timestamp: 1 }])
  })
})
