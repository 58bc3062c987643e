/**
 * The store alone: a count as the DSL makes it, without I/O to a broker. Prints one JSON line for each
 * figure. `npx tsx bench/store.ts [--quick]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { systemDisk } from '../src/base/disk.ts'
import { seededRandom } from '../src/base/random.ts'
import type { KvEngine, KvEngineFactory } from '../src/kv/kv.ts'
import { lmdbEngine } from '../src/kv/lmdb-engine.ts'
import { memoryEngine } from '../src/kv/memory-engine.ts'
import { StreamsMetrics } from '../src/metrics/streams-metrics.ts'
import { serdes } from '../src/serde/serdes.ts'
import { keyValueStore } from '../src/store/descriptor.ts'
import { noHeaders, type RecordContext } from '../src/store/state-store.ts'
import { buildStore } from '../src/store/store-builder.ts'
import { TimestampedStore } from '../src/store/timestamped-key-value-store.ts'
import { rocksdbEngines } from '../test/peers/rocksdb.ts'

const isQuick = process.argv.includes('--quick')
const keyCount = 100_000
const updateCount = isQuick ? 1_000_000 : 20_000_000
const rounds = isQuick ? 1 : 3
/** Large enough for all keys. */
const cacheBytesMax = 1_000_000_000

function report(figure: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify({ bench: 'store', node: process.version, ...figure })}\n`)
}

const since = (start: number): number => systemClock.monotonic() - start

/** Milliseconds of processor time of this process: on a shared machine, wall time says little. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

interface Stopwatch {
  readonly wall: number
  readonly processor: number
}

const startWatch = (): Stopwatch => ({
  wall: systemClock.monotonic(),
  processor: processorMs(),
})

/** How many a second, by the clock on the wall and by processor time. */
function rate(count: number, watch: Stopwatch): { perSecond: number; perProcessorSecond: number } {
  return {
    perSecond: Math.round((count * 1000) / since(watch.wall)),
    perProcessorSecond: Math.round((count * 1000) / (processorMs() - watch.processor)),
  }
}
const rounded = (value: number): number => Math.round(value * 10) / 10

interface Home {
  readonly engine: KvEngine
  readonly store: TimestampedStore<unknown, unknown>
  readonly record: RecordContext
  changelogRecords: number
}

function home(make: KvEngineFactory, directory: string): Home {
  const engine = make(directory)
  const record: RecordContext = {
    timestamp: 0,
    offset: 0,
    topic: 'in',
    partition: 0,
    headers: noHeaders,
  }
  const descriptor = keyValueStore('counts', { key: serdes.string, value: serdes.long })
  const store = buildStore(
    { descriptor, timestamped: true },
    {
      taskId: '0_0',
      partition: 0,
      record,
      engine: () => engine,
      changelog: {
        write: () => {
          made.changelogRecords += 1
        },
      },
      cacheBytesMax,
      metrics: new StreamsMetrics(),
    },
  )
  if (!(store instanceof TimestampedStore)) throw new Error('a timestamped store was asked for')
  const made: Home = { engine, store, record, changelogRecords: 0 }
  return made
}

/** One update, exactly as the count of the DSL does it. */
function count({ store, record }: Home, key: string, timestamp: number): void {
  record.timestamp = timestamp
  record.offset += 1
  const old = store.get(key)
  const value = old === undefined ? 1 : (old.value as number) + 1
  const newest = old === undefined ? timestamp : Math.max(old.timestamp, timestamp)
  store.put(key, value, newest)
}

function keys(): string[] {
  const random = seededRandom(1)
  const all = new Set<string>()
  while (all.size < keyCount) all.add(`user-${Math.floor(random.next() * 1e9)}`)
  return [...all]
}

/** Keys in a random order, so that neither Map nor lists are walked in sequence. */
function sequence(all: readonly string[]): string[] {
  const random = seededRandom(2)
  return Array.from(
    { length: 1 << 20 },
    () => all[Math.floor(random.next() * all.length)] as string,
  )
}

function benchUpdates(all: readonly string[]): void {
  const made = home(memoryEngine, '')
  const picks = sequence(all)
  const mask = picks.length - 1
  for (const key of all) count(made, key, 0)
  for (let round = 0; round < rounds; round += 1) {
    const watch = startWatch()
    for (let at = 0; at < updateCount; at += 1) count(made, picks[at & mask] as string, at)
    report({ what: 'count updates, random over 100000 keys', ...rate(updateCount, watch) })
  }
  for (let round = 0; round < rounds; round += 1) {
    const watch = startWatch()
    for (let at = 0; at < updateCount; at += 1) count(made, picks[at & 63] as string, at)
    report({ what: 'count updates, 64 hot keys', ...rate(updateCount, watch) })
  }
  made.store.close()
}

function benchFlush(engineName: string, make: KvEngineFactory, all: readonly string[]): void {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-bench-'))
  const made = home(make, directory)
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const key of all) count(made, key, round)
      const flushWatch = startWatch()
      made.store.flush()
      const flushMs = since(flushWatch.wall)
      const flushProcessorMs = processorMs() - flushWatch.processor
      made.store.committed(made.changelogRecords)
      let slices = 0
      let worstMs = 0
      let isMore = true
      const behindWatch = startWatch()
      while (isMore) {
        const sliceStart = systemClock.monotonic()
        isMore = made.store.writeBehind()
        worstMs = Math.max(worstMs, since(sliceStart))
        slices += 1
      }
      report({
        what: `flush of ${keyCount} dirty keys, then write-behind`,
        engine: engineName,
        round: round === 0 ? 'new keys' : 'updates',
        flushMs: rounded(flushMs),
        flushProcessorMs: rounded(flushProcessorMs),
        writeBehindMs: rounded(since(behindWatch.wall)),
        writeBehindProcessorMs: rounded(processorMs() - behindWatch.processor),
        slices,
        worstSliceMs: rounded(worstMs),
      })
    }
  } finally {
    made.store.close()
    made.engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

function benchEngine(engineName: string, make: KvEngineFactory, all: readonly string[]): void {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-bench-'))
  const engine = make(directory)
  try {
    const table = engine.table('t')
    const bytes = all.map((key) => Buffer.from(key))
    const value = Buffer.alloc(16, 1)
    for (let round = 0; round < 2; round += 1) {
      const watch = startWatch()
      const batch = engine.batch()
      for (const key of bytes) batch.put(table, key, value)
      batch.commit()
      report({
        what: 'engine: random puts in one batch',
        engine: engineName,
        ...rate(keyCount, watch),
      })
    }
    const getCount = isQuick ? 200_000 : 2_000_000
    const getWatch = startWatch()
    for (let at = 0; at < getCount; at += 1) table.get(bytes[(at * 7919) % keyCount] as Buffer)
    report({ what: 'engine: random gets', engine: engineName, ...rate(getCount, getWatch) })
    const scanWatch = startWatch()
    let rows = 0
    for (const row of table.range()) rows += row.key.length > 0 ? 1 : 0
    report({ what: 'engine: full scan', engine: engineName, ...rate(rows, scanWatch) })
  } finally {
    engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

function benchRestore(engineName: string, make: KvEngineFactory, all: readonly string[]): void {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-bench-'))
  const made = home(make, directory)
  try {
    const bytes = all.map((key) => Buffer.from(key))
    const value = Buffer.alloc(8, 1)
    const watch = startWatch()
    let offset = 0
    for (let pass = 0; pass < 5; pass += 1) {
      for (const key of bytes) {
        made.store.restore(key, value, offset)
        offset += 1
        if (offset % 5000 === 0) {
          made.store.restored(offset - 1)
          made.store.writeBehind()
        }
      }
    }
    made.store.restored(offset - 1)
    made.store.close()
    report({
      what: 'restore of 500000 changelog records of 100000 keys',
      engine: engineName,
      ...rate(offset, watch),
    })
  } finally {
    made.engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

const all = keys()
const engines: [string, KvEngineFactory][] = [
  ['memory', memoryEngine],
  ['lmdb', lmdbEngine({ disk: systemDisk, clock: systemClock })],
  ...rocksdbEngines.map((make): [string, KvEngineFactory] => ['rocksdb', make]),
]
benchUpdates(all)
for (const [name, make] of engines) {
  benchEngine(name, make, all)
  benchFlush(name, make, all)
  benchRestore(name, make, all)
}
