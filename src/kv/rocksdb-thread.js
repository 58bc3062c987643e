/**
 * The thread that opens and closes databases. The package does both by callback, and an engine is
 * opened in one step: so the thread of the engine sleeps on a flag until this one has done it.
 *
 *     thread of the engine                  this thread
 *     postMessage(open, port, flag)    -->  db_open, which calls back
 *     Atomics.wait(flag)                    ...
 *     receiveMessageOnPort(port)       <--  port.postMessage(handle), Atomics.notify(flag)
 *     db_init(handle)
 *
 * A database belongs to the thread that opened it, and is closed with it: this one lives as long as
 * the other, and holds all that are open.
 *
 * This file is JavaScript because Node starts it as it is, from the sources as well as from dist/.
 */
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

/** @typedef {import('./rocksdb-keeper.ts').KeeperAnswer} KeeperAnswer */
/** @typedef {import('./rocksdb-keeper.ts').KeeperRequest} KeeperRequest */
/** @typedef {import('./rocksdb-keeper.ts').KeeperSettings} KeeperSettings */
/** @typedef {import('./rocksdb-binding.ts').NativeDatabase} NativeDatabase */
/** @typedef {import('./rocksdb-binding.ts').RocksdbBinding} RocksdbBinding */

const { path, running } = /** @type {KeeperSettings} */ (workerData)
const require = createRequire(import.meta.url)

/** @type {Map<bigint, NativeDatabase>} */
const databases = new Map()

Atomics.store(running, 0, 1)
Atomics.notify(running, 0)

parentPort?.on('message', (/** @type {KeeperRequest} */ request) => {
  /** @type {(answer: KeeperAnswer) => void} */
  const settle = (answer) => {
    // The answer first: whoever sees the flag takes it at once.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
    request.port.postMessage(answer)
    Atomics.store(request.flag, 0, 1)
    Atomics.notify(request.flag, 0)
    request.port.close()
  }
  try {
    if (request.kind === 'open') open(request, settle)
    else close(request, settle)
  } catch (error) {
    settle(failureOf(error))
  }
})

/**
 * @param {KeeperRequest & { kind: 'open' }} request
 * @param {(answer: KeeperAnswer) => void} settle
 */
function open({ path: location, options }, settle) {
  const binding = nativeCode()
  const database = binding.db_init(location)
  binding.db_open(database, options, (error) => {
    if (error) {
      settle(failureOf(error))
      return
    }
    const handle = binding.db_get_handle(database)
    databases.set(handle, database)
    settle({ handle })
  })
}

/**
 * @param {KeeperRequest & { kind: 'close' }} request
 * @param {(answer: KeeperAnswer) => void} settle
 */
function close({ handle }, settle) {
  const database = databases.get(handle)
  if (database === undefined) {
    settle({ handle })
    return
  }
  nativeCode().db_close(database, (error) => {
    databases.delete(handle)
    settle(error ? failureOf(error) : { handle })
  })
}

/** @returns {RocksdbBinding} */
function nativeCode() {
  // Loaded once; a failure is an answer, not the end of this thread.
  return require(path)
}

/**
 * @param {unknown} error
 * @returns {KeeperAnswer}
 */
function failureOf(error) {
  if (!(error instanceof Error)) return { failure: String(error), code: undefined }
  const { code } = /** @type {NodeJS.ErrnoException} */ (error)
  return { failure: error.message, code }
}
