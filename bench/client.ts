/**
 * How fast the client writes to and reads from a dev broker in a process of its own, over loopback: records
 * of 11 bytes of key and 100 of value in 8 partitions; reading verifies each batch and makes a string of each
 * key. Prints one JSON line, in records a second; the best of several rounds counts, because other work on
 * the machine only ever makes a round slower.
 *
 *     npx tsx bench/client.ts
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { systemRandom } from '../src/base/random.ts'
import { systemTransport } from '../src/base/transport.ts'
import { startBroker } from '../src/broker/index.ts'
import { Admin } from '../src/client/admin.ts'
import { Fetcher } from '../src/client/fetcher.ts'
import { KafkaClient } from '../src/client/kafka-client.ts'
import { Producer } from '../src/client/producer.ts'
import { RecordBatchReader } from '../src/protocol/record-batch.ts'

const partitions = 8
const recordsPerRound = 1_000_000
const rounds = 4
const recordsPerWait = 10_000
const queuedBytesMax = 8 * 1024 * 1024

const brokerArgument = '--broker'

/** Records a second. */
interface Speed {
  readonly produce: number
  readonly consume: number
}

async function produceAll(client: KafkaClient, topic: string): Promise<void> {
  await using producer = new Producer(client)
  const keys = Array.from({ length: 1000 }, (_, index) =>
    Buffer.from(`key-${String(index).padStart(7, '0')}`),
  )
  const value = Buffer.alloc(100, 'v')
  for (let sent = 0; sent < recordsPerRound; sent += 1) {
    const key = keys[sent % keys.length] ?? null
    producer.send(topic, sent % partitions, key, value, sent, [])
    if (sent % recordsPerWait === 0) await producer.drained(queuedBytesMax)
  }
  await producer.flush()
}

async function consumeAll(client: KafkaClient, topic: string): Promise<void> {
  await using fetcher = new Fetcher(client)
  fetcher.assign(
    Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: 0 })),
  )
  const reader = new RecordBatchReader()
  let taken = 0
  let keyCharacters = 0
  while (taken < recordsPerRound) {
    await fetcher.wait(1000)
    for (const fetched of fetcher.poll()) {
      if (fetched.error !== undefined) throw fetched.error
      reader.reset(fetched.records)
      while (reader.nextBatch()) {
        while (reader.next()) {
          keyCharacters += reader.keyString()?.length ?? 0
          taken += 1
        }
      }
    }
  }
  if (keyCharacters !== taken * 11) throw new Error('the keys came back damaged')
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

async function measure(address: string): Promise<Speed> {
  await using client = new KafkaClient({
    brokers: [address],
    clock: systemClock,
    random: systemRandom,
    transport: systemTransport,
    log: silentLog,
  })
  const admin = new Admin(client)
  let best: Speed = { produce: 0, consume: 0 }
  for (let round = 0; round < rounds; round += 1) {
    const topic = `round-${round}`
    // The records are from 1970: nothing is to be deleted for that.
    await admin.createTopics([{ topic, partitions, configs: { 'retention.ms': '-1' } }])
    const produce = recordsPerRound / (await seconds(() => produceAll(client, topic)))
    const consume = recordsPerRound / (await seconds(() => consumeAll(client, topic)))
    best = {
      produce: Math.round(Math.max(best.produce, produce)),
      consume: Math.round(Math.max(best.consume, consume)),
    }
    await admin.deleteTopics([topic])
  }
  return best
}

if (process.argv.includes(brokerArgument)) {
  await using broker = await startBroker({ autoCreateTopics: false })
  process.send?.(broker.address)
  await once(process, 'disconnect')
} else {
  const broker = fork(fileURLToPath(import.meta.url), [brokerArgument])
  const [address] = (await once(broker, 'message')) as [string]
  const speed = await measure(address)
  broker.disconnect()
  await once(broker, 'exit')
  console.log(JSON.stringify({ bench: 'client', ...speed, node: process.version }))
}
