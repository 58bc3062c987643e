/**
 * A process that counts into a persistent store for as long as it lives, with a file as its changelog:
 * each record is one line, written before the commit. Prints a line for each commit. The test kills it.
 *
 *     node --import tsx store-writer.ts <directory> <seed> lmdb|rocksdb
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { systemClock, yieldTurn } from '../../src/base/clock.ts'
import { systemDisk } from '../../src/base/disk.ts'
import { silentLog } from '../../src/base/log.ts'
import { seededRandom, randomInteger } from '../../src/base/random.ts'
import { lmdbStateEngine } from '../../src/kv/state-engine.ts'
import { rocksdbStateEngine } from '../../src/kv/rocksdb-state-engine.ts'
import { StreamsMetrics } from '../../src/metrics/streams-metrics.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { keyValueStore } from '../../src/store/descriptor.ts'
import { noHeaders, type RecordContext } from '../../src/store/state-store.ts'
import { buildStore } from '../../src/store/store-builder.ts'
import { TimestampedStore } from '../../src/store/timestamped-key-value-store.ts'
import { rocksdbFrom } from '../peers/rocksdb-home.ts'
import { readChangelog } from './store-changelog.ts'

const [directory = '', seed = '1', engineName = 'lmdb'] = process.argv.slice(2)
const changelogPath = `${directory}/changelog.jsonl`
const keyCount = 3000
const updatesPerCommit = 700

const random = seededRandom(Number(seed))
const stateEngine =
  engineName === 'lmdb' ? lmdbStateEngine : rocksdbStateEngine({ from: rocksdbFrom })
const world = { disk: systemDisk, clock: systemClock, log: silentLog }
const engine = stateEngine.factory(world)(directory)
const record: RecordContext = {
  timestamp: 0,
  offset: 0,
  topic: '',
  partition: 0,
  headers: noHeaders,
}
let lines: string[] = []
const context = {
  taskId: '0_0',
  partition: 0,
  record,
  engine: () => engine,
  changelog: {
    write: (store: string, key: Buffer, value: Buffer | null, timestamp: number) => {
      const shown = value === null ? null : serdes.long.deserialize(value)
      lines.push(JSON.stringify({ store, key: key.toString(), value: shown, timestamp }))
    },
  },
  cacheBytesMax: 1_000_000,
  metrics: new StreamsMetrics(),
}
const stores = ['counts', 'mirror'].map((name) => {
  const descriptor = keyValueStore(name, { key: serdes.string, value: serdes.long })
  const store = buildStore({ descriptor, timestamped: true }, context)
  if (!(store instanceof TimestampedStore)) throw new Error('the store is timestamped')
  return store
})

// Both stores have one changelog file; the offset is the number of its lines.
const written = readChangelog(readFileSync(changelogPath, 'utf8'))
for (const store of stores) {
  for (const { store: name, key, value, timestamp } of written.slice(store.restoreOffset())) {
    if (name !== store.name) continue
    const bytes = value === null ? null : Buffer.from(serdes.long.serialize(value))
    store.restore(Buffer.from(key), bytes, timestamp)
  }
  if (written.length > 0) store.restored(written.length - 1)
}

const changelog = openSync(changelogPath, 'a')
let offset = written.length
// The parent kills this process.
for (let commit = 0; commit < Number.MAX_SAFE_INTEGER; commit += 1) {
  for (let update = 0; update < updatesPerCommit; update += 1) {
    record.timestamp += 1
    const key = `key-${randomInteger(random, keyCount)}`
    for (const store of stores) {
      const old = store.get(key)
      if (random.next() < 0.1) store.put(key, undefined, record.timestamp)
      else store.put(key, ((old?.value as number | undefined) ?? 0) + 1, record.timestamp)
    }
  }
  for (const store of stores) store.flush()
  offset += lines.length
  writeSync(changelog, `${lines.join('\n')}\n`)
  lines = []
  for (const store of stores) store.committed(offset)
  process.stdout.write(`${offset}\n`)
  // Sometimes the engine comes far behind, sometimes it is done.
  const slices = randomInteger(random, 30)
  for (let slice = 0; slice < slices; slice += 1) {
    stores[slice % stores.length]?.writeBehind()
    if (slice % 7 === 0) await yieldTurn(systemClock)
  }
}
closeSync(changelog)
