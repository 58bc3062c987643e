import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { FamilyReading } from '../metrics/merged-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { WorkerListener } from '../runtime/stream-worker.ts'
import type { LocalTask } from '../runtime/streams-metadata.ts'
import type { StoredOffsets } from '../runtime/task-stores.ts'
import type { StateBytes, StoreLag, WorkerHandle } from '../runtime/worker-handle.ts'
import type { TaskStates } from '../runtime/worker-tasks.ts'
import { WriteGate } from '../kv/write-gate.ts'
import { ThreadEnd } from './thread-end.ts'
import { threadEntry } from './thread-entry.ts'
import { readError } from '../query/wire-values.ts'
import type { FromWorker, ToWorker, WorkerReport, WorkerStart } from './worker-messages.ts'

/** A thread whose connections are cut has so long to end by itself. */
const patienceMs = 3000
/** Between two looks whether the thread works. */
const lookMs = 5000
/** Who has told nothing for so many looks is worth a line. */
const silentLooksMax = 3
/** Who does not get on in a write for so many looks does not come out of it any more. */
const stuckLooksMax = 6

const nothing: WorkerReport = { tasks: [], lags: [], partitionCounts: new Map(), metrics: [] }

export interface ThreadWorkerOptions {
  readonly start: Omit<WorkerStart, 'queries' | 'stored' | 'gate'>
  /** Who says which directories it may open. */
  readonly states: TaskStates
  readonly clock: Clock
  readonly log: Log
  readonly listener: WorkerListener
  /** There is news of what the worker has and has counted. */
  readonly onReport: () => void
  /** Asks its stores through this port, until it is closed. */
  readonly connect: (port: MessagePort) => { close(): void }
  /** Has all instances stopped, whatever has become of the thread. Never rejects. */
  readonly stopApplication: (reason: string) => Promise<void>
}

/**
 * A worker in a thread of its own, as the main thread sees it. A thread that ends without having said so, by
 * `process.exit`, an error that nobody caught, or for want of memory, is a worker that has failed. One that
 * cannot be ended is lost: what it has open stays open, for as long as the process lives.
 */
export class ThreadWorker implements WorkerHandle {
  readonly #options: ThreadWorkerOptions
  readonly #done: Promise<void>
  #resolveDone: () => void = () => undefined
  #worker: Worker | undefined
  #queries: { close(): void } | undefined
  readonly #early: ToWorker[] = []
  #report = nothing
  /** What nobody caught in the thread. */
  #uncaught: unknown
  #hasFailed = false
  #hasEnded = false
  readonly #gate = new WriteGate()
  #threadEnd: ThreadEnd | undefined
  #lost: StreamsError | undefined
  #deadline: Timer | undefined
  #look: Timer | undefined
  #silentLooks = 0
  #stuckLooks = 0
  /** Of the gate, at the last look. */
  #steps = 0

  constructor(options: ThreadWorkerOptions) {
    this.#options = options
    this.#done = new Promise((resolve) => {
      this.#resolveDone = resolve
    })
  }

  start(): void {
    const { start, states, connect, clock } = this.#options
    const { port1, port2 } = new MessageChannel()
    const gate = this.#gate
    const stored = states.storedOffsets()
    const workerData: WorkerStart = { ...start, queries: port2, stored, gate: gate.shared }
    const worker = new Worker(threadEntry, {
      workerData,
      transferList: [port2],
      name: `millpond-worker-${start.number}`,
    })
    this.#worker = worker
    this.#queries = connect(port1)
    worker.on('message', (message: FromWorker) => this.#receive(message))
    worker.on('error', (error: unknown) => {
      this.#uncaught = error
    })
    this.#threadEnd = new ThreadEnd(worker, { gate, clock })
    worker.on('exit', (code) => this.#exit(code))
    this.#lookLater()
    for (const message of this.#early.splice(0)) this.#post(message)
  }

  #post(message: ToWorker): void {
    if (this.#worker === undefined) this.#early.push(message)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
    else this.#worker.postMessage(message)
  }

  #lookLater(): void {
    this.#look = this.#options.clock.setTimer(lookMs, () => {
      this.#lookAtThread()
      if (!this.#hasEnded) this.#lookLater()
    })
  }

  /** A thread that ran out of memory while it wrote has no other way to say so. */
  #lookAtThread(): void {
    const { log, start } = this.#options
    this.#silentLooks += 1
    if (this.#silentLooks === silentLooksMax) {
      log.warn('the thread of a worker has told nothing for long', { worker: start.number })
    }
    const { isInside, steps } = this.#gate
    this.#stuckLooks = isInside && steps === this.#steps ? this.#stuckLooks + 1 : 0
    this.#steps = steps
    if (this.#stuckLooks >= stuckLooksMax) void this.#forceEnd()
  }

  /** Resolves when the thread has ended, or is given up. Never rejects. */
  async #forceEnd(): Promise<void> {
    if (this.#threadEnd === undefined || (await this.#threadEnd.force()) === 'gone') return
    if (this.#lost !== undefined) return
    const worker = this.#options.start.number
    const detail = this.#gate.isInside
      ? 'it does not come out of a write to its state, for want of memory or because the disk does not answer'
      : 'what it runs does not let it'
    this.#lost = new StreamsError('WORKER_DIED', { worker, end: 'none', detail })
    this.#end()
  }

  #receive(message: FromWorker): void {
    this.#silentLooks = 0
    const { listener, log, states, onReport } = this.#options
    switch (message.kind) {
      case 'status':
        return listener.onStatus(message.status)
      case 'hosts':
        return listener.onHosts(message.hosts)
      case 'restore':
        return listener.onRestore(message.progress)
      case 'standbyUpdate':
        return listener.onStandbyUpdate(message.update)
      case 'log':
        return log[message.level](message.message, message.fields)
      case 'report':
        this.#report = message.report
        return onReport()
      case 'claim':
        void this.#claim(message.claim, message.ids)
        return
      case 'release':
        return states.release(message.ids)
      case 'failure':
        return this.#fail(readError(message.error))
      case 'ended':
        return this.#end()
      default:
        message satisfies never
    }
  }

  async #claim(claim: number, wanted: readonly TaskId[]): Promise<void> {
    const { states } = this.#options
    const ids = await states.claim(wanted, () => this.#post({ kind: 'free' }))
    this.#post({ kind: 'claimed', claim, ids: [...ids] })
  }

  #exit(code: number): void {
    if (!this.#hasEnded) this.#fail(this.#death(code))
    this.#end()
  }

  #death(code: number): StreamsError {
    const worker = this.#options.start.number
    const uncaught = this.#uncaught
    if (uncaught === undefined) {
      const detail = `process.exit was called in it, or it was ended from outside, with code ${code}`
      return new StreamsError('WORKER_DIED', { worker, detail })
    }
    const detail = messageOf(uncaught)
    return new StreamsError('WORKER_DIED', { worker, detail }, { cause: uncaught })
  }

  #fail(error: Error): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#options.listener.onFailure(error)
  }

  #end(): void {
    this.#hasEnded = true
    this.#deadline?.cancel()
    this.#look?.cancel()
    this.#queries?.close()
    // It has nothing any more; what it has counted was counted.
    this.#report = { ...nothing, metrics: this.#report.metrics }
    this.#resolveDone()
  }

  get done(): Promise<void> {
    return this.#done
  }

  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#post({ kind: 'stop', mode })
    await this.#done
  }

  /** The thread leaves the group at its own pace: `stopApplication` reaches the others by a request. */
  announceStop(): void {}

  stopApplication(reason: string): Promise<void> {
    return this.#options.stopApplication(reason)
  }

  async cut(): Promise<void> {
    if (this.#hasEnded) return
    this.#post({ kind: 'cut' })
    // One that hangs does not hear it.
    this.#deadline ??= this.#options.clock.setTimer(patienceMs, () => void this.#forceEnd())
  }

  async close(): Promise<StreamsError | undefined> {
    this.#deadline?.cancel()
    await this.#forceEnd()
    return this.#lost
  }

  pause(): void {
    this.#post({ kind: 'pause' })
  }

  resume(): void {
    this.#post({ kind: 'resume' })
  }

  shareMemory(workers: number): void {
    this.#post({ kind: 'share', workers })
  }

  /** How far the state of tasks is by now that nobody holds. */
  setStored(stored: StoredOffsets): void {
    this.#post({ kind: 'stored', stored })
  }

  // What the thread has told last.

  tasks(): LocalTask[] {
    return [...this.#report.tasks]
  }

  storeLags(): StoreLag[] {
    return [...this.#report.lags]
  }

  /** Its stores are asked through `connect`. */
  held(): undefined {
    return undefined
  }

  partitionCount(store: string): number | undefined {
    return this.#report.partitionCounts.get(store)
  }

  metrics(): readonly FamilyReading[] {
    return this.#report.metrics
  }

  stateBytes(): StateBytes {
    return { memory: 0, dirty: 0 }
  }
}
