/**
 * Requests over HTTP, by a thread of their own (`http-worker.js`), so that a serde can wait for an
 * answer. The thread is started by the first request and does not keep the process alive.
 */
import { MessageChannel, Worker, receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { sleep } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import type { Exchange, RegistryAnswer, RegistryRequest } from './exchange.ts'
import type { RegistryTls } from './registry-options.ts'

/** What the thread is given when it starts. */
export interface WorkerSettings {
  readonly headers: Readonly<Record<string, string>>
  readonly tls: RegistryTls
}

/** A request on its way to the thread, with where the answer goes and what wakes up who waits. */
export interface WorkerRequest extends RegistryRequest {
  readonly port: MessagePort
  readonly flag: Int32Array
}

/** How much longer than a request may take is waited for the thread, which may have to start first. */
const threadGraceMs = 5000

const noAnswer: RegistryAnswer = { failure: 'the thread that asks gives no answer' }
const closed: RegistryAnswer = { failure: 'the client is closed' }

export class HttpExchange implements Exchange {
  readonly #settings: WorkerSettings
  readonly #secrets: readonly string[]
  readonly #clock: Clock
  readonly #closing = new AbortController()
  /** Ends of requests that nobody waits for in place, to be told when the thread ends. */
  readonly #waiting = new Set<(answer: RegistryAnswer) => void>()
  /** By path: whoever asks for the same at the same time shares the answer. */
  readonly #inFlight = new Map<string, Promise<RegistryAnswer>>()
  #worker: Worker | undefined

  /** `secrets` are texts that must not be shown, whoever says them. */
  constructor(options: WorkerSettings & { secrets: readonly string[]; clock: Clock }) {
    this.#settings = { headers: options.headers, tls: options.tls }
    this.#secrets = options.secrets
    this.#clock = options.clock
  }

  requestNow(request: RegistryRequest): RegistryAnswer {
    if (this.#closing.signal.aborted) return closed
    const flag = newFlag()
    const { port1, port2 } = new MessageChannel()
    try {
      this.#startedWorker().postMessage({ ...request, port: port2, flag }, [port2])
      Atomics.wait(flag, 0, 0, request.timeoutMs + threadGraceMs)
      const received: { message: RegistryAnswer } | undefined = receiveMessageOnPort(port1)
      return this.#cleaned(received?.message ?? noAnswer)
    } finally {
      port1.close()
    }
  }

  request(request: RegistryRequest): Promise<RegistryAnswer> {
    if (request.method !== 'GET') return this.#send(request)
    const key = `${request.server}${request.path}`
    const known = this.#inFlight.get(key)
    if (known !== undefined) return known
    const answer = this.#send(request).finally(() => this.#inFlight.delete(key))
    this.#inFlight.set(key, answer)
    return answer
  }

  pauseNow(ms: number): void {
    Atomics.wait(newFlag(), 0, 0, ms)
  }

  pause(ms: number): Promise<void> {
    return sleep(this.#clock, ms, this.#closing.signal)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const worker = this.#worker
    this.#worker = undefined
    for (const settle of this.#waiting) settle(closed)
    await worker?.terminate()
  }

  #send(request: RegistryRequest): Promise<RegistryAnswer> {
    if (this.#closing.signal.aborted) return Promise.resolve(closed)
    const { port1, port2 } = new MessageChannel()
    return new Promise((resolve) => {
      const settle = (answer: RegistryAnswer): void => {
        this.#waiting.delete(settle)
        port1.close()
        resolve(this.#cleaned(answer))
      }
      this.#waiting.add(settle)
      port1.once('message', settle)
      this.#startedWorker().postMessage({ ...request, port: port2, flag: newFlag() }, [port2])
    })
  }

  #startedWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(new URL('./http-worker.js', import.meta.url), {
      workerData: this.#settings,
      name: 'millpond-schema-registry',
      // What the program was started with is not for this thread, which runs on nothing but Node.
      execArgv: [],
    })
    worker.unref()
    worker.on('error', (error) => this.#ended(worker, { failure: messageOf(error) }))
    worker.on('exit', () => this.#ended(worker, noAnswer))
    this.#worker = worker
    return worker
  }

  /** The next request starts another thread. */
  #ended(worker: Worker, answer: RegistryAnswer): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const settle of this.#waiting) settle(answer)
  }

  /** A server, or something before it, may repeat what it was sent when it refuses it. */
  #cleaned(answer: RegistryAnswer): RegistryAnswer {
    if ('failure' in answer || answer.status < 300) return answer
    const text = this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), answer.text)
    return { status: answer.status, text }
  }
}

function newFlag(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4))
}
