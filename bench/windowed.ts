/**
 * How fast one core counts in windows: fetched batches → task → count in a cached window or session store,
 * and a commit each so many records, with the engine behind it. Beside it the same count without windows,
 * over the same records. No I/O but the engine's. A JSON line for each program, in records for a second
 * of processor time; the best of several rounds counts.
 *
 *     npx tsx bench/windowed.ts [name of a program]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { systemDisk } from '../src/base/disk.ts'
import { StreamsBuilder } from '../src/dsl/streams-builder.ts'
import { topic } from '../src/dsl/topic.ts'
import { joinWindows } from '../src/dsl/join-windows.ts'
import { sessionWindows, slidingWindows, timeWindows } from '../src/dsl/windows.ts'
import { lmdbEngine } from '../src/kv/lmdb-engine.ts'
import { MemoryEngine } from '../src/kv/memory-engine.ts'
import { StreamsMetrics } from '../src/metrics/streams-metrics.ts'
import { RecordBatchBuilder } from '../src/protocol/record-builder.ts'
import { serdes } from '../src/serde/serdes.ts'
import { keyValueStore, sessionStore, windowStore } from '../src/store/descriptor.ts'
import { StreamTask } from '../src/task/stream-task.ts'
import { EncodingSink, noProducer } from './encoding-sink.ts'

const keyCount = 20_000
const recordsPerBatch = 1000
const recordsPerRound = 200_000
const rounds = Number(process.env['ROUNDS'] ?? 6)
const startTimestamp = 1_700_000_000_000

const words = topic('words', { key: serdes.string, value: serdes.string })
const others = topic('others', { key: serdes.string, value: serdes.string })
const both = { key: serdes.string, value: serdes.long }
const minute = 60_000

type Program = (builder: StreamsBuilder, persistent: boolean) => void

/** A record a millisecond: a round is 200 s. */
const programs: Readonly<Record<string, Program>> = {
  keys: (builder, persistent) => {
    const store = keyValueStore('counts', { ...both, persistent })
    builder.stream(words).groupByKey().count({ store })
  },
  tumbling: (builder, persistent) => {
    const windows = timeWindows({ size: minute, grace: 0 })
    const store = windowStore('counts', { ...both, persistent })
    builder.stream(words).groupByKey().windowedBy(windows).count({ store })
  },
  hopping: (builder, persistent) => {
    const windows = timeWindows({ size: 5 * minute, advance: minute, grace: 0 })
    const store = windowStore('counts', { ...both, persistent })
    builder.stream(words).groupByKey().windowedBy(windows).count({ store })
  },
  sliding: (builder, persistent) => {
    const windows = slidingWindows({ timeDifference: minute, grace: 0 })
    const store = windowStore('counts', { ...both, persistent })
    builder.stream(words).groupByKey().windowedBy(windows).count({ store })
  },
  sessions: (builder, persistent) => {
    const windows = sessionWindows({ gap: minute, grace: 0 })
    const store = sessionStore('counts', { ...both, persistent })
    builder.stream(words).groupByKey().windowedBy(windows).count({ store })
  },
  closing: (builder, persistent) => {
    const windows = timeWindows({ size: minute, grace: 0 })
    const store = windowStore('counts', { ...both, persistent })
    builder
      .stream(words)
      .groupByKey()
      .windowedBy(windows)
      .emitStrategy('on-window-close')
      .count({ store })
  },
  'closing uncached': (builder, persistent) => {
    const windows = timeWindows({ size: minute, grace: 0 })
    const store = windowStore('counts', { ...both, persistent, caching: false })
    builder
      .stream(words)
      .groupByKey()
      .windowedBy(windows)
      .emitStrategy('on-window-close')
      .count({ store })
  },
  'closing sessions': (builder, persistent) => {
    const windows = sessionWindows({ gap: minute, grace: 0 })
    const store = sessionStore('counts', { ...both, persistent })
    builder
      .stream(words)
      .groupByKey()
      .windowedBy(windows)
      .emitStrategy('on-window-close')
      .count({ store })
  },
  join: (builder, persistent) => {
    const windows = joinWindows({ difference: minute, grace: 0 })
    builder
      .stream(words)
      .join(builder.stream(others), (left, right) => left + right, {
        windows,
        ...(persistent ? {} : { persistent: false }),
      })
      .to(topic('joined', { key: serdes.string, value: serdes.string }))
  },
}

/** Batches of one round; keys come in an order without pattern, the same in each run. */
function makeBatches(round: number): Buffer[] {
  const batches: Buffer[] = []
  const batch = new RecordBatchBuilder()
  let state = round + 1
  const first = round * recordsPerRound
  for (let offset = first; offset < first + recordsPerRound; offset += recordsPerBatch) {
    batch.reset()
    for (let record = 0; record < recordsPerBatch; record += 1) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      const key = `key-${String(state % keyCount).padStart(7, '0')}`
      const value = Buffer.from(`value ${offset + record}`)
      batch.append(Buffer.from(key), value, startTimestamp + offset + record)
    }
    batches.push(batch.build({ ...noProducer, baseOffset: offset }))
  }
  return batches
}

interface Measured {
  /** The commits included. */
  readonly recordsPerSecond: number
  readonly changelogRecords: number
}

function measure(program: Program, persistent: boolean): Measured {
  const builder = new StreamsBuilder()
  program(builder, persistent)
  const [subtopology] = builder.build().subtopologies
  if (subtopology === undefined) throw new Error('the topology has one sub-topology')
  const sink = new EncodingSink()
  const directory = mkdtempSync(join(tmpdir(), 'millpond-windowed-'))
  const engine = persistent
    ? lmdbEngine({ disk: systemDisk, clock: systemClock })(directory)
    : new MemoryEngine()
  const task = new StreamTask({
    id: '0_0',
    subtopology,
    applicationId: 'bench',
    clock: systemClock,
    sink,
    metrics: new StreamsMetrics(),
    engines: { engine: () => engine, close: () => engine.close() },
    cacheBytesMax: 256 * 1024 * 1024,
    partitionCount: () => 1,
  })
  task.initialize([])
  task.completeRestoration()
  const topics = task.inputs.map((input) => input.topic)
  let best = Infinity
  for (let round = 0; round < rounds; round += 1) {
    const batches = makeBatches(round)
    const start = process.cpuUsage()
    for (const [index, batch] of batches.entries()) {
      const offset = round * recordsPerRound + index * recordsPerBatch
      task.addRecords(topics[index % topics.length] as string, 0, batch, offset)
      task.process(recordsPerBatch, Infinity)
    }
    while (task.process(recordsPerBatch, Infinity) > 0);
    task.prepareCommit()
    sink.flush()
    task.committed()
    while (task.writeBehind());
    const { user, system } = process.cpuUsage(start)
    best = Math.min(best, user + system)
  }
  task.suspend()
  task.close({ clean: false })
  rmSync(directory, { recursive: true, force: true })
  const recordsPerSecond = Math.round((recordsPerRound * 1e6) / best)
  return { recordsPerSecond, changelogRecords: sink.records }
}

const wanted = process.argv[2]
for (const [name, program] of Object.entries(programs)) {
  if (wanted !== undefined && name !== wanted) continue
  const memory = measure(program, false)
  const lmdb = measure(program, true)
  console.log(
    JSON.stringify({
      bench: `windowed: ${name}`,
      memoryPerSecond: memory.recordsPerSecond,
      lmdbPerSecond: lmdb.recordsPerSecond,
      changelogRecords: lmdb.changelogRecords,
      node: process.version,
    }),
  )
}
