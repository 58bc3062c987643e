/**
 * How fast one core counts: fetched batches → task → decoded key → count in a cached store, and at
 * each commit the changelog, as batches. No I/O: the batches are made before, the sink encodes and
 * throws away. Prints one JSON line, in records a second; the best of several rounds counts, because
 * other work on the machine only ever makes a round slower.
 *
 *     npx tsx bench/hot-path.ts
 */
import { systemClock } from '../src/base/clock.ts'
import { StreamsBuilder } from '../src/dsl/streams-builder.ts'
import { topic } from '../src/dsl/topic.ts'
import { MemoryEngine } from '../src/kv/memory-engine.ts'
import { StreamsMetrics } from '../src/metrics/streams-metrics.ts'
import { RecordBatchReader } from '../src/protocol/record-batch.ts'
import { RecordBatchBuilder } from '../src/protocol/record-builder.ts'
import { serdes } from '../src/serde/serdes.ts'
import { keyValueStore } from '../src/store/descriptor.ts'
import { StreamTask } from '../src/task/stream-task.ts'
import { EncodingSink, noProducer } from './encoding-sink.ts'

const keyCount = 100_000
const recordsPerBatch = 1000
const recordsPerRound = 1_000_000
const rounds = 8
const startTimestamp = 1_700_000_000_000

const words = topic('words', { key: serdes.string, value: serdes.string })
const counts = keyValueStore('counts', {
  key: serdes.string,
  value: serdes.long,
  persistent: false,
})
const builder = new StreamsBuilder()
builder.stream(words).groupByKey().count({ store: counts })
const [subtopology] = builder.build().subtopologies
if (subtopology === undefined) throw new Error('the topology has one sub-topology')

const sink = new EncodingSink()
const engine = new MemoryEngine()
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

/** Batches of one round; keys come in an order without pattern, the same in each run. */
function makeBatches(): Buffer[] {
  const batches: Buffer[] = []
  const batch = new RecordBatchBuilder()
  let state = 1
  for (let offset = 0; offset < recordsPerRound; offset += recordsPerBatch) {
    batch.reset()
    for (let record = 0; record < recordsPerBatch; record += 1) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      const key = `key-${String(state % keyCount).padStart(7, '0')}`
      batch.append(
        Buffer.from(key),
        Buffer.from(`value ${offset + record}`),
        startTimestamp + offset + record,
      )
    }
    batches.push(batch.build({ ...noProducer, baseOffset: offset }))
  }
  return batches
}

function run(batches: readonly Buffer[], firstOffset: number): void {
  for (const [index, batch] of batches.entries()) {
    batch.writeBigInt64BE(BigInt(firstOffset + index * recordsPerBatch), 0)
    task.addRecords('words', 0, batch, firstOffset + index * recordsPerBatch)
    task.process(recordsPerBatch, Infinity)
  }
  task.prepareCommit()
  sink.flush()
  task.committed()
}

const batches = makeBatches()
let best = Infinity
let bestCommit = Infinity
for (let round = 0; round < rounds; round += 1) {
  const start = process.hrtime.bigint()
  run(batches, round * recordsPerRound)
  best = Math.min(best, Number(process.hrtime.bigint() - start))
  const writeStart = process.hrtime.bigint()
  while (task.writeBehind());
  bestCommit = Math.min(bestCommit, Number(process.hrtime.bigint() - writeStart))
}

/** The least that any program must do: decode the key, find its count in a Map, put it back. */
function countInMap(map: Map<string, number>): number {
  const reader = new RecordBatchReader()
  const start = process.hrtime.bigint()
  for (const batch of batches) {
    reader.reset(batch)
    while (reader.nextBatch()) {
      while (reader.next()) {
        const key = reader.keyString() ?? ''
        map.set(key, (map.get(key) ?? 0) + 1)
      }
    }
  }
  return Number(process.hrtime.bigint() - start)
}

const bareCounts = new Map<string, number>()
let bareMap = Infinity
for (let round = 0; round < rounds; round += 1) bareMap = Math.min(bareMap, countInMap(bareCounts))

console.log(
  JSON.stringify({
    bench: 'hot-path',
    recordsPerSecond: Math.round((recordsPerRound * 1e9) / best),
    bareMapPerSecond: Math.round((recordsPerRound * 1e9) / bareMap),
    ratioToBareMap: Number((bareMap / best).toFixed(2)),
    writeBehindMs: Math.round(bestCommit / 1e6),
    node: process.version,
  }),
)
