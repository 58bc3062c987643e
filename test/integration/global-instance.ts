/**
 * A process that keeps a global table for as long as it lives. Prints a line when it is restored, with
 * the number of records that this took, and one for each thousand records that follow. The test kills it.
 *
 *     node --import tsx global-instance.ts <broker> <topic> <directory>
 */
import { KafkaStreams, StreamsBuilder, serdes, topic } from '../../src/index.ts'
import { countries } from './global-tables.ts'

const [broker = '', name = '', stateDir = ''] = process.argv.slice(2)
const builder = new StreamsBuilder()
builder.globalTable(topic(name, { key: serdes.string, value: serdes.string }), { store: countries })
const streams = new KafkaStreams(builder.build(), {
  applicationId: 'global',
  brokers: [broker],
  stateDir,
  commitInterval: 20,
  logger: 'silent',
})
await streams.start()
process.stdout.write(`restored ${streams.metrics.recordsRestored.value}\n`)
let told = 0
setInterval(() => {
  const records = streams.metrics.recordsProcessed.value
  if (records < told + 1000) return
  told = records
  process.stdout.write(`followed ${records}\n`)
}, 5)
