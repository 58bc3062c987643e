/**
 * Word count from one end to the other: lines in a topic of a dev broker in a process of its own, one
 * instance that splits, repartitions and counts them with its state on disk, until everything is committed.
 * Prints one JSON line; the best of several rounds counts, because other work on the machine only ever makes
 * a round slower. A record is a line or a word: both are read from Kafka and processed.
 *
 *     npx tsx bench/end-to-end.ts
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { silentLog } from '../src/base/log.ts'
import { seededRandom } from '../src/base/random.ts'
import { startBroker } from '../src/broker/index.ts'
import { wordCount, wordCounts } from '../src/cli/word-count.ts'
import { Admin } from '../src/client/admin.ts'
import { KafkaClient } from '../src/client/kafka-client.ts'
import { Producer } from '../src/client/producer.ts'
import { systemPorts } from '../src/config.ts'
import { KafkaStreams } from '../src/index.ts'

const brokerArgument = '--broker'
const lineCount = 100_000
const wordsPerLine = 8
const distinctWords = 20_000
const partitions = 4
const rounds = 3
const queuedBytesMax = 8 * 1024 * 1024

async function runBroker(): Promise<void> {
  const broker = await startBroker({ topicDefaults: { 'retention.ms': '-1' } })
  process.send?.(broker.address)
  await once(process, 'disconnect')
  await broker.close()
}

async function produceLines(client: KafkaClient): Promise<void> {
  await new Admin(client).createTopics([{ topic: 'text-lines', partitions }])
  await client.topicMetadata(['text-lines'])
  await using producer = new Producer(client)
  const random = seededRandom(1)
  const word = (): string => `word-${Math.floor(random.next() * distinctWords)}`
  for (let line = 0; line < lineCount; line += 1) {
    const text = Array.from({ length: wordsPerLine }, word).join(' ')
    producer.send('text-lines', line % partitions, null, Buffer.from(text), line, [])
    if (line % 10_000 === 0) await producer.drained(queuedBytesMax)
  }
  await producer.flush()
}

/** Seconds from the start of an instance until it has processed and committed everything. */
async function round(address: string, number: number): Promise<number> {
  const stateDir = mkdtempSync(join(tmpdir(), 'millpond-bench-'))
  const expected = lineCount * (1 + wordsPerLine)
  const startedAt = performance.now()
  const streams = new KafkaStreams(wordCount(), {
    applicationId: `bench-${number}`,
    brokers: [address],
    stateDir,
    commitInterval: 1000,
  })
  try {
    await streams.start()
    while (streams.metrics.recordsProcessed.value < expected) {
      await new Promise((resolve) => {
        setTimeout(resolve, 5)
      })
    }
    await streams.close()
    return (performance.now() - startedAt) / 1000
  } finally {
    await streams.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

async function main(): Promise<void> {
  const broker = fork(fileURLToPath(import.meta.url), [brokerArgument])
  const [address] = (await once(broker, 'message')) as [string]
  await using client = new KafkaClient({
    brokers: [address],
    clientId: 'bench',
    log: silentLog,
    ...systemPorts,
  })
  await produceLines(client)
  const records = lineCount * (1 + wordsPerLine)
  let best = Number.POSITIVE_INFINITY
  for (let number = 0; number < rounds; number += 1) {
    best = Math.min(best, await round(address, number))
  }
  console.log(
    JSON.stringify({
      bench: 'end-to-end',
      store: wordCounts.name,
      lines: lineCount,
      words: lineCount * wordsPerLine,
      seconds: Number(best.toFixed(2)),
      recordsPerSecond: Math.round(records / best),
      node: process.version,
    }),
  )
  broker.disconnect()
  await once(broker, 'exit')
}

await (process.argv.includes(brokerArgument) ? runBroker() : main())
