/**
 * How long tasks are not processed when an instance joins and leaves again: a record comes in every few
 * milliseconds on each partition, and the longest time between two that are processed is what counts, for
 * tasks that stay where they are and for those that move. `steady` is the same without a rebalance: what
 * the machine and the poll loop cost. Broker and second instance are processes of their own. Prints one
 * JSON line, in milliseconds.
 *
 *     npx tsx bench/rebalance.ts
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { silentLog } from '../src/base/log.ts'
import { startBroker } from '../src/broker/index.ts'
import { Admin } from '../src/client/admin.ts'
import { KafkaClient } from '../src/client/kafka-client.ts'
import { Producer } from '../src/client/producer.ts'
import { systemPorts } from '../src/config.ts'
import { KafkaStreams, StreamsBuilder, keyValueStore, serdes, topic } from '../src/index.ts'

const [, , role = 'main', brokerAddress = '', stateDirectory = ''] = process.argv
const partitions = 8
const writeIntervalMs = 5
const steadyMs = 3000
const afterwardsMs = 1000

const now = (): number => performance.timeOrigin + performance.now()
const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/** Tells of each record with its partition, which is its key. */
function instance(
  address: string,
  stateDir: string,
  processed: (partition: number) => void,
): KafkaStreams {
  const builder = new StreamsBuilder()
  builder
    .stream(topic('ticks', { key: serdes.string, value: serdes.string }))
    .peek((_value, key) => {
      processed(Number(key))
    })
    .groupByKey()
    .count({ store: keyValueStore('counts', { key: serdes.string, value: serdes.long }) })
  return new KafkaStreams(builder.build(), {
    applicationId: 'bench',
    brokers: [address],
    stateDir,
    logger: 'silent',
  })
}

async function runBroker(): Promise<void> {
  const broker = await startBroker({ topicDefaults: { 'retention.ms': '-1' } })
  process.send?.(broker.address)
  await once(process, 'disconnect')
  await broker.close()
}

/** Sends the first time of each partition, and when it has its tasks; closes when it is told anything. */
async function runSecond(): Promise<void> {
  const seen = new Set<number>()
  const last = new Map<number, number>()
  const streams = instance(brokerAddress, stateDirectory, (partition) => {
    last.set(partition, now())
    if (seen.has(partition)) return
    seen.add(partition)
    process.send?.({ partition, at: now() })
  })
  await streams.start()
  await once(process, 'message')
  await streams.close()
  process.send?.({ last: [...last] })
  process.disconnect()
}

/** When each partition was processed last here, and the longest time between two. */
class Gaps {
  readonly last = new Map<number, number>()
  /** The first time of each partition since it was not processed here. */
  readonly firstAfter = new Map<number, number>()
  readonly longest = new Map<number, number>()

  note(partition: number): void {
    const at = now()
    const gap = at - (this.last.get(partition) ?? at)
    if (!this.last.has(partition)) this.firstAfter.set(partition, at)
    this.last.set(partition, at)
    this.longest.set(partition, Math.max(gap, this.longest.get(partition) ?? 0))
  }

  /** The longest since the last call, of these partitions. */
  take(of: readonly number[]): number {
    const longest = Math.max(0, ...of.map((partition) => this.longest.get(partition) ?? 0))
    this.longest.clear()
    return Math.round(longest)
  }
}

interface FirstTick {
  readonly partition: number
  readonly at: number
}

async function measure(address: string, directory: string): Promise<Record<string, number>> {
  await using client = new KafkaClient({ brokers: [address], log: silentLog, ...systemPorts })
  await new Admin(client).createTopics([{ topic: 'ticks', partitions }])
  await client.topicMetadata(['ticks'])
  await using producer = new Producer(client)
  const ticking = setInterval(() => {
    for (let partition = 0; partition < partitions; partition += 1)
      producer.send(
        'ticks',
        partition,
        Buffer.from(`${partition}`),
        Buffer.from('.'),
        Date.now(),
        [],
      )
    producer.flush().catch(() => undefined)
  }, writeIntervalMs)
  const gaps = new Gaps()
  const first = instance(address, join(directory, 'first'), (partition) => gaps.note(partition))
  let second: ChildProcess | undefined
  try {
    await first.start()
    await sleep(steadyMs)
    const all = Array.from({ length: partitions }, (_, partition) => partition)
    gaps.take(all)
    await sleep(steadyMs)
    const steady = gaps.take(all)

    const moved = new Map<number, number>()
    second = fork(fileURLToPath(import.meta.url), ['second', address, join(directory, 'second')])
    second.on('message', (message: Partial<FirstTick>) => {
      if (message.partition !== undefined)
        moved.set(message.partition, (message.at ?? 0) - (gaps.last.get(message.partition) ?? 0))
    })
    while (moved.size < partitions / 2) await sleep(writeIntervalMs)
    await sleep(afterwardsMs)
    const stayed = all.filter((partition) => !moved.has(partition))
    const joinStayed = gaps.take(stayed)
    const joinMoved = Math.round(Math.max(...moved.values()))

    const goneAt = now()
    for (const partition of moved.keys()) gaps.last.delete(partition)
    const told = once(second, 'message')
    second.send('close')
    const [{ last }] = (await told) as [{ last: [number, number][] }]
    while ([...moved.keys()].some((partition) => (gaps.last.get(partition) ?? 0) < goneAt))
      await sleep(writeIntervalMs)
    await sleep(afterwardsMs)
    const leaveStayed = gaps.take(stayed)
    const back = last.map(([partition, at]) => (gaps.firstAfter.get(partition) ?? at) - at)
    return { steady, joinStayed, joinMoved, leaveStayed, leaveMoved: Math.round(Math.max(...back)) }
  } finally {
    clearInterval(ticking)
    second?.kill()
    await first.close()
  }
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'millpond-bench-'))
  const broker = fork(fileURLToPath(import.meta.url), ['broker'])
  try {
    const [address] = (await once(broker, 'message')) as [string]
    const results = await measure(address, directory)
    console.log(JSON.stringify({ bench: 'rebalance', unit: 'ms', ...results }))
  } finally {
    broker.disconnect()
    rmSync(directory, { recursive: true, force: true })
  }
}

if (role === 'broker') await runBroker()
else if (role === 'second') await runSecond()
else await main()
