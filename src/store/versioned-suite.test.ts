/** One suite for versioned stores over all engines. */
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
import { versionedStore } from './descriptor.ts'
import { noHeaders } from './state-store.ts'
import { buildStore } from './store-builder.ts'
import { TypedVersionedStore } from './typed-versioned-store.ts'
import type { PutVersion, VersionedRecord } from './versioned-store.ts'

interface LogRecord {
  readonly key: string
  readonly value: string | null
  readonly timestamp: number
}

/** Versions expire after so long. */
const historyRetention = 30_000
const segmentInterval = 10_000

class VersionedWorld {
  readonly log: LogRecord[] = []
  metrics = new StreamsMetrics()
  committedOffset = 0
  engine: KvEngine
  store: TypedVersionedStore<string, string>
  readonly #make: KvEngineFactory
  readonly #directory: string

  constructor(make: KvEngineFactory, directory: string) {
    this.#make = make
    this.#directory = directory
    this.engine = make(directory)
    this.store = this.#build()
  }

  #build(): TypedVersionedStore<string, string> {
    const descriptor = versionedStore('prices', {
      key: serdes.string,
      value: serdes.string,
      historyRetention,
      segmentInterval,
    })
    const store = buildStore(
      { descriptor, timestamped: true },
      {
        taskId: '0_0',
        partition: 0,
        record: { timestamp: 99, offset: 0, topic: 'in', partition: 0, headers: noHeaders },
        engine: () => this.engine,
        changelog: {
          write: (_store, key, value, timestamp) => {
            const text = value && value.toString()
            this.log.push({ key: key.toString(), value: text, timestamp })
          },
        },
        cacheBytesMax: 1_000_000,
        metrics: this.metrics,
      },
    )
    if (!(store instanceof TypedVersionedStore)) throw new Error('the store is versioned')
    return store as TypedVersionedStore<string, string>
  }

  commit(): void {
    this.store.flush()
    this.committedOffset = this.log.length
    this.store.committed(this.committedOffset)
  }

  /** The process dies, and another one takes the state over. */
  restart(): void {
    this.engine.close()
    this.engine = this.#make(this.#directory)
    this.metrics = new StreamsMetrics()
    this.store = this.#build()
    this.log.length = this.committedOffset
    this.restore()
  }

  restore(): void {
    for (const { key, value, timestamp } of this.log.slice(this.store.restoreOffset())) {
      const bytes = value === null ? null : Buffer.from(value)
      this.store.restore(Buffer.from(key), bytes, timestamp)
      bytes?.fill(0xff)
    }
    if (this.log.length > 0) this.store.restored(this.log.length - 1)
  }

  versions(
    key: string,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): VersionedRecord<string>[] {
    return [...this.store.versions(key, from, to, options)]
  }
}

/** What a versioned store should say, from all that was put, without segments. */
class VersionedModel {
  observedTime = -1
  readonly #versions = new Map<string, Map<number, string | undefined>>()

  put(key: string, value: string | undefined, timestamp: number): PutVersion {
    if (timestamp < this.observedTime - historyRetention) return 'not-put'
    this.observedTime = Math.max(this.observedTime, timestamp)
    const versions = this.#versions.get(key) ?? new Map<number, string | undefined>()
    this.#versions.set(key, versions.set(timestamp, value))
    const next = Math.min(...[...versions.keys()].filter((time) => time > timestamp))
    return next === Infinity ? undefined : next
  }

  /** There is a version of exactly that time. */
  has(key: string, timestamp: number): boolean {
    return this.#versions.get(key)?.get(timestamp) !== undefined
  }

  get(key: string, asOf: number): VersionedRecord<string> | undefined {
    const times = [...(this.#versions.get(key)?.keys() ?? [])].sort((a, b) => a - b)
    const index = times.findLastIndex((time) => time <= asOf)
    const timestamp = times[index]
    const value = timestamp === undefined ? undefined : this.#versions.get(key)?.get(timestamp)
    if (timestamp === undefined || value === undefined) return undefined
    const validTo = times[index + 1]
    if (validTo === undefined) return { value, timestamp }
    // Of what is older than the history, only the latest version is known.
    if (asOf < this.observedTime - historyRetention) return undefined
    return { value, timestamp, validTo }
  }
}

function inWorld(make: KvEngineFactory, work: (world: VersionedWorld) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-versions-'))
  const world = new VersionedWorld(make, directory)
  try {
    work(world)
  } finally {
    world.engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

const variants = [
  { engine: 'memory', make: memoryEngine },
  { engine: 'lmdb', make: lmdbEngine({ disk: systemDisk, clock: systemClock }) },
  ...rocksdbEngines.map((make) => ({ engine: 'rocksdb', make })),
]

describe.each(variants)('a versioned store over $engine', ({ make }) => {
  test('S10: puts late versions and deletions where they belong', () => {
    inWorld(make, ({ store }) => {
      const base = 10
      expect(store.put('k', undefined, base)).toBe(undefined)
      expect(store.put('k', 'v2', base - 2)).toBe(base)
      expect(store.put('k', 'v1', base - 1)).toBe(base)
      expect(store.put('k', 'v4', base - 4)).toBe(base - 2)
      expect(store.get('k')).toBe(undefined)
      expect(store.get('k', base)).toBe(undefined)
      expect(store.get('k', base - 1)).toEqual({ value: 'v1', timestamp: 9, validTo: 10 })
      expect(store.get('k', base - 2)).toEqual({ value: 'v2', timestamp: 8, validTo: 9 })
      expect(store.get('k', base - 3)).toEqual({ value: 'v4', timestamp: 6, validTo: 8 })
      expect(store.get('k', base - 5)).toBe(undefined)
    })
  })

  test('has the latest version for ever, older ones as long as the history', () => {
    inWorld(make, ({ store }) => {
      store.put('old', 'first', 0)
      store.put('k', 'a', 1_000)
      store.put('k', 'b', 5_000)
      expect(store.get('k', 3_000)).toEqual({ value: 'a', timestamp: 1_000, validTo: 5_000 })
      store.put('other', 'x', 34_000)
      expect(store.get('k', 3_999)).toBe(undefined)
      expect(store.get('k', 4_000)).toEqual({ value: 'a', timestamp: 1_000, validTo: 5_000 })
      store.put('other', 'y', 1_000_000)
      expect(store.get('k', 5_000)).toEqual({ value: 'b', timestamp: 5_000 })
      expect(store.get('k', 4_999)).toBe(undefined)
      expect(store.get('old')).toEqual({ value: 'first', timestamp: 0 })
    })
  })

  test('does not put what is older than the history, but counts and logs it', () => {
    inWorld(make, ({ store, metrics, log }) => {
      store.put('k', 'now', 100_000)
      expect(store.put('k', 'late', 69_999)).toBe('not-put')
      expect(store.put('k', 'just', 70_000)).toBe(100_000)
      expect(store.delete('k', 69_999)).toBe(undefined)
      expect(metrics.droppedRecords()).toEqual(new Map([['expired-version', 2]]))
      expect(log.map(({ value, timestamp }) => [value, timestamp])).toEqual([
        ['now', 100_000],
        ['late', 69_999],
        ['just', 70_000],
        [null, 69_999],
      ])
    })
  })

  test('a deletion says what it deleted', () => {
    inWorld(make, ({ store }) => {
      store.put('k', 'a', 10)
      store.put('k', 'b', 20)
      expect(store.delete('k', 15)).toEqual({ value: 'a', timestamp: 10, validTo: 20 })
      expect(store.get('k', 17)).toBe(undefined)
      expect(store.delete('k', 30)).toEqual({ value: 'b', timestamp: 20 })
      expect(store.get('k')).toBe(undefined)
      expect(store.get('k', 25)).toEqual({ value: 'b', timestamp: 20, validTo: 30 })
    })
  })

  test('a version at the time of another takes its place, also of a deletion', () => {
    inWorld(make, ({ store }) => {
      store.put('k', 'a', 10)
      store.put('k', undefined, 20)
      expect(store.put('k', 'b', 20)).toBe(undefined)
      expect(store.get('k')).toEqual({ value: 'b', timestamp: 20 })
      expect(store.get('k', 19)).toEqual({ value: 'a', timestamp: 10, validTo: 20 })
      expect(store.put('k', 'c', 10)).toBe(20)
      expect(store.get('k', 10)).toEqual({ value: 'c', timestamp: 10, validTo: 20 })
    })
  })

  test('a deletion at the very time of the only version leaves no trace, as in Kafka Streams', () => {
    inWorld(make, ({ store }) => {
      store.put('k', 'a', 60)
      store.put('k', undefined, 60)
      expect(store.get('k')).toBe(undefined)
      // It does not say any more that what comes late was deleted at 60.
      expect(store.put('k', 'late', 30)).toBe(undefined)
      expect(store.get('k')).toEqual({ value: 'late', timestamp: 30 })
    })
  })

  test('tells the versions of a stretch of time, over all segments', () => {
    inWorld(make, (world) => {
      const { store } = world
      for (const time of [1_000, 8_000, 12_000, 25_000]) store.put('k', `v${time}`, time)
      store.put('k', undefined, 20_000)
      const shown = (from: number, to: number, reverse = false): string[] =>
        world.versions('k', from, to, { reverse }).map(({ value }) => value)
      expect(shown(0, 30_000)).toEqual(['v25000', 'v12000', 'v8000', 'v1000'])
      expect(shown(0, 30_000, true)).toEqual(['v1000', 'v8000', 'v12000', 'v25000'])
      expect(shown(7_999, 12_000)).toEqual(['v12000', 'v8000', 'v1000'])
      expect(shown(8_000, 11_999)).toEqual(['v8000'])
      expect(shown(20_000, 24_999)).toEqual([])
      expect(world.versions('k', 12_000, 12_000)).toEqual([
        { value: 'v12000', timestamp: 12_000, validTo: 20_000 },
      ])
    })
  })

  test('what expires is not in the engine any more, once the commit is', () => {
    inWorld(make, (world) => {
      const { store, engine } = world
      store.put('k', 'a', 1_000)
      store.put('k', 'b', 2_000)
      world.commit()
      while (store.writeBehind());
      store.put('k', 'c', 90_000)
      // On disk, what the last commit saw stays until the next one.
      expect(engine.tableNames().includes('prices/10000/0')).toBe(engine.persistent)
      world.commit()
      while (store.writeBehind());
      const tables = engine.tableNames().filter((name) => name.startsWith('prices/'))
      expect(tables).toEqual(['prices/10000/-1', 'prices/10000/9'])
    })
  })

  test('a key that is null is refused', () => {
    inWorld(make, ({ store }) => {
      const nothing = null as unknown as string
      expect(() => store.put(nothing, 'a', 1)).toThrow('The key is not valid for the store prices')
      expect(() => store.get(nothing)).toThrow('it is null')
    })
  })

  const key = fc.constantFrom('a', 'b', 'ab')
  // Half of them meet: several versions at one time, and at the edges of segments.
  const time = fc.oneof(
    fc.nat(60_000),
    fc.nat(12).map((number) => number * 5_000),
  )
  const step = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant('put' as const),
        key,
        value: fc.option(fc.string({ maxLength: 3 }), { nil: undefined }),
        timestamp: time,
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('commit' as const) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('slices' as const), count: fc.nat(4) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  )

  test('survives anything: what it says is what was put', () => {
    const read = fc.record({ key, time })
    const property = fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.array(read, { minLength: 5, maxLength: 5 }),
      (steps, reads) => {
        inWorld(make, (world) => {
          let model = new VersionedModel()
          // A store that was opened anew has forgotten how late it is; what it must know, it knows.
          let isExact = true
          const check = (): void => {
            for (const { key, time } of reads) {
              if (!isExact && time < model.observedTime - historyRetention) continue
              expect(world.store.get(key, time)).toEqual(model.get(key, time))
            }
          }
          const put = ({ key, value, timestamp }: Put): void => {
            // See 'a deletion at the very time of the only version'.
            if (value === undefined && model.has(key, timestamp)) return
            const expected = model.put(key, value, timestamp)
            if (expected === 'not-put' && !isExact) return
            expect(world.store.put(key, value, timestamp)).toBe(expected)
          }
          for (const operation of steps) {
            if (operation.kind === 'put') put(operation)
            else if (operation.kind === 'commit') world.commit()
            else if (operation.kind === 'restart') {
              world.restart()
              isExact = false
              model = modelOf(world.log)
            } else {
              for (let slice = 0; slice < operation.count; slice += 1) world.store.writeBehind()
            }
          }
          check()
          world.commit()
          while (world.store.writeBehind()) check()
          check()
        })
      },
    )
    fc.assert(property, { numRuns: make === memoryEngine ? 500 : 100 })
  })
})

interface Put {
  readonly key: string
  readonly value: string | undefined
  readonly timestamp: number
}

function modelOf(log: readonly LogRecord[]): VersionedModel {
  const model = new VersionedModel()
  for (const { key, value, timestamp } of log) model.put(key, value ?? undefined, timestamp)
  return model
}
