/**
 * A service that copies records and counts them by key, until SIGTERM. Prints `running` when it has its tasks;
 * from the signal on each request to the broker that is of interest, with whether the port takes connections
 * when it goes out; and `ended` at last.
 *
 *     node --import tsx drain-instance.ts <settings as JSON>
 */
import { spawnSync } from 'node:child_process'
import { serve } from '../../src/server/index.ts'
import { shutdownSignal } from '../../src/base/shutdown-signal.ts'
import { systemPorts } from '../../src/config.ts'
import { produce } from '../../src/protocol/messages/0-produce.ts'
import { leaveGroup } from '../../src/protocol/messages/13-leave-group.ts'
import { endTxn } from '../../src/protocol/messages/26-end-txn.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { drainConfig, drainTopology, type DrainSettings } from './drain-topology.ts'
import { WatchedTransport } from './watched-transport.ts'

const settings = JSON.parse(process.argv[2] ?? '') as DrainSettings
const signal = shutdownSignal()
const watched = new Map(
  [produce, offsetCommit, endTxn, leaveGroup].map(({ key, name }) => [key, name]),
)
let port = ''
let seen = ''

/** Asked of another process, which waits for its answer: so it is known before the request goes out. */
function isOpen(): boolean {
  const probe = `require('net').connect(${port}, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(1))`
  return spawnSync(process.execPath, ['-e', probe]).status === 0
}

const transport = new WatchedTransport((apiKey) => {
  const name = watched.get(apiKey)
  if (!signal.aborted || name === undefined) return
  // What follows the same is the same: an answer for each record would take too long.
  if (name === seen) return
  seen = name
  process.stdout.write(`${name} ${name !== produce.name && isOpen() ? 'open' : ''}\n`)
})
const service = await serve(
  drainTopology(settings),
  { ...drainConfig(settings), http: { port: 0 }, signal },
  { ...systemPorts, transport },
)
port = new URL(service.url).port
process.stdout.write('running\n')
await service.closed
process.stdout.write('ended\n')
