/**
 * A process that counts exactly once for as long as it lives: see exactly-once-words.ts. Prints `running`
 * each time that it has its tasks. The test kills it, or ends it with SIGTERM.
 *
 *     node --import tsx exactly-once-instance.ts <broker> <application> <input> <copies> <directory> <session ms> <protocol>
 */
import { shutdownSignal } from '../../src/base/shutdown-signal.ts'
import { KafkaStreams } from '../../src/index.ts'
import { countingTopology } from './exactly-once-words.ts'

const [
  broker = '',
  applicationId = '',
  input = '',
  copies = '',
  stateDir = '',
  session = '',
  protocol,
] = process.argv.slice(2)
const streams = new KafkaStreams(countingTopology({ input, copies }), {
  applicationId,
  brokers: [broker],
  stateDir,
  processingGuarantee: 'exactly-once',
  sessionTimeout: Number(session),
  heartbeatInterval: 300,
  groupProtocol: protocol === 'streams' ? 'streams' : 'classic',
  logger: 'silent',
})
streams.on('stateChange', (state) => {
  if (state === 'running') process.stdout.write('running\n')
})
await streams.run({ signal: shutdownSignal() })
