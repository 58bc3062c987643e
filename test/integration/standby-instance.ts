/**
 * A process that serves the word count with a standby for each store, for as long as it lives. Prints its
 * address when it runs. The test kills it.
 *
 *     node --import tsx standby-instance.ts <broker> <application> <topic> <directory> <guarantee> <protocol>
 */
import { StreamsBuilder, serdes, topic } from '../../src/index.ts'
import { serve } from '../../src/server/index.ts'
import { wordCounts } from './word-count.ts'

const [broker = '', applicationId = '', lines = '', stateDir = '', guarantee, protocol] =
  process.argv.slice(2)
const builder = new StreamsBuilder()
builder
  .stream(topic(lines, { value: serdes.string }))
  .flatMapValues((line) => line.split(' '))
  .groupBy((word) => word, { key: serdes.string, value: serdes.string })
  .count({ store: wordCounts })
const service = await serve(builder.build(), {
  applicationId,
  brokers: [broker],
  stateDir,
  commitInterval: 100,
  processingGuarantee: guarantee === 'exactly-once' ? 'exactly-once' : 'at-least-once',
  groupProtocol: protocol === 'streams' ? 'streams' : 'classic',
  // What a killed owner leaves open is to be ended by the next one, not by its timeout.
  transactionTimeout: 600_000,
  sessionTimeout: 6_000,
  heartbeatInterval: 500,
  standbyReplicas: 1,
  http: { port: 0 },
  expose: { 'word-counts': { operations: ['get', 'range'] } },
  logger: 'silent',
})
process.stdout.write(`${service.url}\n`)
await service.closed
