import { MessageChannel, Worker, receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { StreamsError } from '../errors.ts'
import type { LoadedRocksdb } from './rocksdb-binding.ts'
import { RocksdbFailure } from './rocksdb-failure.ts'

/** What the thread is given when it starts: the file of the native code, and a flag that it runs. */
export interface KeeperSettings {
  readonly path: string
  readonly running: Int32Array
}

/** To the thread: what to do, where the answer goes, and what wakes up who waits. */
export type KeeperRequest = KeeperWork & { readonly port: MessagePort; readonly flag: Int32Array }

export type KeeperWork =
  | { readonly kind: 'open'; readonly path: string; readonly options: object }
  | { readonly kind: 'close'; readonly handle: bigint }

export type KeeperAnswer =
  | { readonly handle: bigint }
  | { readonly failure: string; readonly code: string | undefined }

/** Opening reads the log of writes that was not flushed, at most some hundred megabytes. */
const answerMsMax = 600_000
const startMsMax = 30_000

const newFlag = (): Int32Array => new Int32Array(new SharedArrayBuffer(4))

function unavailable(detail: string): StreamsError {
  return new StreamsError('ENGINE_UNAVAILABLE', { engine: 'rocksdb', detail })
}

/**
 * Opens and closes databases, each in one step, by a thread of its own (`rocksdb-thread.js`). The
 * thread is started with the first database, and does not keep the process alive.
 */
export class RocksdbKeeper {
  static #only: RocksdbKeeper | undefined
  readonly #path: string
  #worker: Worker | undefined

  private constructor(path: string) {
    this.#path = path
  }

  /** The one of this thread. */
  static for({ path }: LoadedRocksdb): RocksdbKeeper {
    const keeper = RocksdbKeeper.#only
    if (keeper !== undefined && keeper.#path === path) return keeper
    return (RocksdbKeeper.#only = new RocksdbKeeper(path))
  }

  /** The handle of the database. Throws {@link RocksdbFailure}. */
  open(path: string, options: object): bigint {
    return this.#ask({ kind: 'open', path, options })
  }

  /** Throws {@link RocksdbFailure}; it is closed also then. */
  close(handle: bigint): void {
    this.#ask({ kind: 'close', handle })
  }

  #ask(work: KeeperWork): bigint {
    const flag = newFlag()
    const { port1, port2 } = new MessageChannel()
    try {
      this.#startedWorker().postMessage({ ...work, port: port2, flag }, [port2])
      Atomics.wait(flag, 0, 0, answerMsMax)
      const received: { message: KeeperAnswer } | undefined = receiveMessageOnPort(port1)
      if (received === undefined) throw unavailable('the thread that opens its files is silent')
      const answer = received.message
      if ('failure' in answer) throw new RocksdbFailure(answer.failure, answer.code)
      return answer.handle
    } finally {
      port1.close()
    }
  }

  #startedWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const running = newFlag()
    const settings: KeeperSettings = { path: this.#path, running }
    const worker = new Worker(new URL('./rocksdb-thread.js', import.meta.url), {
      workerData: settings,
      name: 'millpond-rocksdb',
      // What the program was started with is not for this thread, which runs on nothing but Node.
      execArgv: [],
    })
    worker.unref()
    // It is told where somebody waits for it.
    worker.on('error', () => undefined)
    if (Atomics.wait(running, 0, 0, startMsMax) === 'timed-out') {
      void worker.terminate()
      throw unavailable('the thread that opens its files does not start (rocksdb-thread.js)')
    }
    this.#worker = worker
    return worker
  }
}
