import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../base/log.ts'
import { startBroker, type Broker } from '../../broker/index.ts'
import { Admin } from '../../client/admin.ts'
import { Fetcher } from '../../client/fetcher.ts'
import { KafkaClient } from '../../client/kafka-client.ts'
import { listOffsets } from '../../client/offsets.ts'
import { Producer } from '../../client/producer.ts'
import { systemPorts } from '../../config.ts'
import { RecordBatchReader } from '../../protocol/record-batch.ts'
import { LineFeeder } from './line-feeder.ts'
import { ReadingProgress } from './reading-progress.ts'
import { namedInputs, type TextInput } from './text-input.ts'

const topic = 'lines'
let directory: string
let broker: Broker
let client: KafkaClient
let producer: Producer
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'millpond-feeder-'))
  broker = await startBroker({ autoCreateTopics: false })
  client = new KafkaClient({ brokers: [broker.address], log: silentLog, ...systemPorts })
  await new Admin(client).createTopics([{ topic, partitions: 2 }])
  await client.topicMetadata([topic])
  producer = new Producer(client)
})
afterEach(async () => {
  await producer.close()
  await client.close()
  await broker.close()
  rmSync(directory, { recursive: true, force: true })
})

function feeder(signal = new AbortController().signal): LineFeeder {
  const progress = new ReadingProgress(join(directory, 'input.json'))
  return new LineFeeder({ producer, topic, progress, rate: undefined, signal })
}

/** All lines that the broker has, partition by partition. */
async function written(): Promise<string[]> {
  const partitions = [0, 1].map((partition) => ({ topic, partition }))
  const ends = await listOffsets(client, partitions, 'latest')
  await using fetcher = new Fetcher(client)
  fetcher.assign(partitions.map((one) => ({ ...one, offset: 'earliest' as const })))
  const lines: string[] = []
  const reader = new RecordBatchReader()
  const isBehind = (): boolean =>
    partitions.some(({ partition }) => {
      return (fetcher.position(topic, partition) ?? 0) < (ends.get(`${topic}-${partition}`) ?? 0)
    })
  while (isBehind()) {
    await fetcher.wait(100)
    for (const { records } of fetcher.poll()) {
      reader.reset(records)
      while (reader.nextBatch()) while (reader.next()) lines.push(String(reader.value()))
    }
  }
  return lines
}

test('the lines of all inputs are written, in turn to each partition', async () => {
  const [one, two] = [join(directory, 'one'), join(directory, 'two')]
  writeFileSync(one, 'a\nb\n\nc')
  writeFileSync(two, 'd\r\ne\r\n')
  const feeding = feeder()
  await feeding.feed(namedInputs([one, two]))
  expect(feeding.lines).toBe(6)
  expect((await written()).sort()).toEqual(['', 'a', 'b', 'c', 'd', 'e'])
  expect((await listOffsets(client, [{ topic, partition: 0 }], 'latest')).get('lines-0')).toBe(3)
})

test('a text that was read is not read again, and one that grew is read on', async () => {
  const path = join(directory, 'text')
  writeFileSync(path, 'a\nb\n')
  await feeder().feed(namedInputs([path]))
  await feeder().feed(namedInputs([path]))
  writeFileSync(path, 'a\nb\nc\n')
  await feeder().feed(namedInputs([path]))
  expect((await written()).sort()).toEqual(['a', 'b', 'c'])
})

test('a text that is named twice is read twice, each time once', async () => {
  const path = join(directory, 'text')
  writeFileSync(path, 'a\n')
  await feeder().feed(namedInputs([path, path]))
  await feeder().feed(namedInputs([path, path]))
  expect(await written()).toEqual(['a', 'a'])
})

test('a text that became shorter is refused', async () => {
  const path = join(directory, 'text')
  writeFileSync(path, 'a\nb\n')
  await feeder().feed(namedInputs([path]))
  truncateSync(path, 1)
  await expect(feeder().feed(namedInputs([path]))).rejects.toThrow('is shorter than')
})

test('an abort ends reading, and what was read is noted', async () => {
  const controller = new AbortController()
  const endless: TextInput = {
    progressName: '/endless',
    open: () =>
      Readable.from(
        (function* endlessly() {
          yield Buffer.from('one\ntwo\n')
          controller.abort()
          for (;;) yield Buffer.from('more\n')
        })(),
      ),
  }
  await feeder(controller.signal).feed([endless])
  const bytes = new ReadingProgress(join(directory, 'input.json')).bytesOf('/endless')
  const lines = await written()
  expect(lines.join('\n').length + 1).toBe(bytes)
})

test('a read error is the failure of the feeder', async () => {
  const broken: TextInput = {
    progressName: undefined,
    open: () =>
      new Readable({
        read() {
          this.destroy(new Error('no such sector'))
        },
      }),
  }
  await expect(feeder().feed([broken])).rejects.toThrow('no such sector')
})
