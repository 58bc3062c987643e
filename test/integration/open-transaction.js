/**
 * A process with a thread that writes to LMDB without a pause, and ends in the way that is asked for:
 *
 *     node open-transaction.js <exit|throw|terminate|process|stuck> <directory>
 *
 * `stuck`: the thread does not come out of a transaction any more.
 */
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'

const built = new URL('../../dist/', import.meta.url)
const { WriteGate, setOwnGate } = await import(new URL('kv/write-gate.js', built).href)
const { systemPorts } = await import(new URL('config.js', built).href)

if (isMainThread) {
  const { ThreadEnd } = await import(new URL('threads/thread-end.js', built).href)
  const [, , deed, directory] = process.argv
  const gate = new WriteGate()
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { deed, directory, shared: gate.shared },
  })
  // A hundred seconds are one.
  const { clock } = systemPorts
  const end = new ThreadEnd(thread, {
    gate,
    clock: {
      ...clock,
      monotonic: () => clock.monotonic() * 100,
      setTimer: (/** @type {number} */ ms, /** @type {() => void} */ callback) =>
        clock.setTimer(ms / 100, callback),
    },
  })
  thread.on('error', ({ message }) => console.log(message))
  thread.on('exit', () => console.log('the thread has ended'))
  thread.on('message', () => {
    if (deed === 'process') process.exit(7)
    if (deed === 'terminate' || deed === 'stuck') void end.force().then(console.log)
  })
} else {
  const { lmdbEngine } = await import(new URL('kv/lmdb-engine.js', built).href)
  const { deed, directory, shared } = workerData
  setOwnGate(new WriteGate(shared))
  const engine = lmdbEngine(systemPorts)(directory)
  const table = engine.table('rows')
  const isBusy = deed === 'terminate' || deed === 'process'
  const roundsMax = isBusy ? Infinity : 1
  for (let rounds = 0; rounds < roundsMax; rounds += 1) {
    const transaction = engine.begin()
    for (let row = 0; row < 1000; row += 1) {
      transaction.put(table, Buffer.from(`key-${row}`), Buffer.from(`value-${rounds}`))
    }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
    if (rounds === 10 || !isBusy) parentPort?.postMessage('open')
    if (deed === 'stuck') for (;;);
    transaction.commit()
  }
  if (deed === 'throw') throw new Error('it is bad')
}
