/** A store of windows or sessions, and the world around it, for the tests of its ways to be built. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemDisk } from '../../src/base/disk.ts'
import type { KvEngine, KvEngineFactory } from '../../src/kv/kv.ts'
import { lmdbEngine } from '../../src/kv/lmdb-engine.ts'
import { memoryEngine } from '../../src/kv/memory-engine.ts'
import { StreamsMetrics } from '../../src/metrics/streams-metrics.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { sessionStore, windowStore } from '../../src/store/descriptor.ts'
import { noHeaders, type RecordContext } from '../../src/store/state-store.ts'
import { buildStore, type BuiltStore } from '../../src/store/store-builder.ts'
import { TypedSessionStore } from '../../src/store/typed-session-store.ts'
import { StampedWindowStore } from '../../src/store/typed-window-stores.ts'
import type { Windowed } from '../../src/store/windowed.ts'
import { rocksdbEngines } from './rocksdb.ts'

/** What a changelog topic has. */
interface LogRecord {
  readonly key: string
  readonly value: number | null
  readonly timestamp: number
}

/** A row as both kinds of stores have it. */
export type Row = readonly [key: string, start: number, end: number, value: number]

/** How the store is built. */
export interface Variant {
  readonly kind: 'windows' | 'sessions'
  readonly make: KvEngineFactory
  readonly caching: boolean
  readonly retention?: number
  readonly cacheBytesMax?: number
  /** Its operator emits what has closed. */
  readonly closes?: boolean
}

export const windowSize = 1_000
/** No row is ever too old. */
export const forEver = 100_000_000_000

/** What rows are asked for. */
export interface RangeOptions {
  readonly from?: string
  readonly to?: string
  readonly lowest?: number
  readonly highest?: number
  readonly reverse?: boolean
}

/** One store, and the world around it. Sessions and windows look alike: a key, a start, an end. */
export class WindowedWorld {
  readonly record: RecordContext = {
    timestamp: -1,
    offset: -1,
    topic: 'in',
    partition: 0,
    headers: noHeaders,
  }
  readonly log: LogRecord[] = []
  readonly forwarded: unknown[] = []
  metrics = new StreamsMetrics()
  committedOffset = 0
  engine: KvEngine
  store: StampedWindowStore<string, number> | TypedSessionStore<string, number>
  readonly #variant: Variant
  readonly directory: string

  constructor(variant: Variant, directory: string) {
    this.#variant = variant
    this.directory = directory
    this.engine = variant.make(directory)
    this.store = this.#build()
  }

  #build(): StampedWindowStore<string, number> | TypedSessionStore<string, number> {
    const { kind, caching, retention = forEver, cacheBytesMax = 1_000_000 } = this.#variant
    const { closes = false } = this.#variant
    const persistent = this.engine.persistent
    const common = { key: serdes.string, value: serdes.int, persistent, caching, retention }
    const descriptor =
      kind === 'windows' ? windowStore('w', { ...common, windowSize }) : sessionStore('w', common)
    const store: BuiltStore = buildStore(
      { descriptor, timestamped: kind === 'windows', timeOrdered: closes },
      {
        taskId: '0_0',
        partition: 0,
        record: this.record,
        engine: () => this.engine,
        changelog: {
          write: (_store, key, value, timestamp) => {
            const number = value && serdes.int.deserialize(value)
            this.log.push({ key: key.toString('latin1'), value: number, timestamp })
          },
        },
        cacheBytesMax,
        metrics: this.metrics,
      },
    )
    if (!(store instanceof StampedWindowStore || store instanceof TypedSessionStore)) {
      throw new Error('a windowed store was asked for')
    }
    store.setFlushListener(
      (key, value, old, timestamp) => {
        this.forwarded.push({ ...(key as object), value, old, timestamp })
      },
      { sendOldValues: true },
    )
    return store as StampedWindowStore<string, number> | TypedSessionStore<string, number>
  }

  put(key: string, start: number, end: number, value: number | undefined): void {
    this.record.offset += 1
    this.record.timestamp = end
    if (this.store instanceof StampedWindowStore) this.store.put(key, value, end, start)
    else this.store.put({ key, window: { start, end } }, value)
  }

  get(key: string, start: number, end: number): number | undefined {
    return this.store instanceof StampedWindowStore
      ? this.store.fetch(key, start)?.value
      : this.store.fetchSession(key, start, end)
  }

  /** Of one key: windows by their start, sessions that end at `lowest` or later and start at `highest`. */
  rowsOf(key: string, lowest: number, highest: number, reverse = false): Row[] {
    if (this.store instanceof StampedWindowStore) {
      const rows = this.store.fetchRange(key, lowest, highest, { reverse })
      return [...rows].map(([start, { value }]) => [key, start, start + windowSize, value])
    }
    return [...this.store.findSessions(key, lowest, highest, { reverse })].map(rowOf)
  }

  rows({ from, to, lowest = 0, highest = Infinity, reverse }: RangeOptions = {}): Row[] {
    const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
    if (this.store instanceof StampedWindowStore) {
      const times = { timeFrom: lowest, timeTo: highest, reverse: reverse === true }
      const rows = this.store.range({ ...range, ...times })
      return [...rows].map(([windowed, { value }]) => rowOf([windowed, value]))
    }
    const rows = this.store.findSessionsRange(range, lowest, highest, {
      reverse: reverse === true,
    })
    return [...rows].map(rowOf)
  }

  /** Rows whose time lies between, for who asks for none twice. */
  closed(from: number, to: number): Row[] {
    if (this.store instanceof StampedWindowStore) {
      const rows = this.store.closedWindows(from, to)
      return [...rows].map(([windowed, { value }]) => rowOf([windowed, value]))
    }
    return [...this.store.closedSessions(from, to)].map(rowOf)
  }

  commit(): void {
    this.store.flush()
    this.committedOffset = this.log.length
    this.store.committed(this.committedOffset)
  }

  writeAll(): void {
    while (this.store.writeBehind());
  }

  /** The process dies, and another one takes the state over. */
  restart(): void {
    this.engine.close()
    this.engine = this.#variant.make(this.directory)
    this.store = this.#build()
    this.log.length = this.committedOffset
  }

  restore(): void {
    for (const { key, value, timestamp } of this.log.slice(this.store.restoreOffset())) {
      const bytes = value === null ? null : Buffer.from(serdes.int.serialize(value))
      this.store.restore(Buffer.from(key, 'latin1'), bytes, timestamp)
      bytes?.fill(0xff)
    }
    if (this.log.length > 0) this.store.restored(this.log.length - 1)
  }

  tables(): string[] {
    return this.engine.tableNames().filter((name) => name.startsWith('w/'))
  }
}

function rowOf([{ key, window }, value]: [Windowed<string>, number]): Row {
  return [key, window.start, window.end, value]
}

/** Works in a new world, of which nothing is left. */
export function inWorld(variant: Variant, work: (world: WindowedWorld) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-windows-'))
  const world = new WindowedWorld(variant, directory)
  try {
    work(world)
    expect(world.metrics.openIterators.value).toBe(0)
    expect(world.engine.metrics().openIterators).toBe(0)
  } finally {
    world.engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** All engines that are there. */
export const windowedEngines = [
  { engine: 'memory', make: memoryEngine },
  { engine: 'lmdb', make: lmdbEngine({ disk: systemDisk, clock: systemClock }) },
  ...rocksdbEngines.map((make) => ({ engine: 'rocksdb', make })),
]
