/**
 * A process with a thread that has a transaction of LMDB open, and ends in the way that is asked for:
 *
 *     node open-transaction.js <exit|throw|process> <directory>
 */
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'

const built = new URL('../../dist/', import.meta.url)
const { makeGone, tellGone, watchThread } = await import(
  new URL('threads/live-threads.js', built).href
)

if (isMainThread) {
  const [, , deed, directory] = process.argv
  const gone = makeGone()
  const thread = new Worker(new URL(import.meta.url), { workerData: { deed, directory, gone } })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
  const watch = watchThread({ gone, askToExit: () => thread.postMessage('exit') })
  thread.on('error', ({ message }) => console.log(message))
  thread.on('exit', () => {
    watch[Symbol.dispose]()
    console.log('the thread has ended')
  })
  thread.on('message', () => {
    if (deed === 'process') process.exit(7)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
    else thread.postMessage(deed)
  })
} else {
  const { lmdbEngine } = await import(new URL('kv/lmdb-engine.js', built).href)
  const { systemPorts } = await import(new URL('config.js', built).href)
  const { directory, gone } = workerData
  process.on('exit', () => tellGone(gone))
  const engine = lmdbEngine(systemPorts)(directory)
  const table = engine.table('rows')
  const transaction = engine.begin()
  transaction.put(table, Buffer.from('key'), Buffer.from('value'))
  parentPort?.on('message', (deed) => {
    if (deed === 'throw') throw new Error('it is bad')
    process.exit()
  })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
  parentPort?.postMessage('open')
}
