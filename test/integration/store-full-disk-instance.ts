/**
 * A process that keeps a table on disk. Ends with the code of the error that ends the instance, or, when
 * it holds as many rows as are wanted, with how many of them have the value that belongs to their key.
 *
 *     node --import tsx store-full-disk-instance.ts <broker> <topic> <directory> <rows>
 */
import {
  KafkaStreams,
  StreamsBuilder,
  StreamsError,
  keyValueStore,
  serdes,
  topic,
} from '../../src/index.ts'
import { until } from './until.ts'

const [broker = '', name = '', stateDir = '', wanted = ''] = process.argv.slice(2)
const rows = keyValueStore('rows', { key: serdes.string, value: serdes.string })
const builder = new StreamsBuilder()
builder.table(topic(name, { key: serdes.string, value: serdes.string }), { store: rows })
const streams = new KafkaStreams(builder.build(), {
  applicationId: 'full-disk',
  brokers: [broker],
  stateDir,
  commitInterval: 20,
  sessionTimeout: 1_500,
  heartbeatInterval: 100,
  logger: 'silent',
})

async function count(): Promise<string> {
  let right = 0
  let total = 0
  for await (const [key, value] of streams.store(rows).range()) {
    total += 1
    if (value.startsWith(`${key}:`)) right += 1
  }
  return total === Number(wanted) ? `${right} of ${total} rows are right` : ''
}

const failed = new Promise<string>((resolve) => {
  streams.on('error', (error) => {
    resolve(error instanceof StreamsError ? error.code : String(error))
  })
})
await streams.start().catch(() => undefined)
const line = await Promise.race([failed, until(count)])
await streams.close({ timeout: 5_000 }).catch(() => undefined)
process.stdout.write(`${line}, ${streams.state}\n`)
process.exit(0)
