/**
 * A process of several threads that counts exactly once for as long as it lives: see threaded-words.js.
 * Prints how many tasks each of its workers has, as JSON, whenever that is another number. The test kills
 * it, or ends it with SIGTERM; with SIGUSR2 it exits as it is, with 7.
 *
 *     node threaded-instance.js <module> <broker> <application> <directory> <protocol>
 */
import { once } from 'node:events'
import process from 'node:process'
import { setInterval } from 'node:timers'
import { KafkaStreams } from 'millpond'

const [module = '', broker = '', applicationId = '', stateDir = '', protocol] =
  process.argv.slice(2)
const streams = new KafkaStreams(new URL(module), {
  applicationId,
  brokers: [broker],
  stateDir,
  workers: 2,
  processingGuarantee: 'exactly-once',
  sessionTimeout: 3000,
  heartbeatInterval: 300,
  commitInterval: 100,
  // Tasks move at once, however much was counted before another process was there.
  acceptableRecoveryLag: 1_000_000_000,
  groupProtocol: protocol === 'streams' ? 'streams' : 'classic',
  logger: 'silent',
})
let told = ''
const telling = setInterval(() => {
  const counts = JSON.stringify(
    streams.localWorkers().map(({ tasks }) => tasks.filter(({ role }) => role === 'active').length),
  )
  if (counts !== told) process.stdout.write(`${counts}\n`)
  told = counts
}, 50)
process.once('SIGUSR2', () => process.exit(7))
const ending = new AbortController()
void once(process, 'SIGTERM').then(() => ending.abort())
await streams.run({ signal: ending.signal })
clearInterval(telling)
