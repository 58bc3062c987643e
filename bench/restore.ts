/**
 * How fast stores come back from their changelogs, without a broker: batches as a fetch brings them go into
 * the tables of four tasks in turn, in slices as those of a worker, and from there into LMDB. Prints one JSON
 * line: records a second of processor time, which other work on the machine disturbs least, and what of the
 * memory was pages of LMDB's files.
 *
 *     npx tsx bench/restore.ts [--records N] [--keys N]
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/base/clock.ts'
import { systemDisk } from '../src/base/disk.ts'
import { StreamsBuilder } from '../src/dsl/streams-builder.ts'
import { topic } from '../src/dsl/topic.ts'
import { lmdbEngine } from '../src/kv/lmdb-engine.ts'
import { StreamsMetrics } from '../src/metrics/streams-metrics.ts'
import { RecordBatchBuilder } from '../src/protocol/record-builder.ts'
import { serdes } from '../src/serde/serdes.ts'
import { keyValueStore } from '../src/store/descriptor.ts'
import { RestoreBudget } from '../src/store/restore-budget.ts'
import { StreamTask } from '../src/task/stream-task.ts'
import { EncodingSink, noProducer } from './encoding-sink.ts'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '2000000' },
    keys: { type: 'string', default: '1000000' },
  },
})
const recordCount = Number(values.records)
const keyCount = Number(values.keys)
const taskCount = 4
const recordsPerBatch = 7000
const sliceMs = 4
const startTimestamp = 1_700_000_000_000

const builder = new StreamsBuilder()
builder
  .stream(topic('in', { key: serdes.string, value: serdes.string }))
  .groupByKey()
  .count({ store: keyValueStore('counts', { key: serdes.string, value: serdes.long }) })
const [subtopology] = builder.build().subtopologies
if (subtopology === undefined) throw new Error('the topology has one sub-topology')

const directory = mkdtempSync(join(tmpdir(), 'millpond-bench-'))
const make = lmdbEngine({ disk: systemDisk, clock: systemClock })
const restoreBudget = new RestoreBudget()

function restoringTask(partition: number): StreamTask {
  const home = join(directory, String(partition))
  mkdirSync(home)
  const engine = make(home)
  const task = new StreamTask({
    id: `0_${partition}`,
    subtopology: subtopology as NonNullable<typeof subtopology>,
    applicationId: 'bench',
    clock: systemClock,
    sink: new EncodingSink(),
    metrics: new StreamsMetrics(),
    engines: { engine: () => engine, close: () => engine.close() },
    cacheBytesMax: 0,
    restoreBudget,
    partitionCount: () => taskCount,
  })
  task.initialize([])
  return task
}

const batch = new RecordBatchBuilder()
const value = Buffer.alloc(8)

/** The records of one partition, as many as fit in a batch; keys come in an order without pattern. */
function makeBatch(partition: number, baseOffset: number, count: number): Buffer {
  batch.reset()
  for (let offset = baseOffset; offset < baseOffset + count; offset += 1) {
    const index = offset * taskCount + partition
    const key = `key-${String((index * 7919) % keyCount).padStart(7, '0')}`
    value.writeUInt32BE(index, 4)
    batch.append(Buffer.from(key), value, startTimestamp + Math.floor(index / 10))
  }
  return batch.build({ ...noProducer, baseOffset })
}

const memory = { peak: 0, files: 0 }

/** Linux only: elsewhere there is no such file, and nothing is told. */
function lookAtMemory(): void {
  try {
    const status = readFileSync('/proc/self/status', 'utf8')
    const of = (name: string): number => {
      return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024
    }
    const files = of('RssFile')
    const all = of('RssAnon') + files + of('RssShmem')
    if (all > memory.peak) Object.assign(memory, { peak: all, files })
  } catch {
    memory.peak = 0
  }
}

const tasks = Array.from({ length: taskCount }, (_, partition) => restoringTask(partition))
const perTask = recordCount / taskCount
let processorMs = 0
let worstSliceMs = 0

/** Runs what is measured; a slice is what a worker does before it looks at something else. */
function measured<T>(work: () => T, isSlice = true): T {
  const before = process.cpuUsage()
  const result = work()
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1000
  processorMs += ms
  if (isSlice) worstSliceMs = Math.max(worstSliceMs, ms)
  return result
}

function writeBehind(): boolean {
  const deadline = systemClock.monotonic() + sliceMs
  let isMore = true
  while (isMore && systemClock.monotonic() < deadline) {
    isMore = false
    for (const task of tasks) if (task.writeBehind()) isMore = true
  }
  return isMore
}

const startedAt = systemClock.monotonic()
const positions = tasks.map(() => 0)
try {
  while (positions.some((position) => position < perTask)) {
    for (const [partition, task] of tasks.entries()) {
      const position = positions[partition] as number
      const [changelog] = task.changelogs
      if (position === perTask || changelog === undefined || task.isRestoreFull(changelog)) continue
      const count = Math.min(recordsPerBatch, perTask - position)
      const records = makeBatch(partition, position, count)
      measured(() => task.restore(changelog, records, perTask))
      positions[partition] = position + count
    }
    measured(writeBehind)
    lookAtMemory()
  }
  measured(() => {
    for (const task of tasks) {
      task.completeRestoration()
      task.suspend()
      task.close({ clean: true })
    }
  }, false)
  console.log(
    JSON.stringify({
      bench: 'restore',
      records: recordCount,
      keys: keyCount,
      perProcessorSecond: Math.round((recordCount * 1000) / processorMs),
      processorMs: Math.round(processorMs),
      wallMs: Math.round(systemClock.monotonic() - startedAt),
      worstSliceProcessorMs: Math.round(worstSliceMs),
      peakMb: Math.round(memory.peak),
      filePagesMb: Math.round(memory.files),
      node: process.version,
    }),
  )
} finally {
  rmSync(directory, { recursive: true, force: true })
}
