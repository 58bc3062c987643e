/**
 * One worker against two in one process: a topology whose code needs about a tenth of a millisecond for
 * each record, state on disk, on a dev broker in this process. Prints a JSON line for each round, and one
 * for the ratio of the medians. Threads run what was built: `npm run build` first.
 *
 *     npx tsx bench/workers.ts
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../src/base/log.ts'
import { MemoryDisk } from '../src/base/memory-disk.ts'
import { startBroker } from '../src/broker/index.ts'
import { Admin } from '../src/client/admin.ts'
import { KafkaClient } from '../src/client/kafka-client.ts'
import { Producer } from '../src/client/producer.ts'
import { systemPorts } from '../src/config.ts'
import { KafkaStreams } from '../src/index.ts'

const partitions = 8
const recordCount = 100_000
const keyCount = 20_000
const rounds = 3
const module = new URL('workers-topology.js', import.meta.url)

async function produce(client: KafkaClient): Promise<void> {
  await new Admin(client).createTopics([
    { topic: 'texts', partitions, configs: { 'retention.ms': '-1' } },
  ])
  await client.topicMetadata(['texts'])
  await using producer = new Producer(client)
  const value = Buffer.alloc(100, 't')
  for (let record = 0; record < recordCount; record += 1) {
    const key = Buffer.from(`key-${record % keyCount}`)
    producer.send('texts', record % partitions, key, value, record, [])
    if (record % 10_000 === 0) await producer.drained(8 * 1024 * 1024)
  }
  await producer.flush()
}

interface Pace {
  readonly perSecond: number
  /** Processors that the process had meanwhile: on a machine that others use, fewer than it could use. */
  readonly processors: number
}

/** From the first tenth of the records to the last. */
async function round(address: string, workers: number, number: number): Promise<Pace> {
  const stateDir = mkdtempSync(join(tmpdir(), 'millpond-bench-'))
  const streams = new KafkaStreams(module, {
    applicationId: `bench-${workers}-${number}`,
    brokers: [address],
    stateDir,
    workers,
    commitInterval: 1000,
  })
  const processed = (): number => streams.metrics.recordsProcessed.value
  const reached = async (count: number) => {
    while (processed() < count) {
      await new Promise((resolve) => {
        setTimeout(resolve, 2)
      })
    }
    const { user, system } = process.cpuUsage()
    return { at: performance.now(), count: processed(), processorMs: (user + system) / 1000 }
  }
  try {
    await streams.start()
    const first = await reached(recordCount / 10)
    const last = await reached(recordCount)
    const ms = last.at - first.at
    return {
      perSecond: Math.round(((last.count - first.count) * 1000) / ms),
      processors: Number(((last.processorMs - first.processorMs) / ms).toFixed(2)),
    }
  } finally {
    await streams.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

function report(figure: Record<string, unknown>): void {
  console.log(JSON.stringify({ bench: 'workers', node: process.version, ...figure }))
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const broker = await startBroker({
  disk: new MemoryDisk(),
  topicDefaults: { 'retention.ms': '-1' },
})
const { address } = broker
{
  await using client = new KafkaClient({ brokers: [address], log: silentLog, ...systemPorts })
  await produce(client)
}
const rates = new Map<number, number[]>([
  [1, []],
  [2, []],
])
for (let number = 0; number < rounds; number += 1) {
  for (const [workers, all] of rates) {
    const pace = await round(address, workers, number)
    all.push(pace.perSecond)
    report({ workers, ...pace })
  }
}
const [one, two] = [...rates.values()].map(median) as [number, number]
report({ cores: availableParallelism(), ratioOfTwoToOne: Number((two / one).toFixed(2)) })
await broker.close()
