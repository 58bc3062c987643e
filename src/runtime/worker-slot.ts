import { sleep, type Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { Backoff } from '../client/backoff.ts'
import { messageOf, type StreamsError } from '../errors.ts'
import type { WorkerListener } from './stream-worker.ts'
import type { WorkerHandle, WorkerStatus } from './worker-handle.ts'

/** First and longest wait before a worker that failed is replaced. */
const replaceBackoffMs = 500
const replaceBackoffMaxMs = 30_000

/** A worker that has lived longer fails for a new reason: its successor need not wait long. */
const calmMs = 60_000

/** What follows the failure of a worker. */
export type FailureVerdict =
  | { readonly kind: 'replace' }
  | { readonly kind: 'end'; readonly stopApplication?: string | undefined }

/** Hears of the workers of a slot, one after the other, besides what these tell by themselves. */
export interface SlotListener extends Omit<WorkerListener, 'onStatus' | 'onFailure'> {
  /** The status of the slot is another one. */
  onStatus(): void
  /** A worker cannot go on. */
  onFailure(error: Error): FailureVerdict
  /** A worker has ended. `lost`: what it had open is not closed, and no other one begins. */
  onEnd(lost: StreamsError | undefined): void
}

export interface WorkerSlotOptions {
  /** From 1; part of the worker's transactional id, and with it of what it leaves behind. */
  readonly number: number
  readonly clock: Clock
  readonly random: Random
  readonly make: (listener: WorkerListener) => WorkerHandle
  readonly listener: SlotListener
}

/**
 * A place for a worker in an instance: one that fails is followed by another one with the same number, as
 * long as its instance says so.
 */
export class WorkerSlot {
  readonly #options: WorkerSlotOptions
  readonly #backoff: Backoff
  /** Aborted: no worker begins any more. */
  readonly #stopping = new AbortController()
  #worker: WorkerHandle | undefined
  #status: WorkerStatus = 'starting'
  #verdict: FailureVerdict = { kind: 'end' }
  #lost: StreamsError | undefined
  #isPaused = false
  #isWorking = false
  #done: Promise<void> = Promise.resolve()

  constructor(options: WorkerSlotOptions) {
    this.#options = options
    const { random } = options
    this.#backoff = new Backoff({ baseMs: replaceBackoffMs, maxMs: replaceBackoffMaxMs, random })
  }

  get number(): number {
    return this.#options.number
  }

  get status(): WorkerStatus {
    return this.#status
  }

  /** True: it is to end, or has. */
  get isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  /** True: the worker has begun, and not ended. */
  get isWorking(): boolean {
    return this.#isWorking
  }

  /** Why its worker could not be ended. */
  get lost(): StreamsError | undefined {
    return this.#lost
  }

  /** The one that works, or worked last; undefined before the first. */
  get worker(): WorkerHandle | undefined {
    return this.#worker
  }

  start(): void {
    this.#done = this.#run()
  }

  /** Resolves when the last worker has ended. Never rejects. */
  get done(): Promise<void> {
    return this.#done
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#verdict = { kind: 'end' }
      const startedAt = clock.monotonic()
      await this.#runWorker()
      if (this.#verdict.kind === 'end') return
      if (clock.monotonic() - startedAt > calmMs) this.#backoff.reset()
      await sleep(clock, this.#backoff.next(), signal)
    }
  }

  async #runWorker(): Promise<void> {
    const { listener } = this.#options
    const worker = this.#begin()
    if (worker === undefined) return
    await worker.done
    const { stopApplication } = { stopApplication: undefined, ...this.#verdict }
    if (stopApplication !== undefined) await worker.stopApplication(stopApplication)
    this.#lost = await worker.close()
    if (this.#lost !== undefined) this.#verdict = { kind: 'end' }
    listener.onEnd(this.#lost)
    this.#isWorking = false
  }

  /** Undefined: it could not begin, which is a failure as any other. */
  #begin(): WorkerHandle | undefined {
    const { make, listener } = this.#options
    try {
      const worker = make({
        ...listener,
        onStatus: (status) => this.#setStatus(status),
        onFailure: (error) => this.#failed(error),
      })
      if (this.#isPaused) worker.pause()
      worker.start()
      this.#worker = worker
      this.#isWorking = true
      return worker
    } catch (error) {
      this.#failed(error instanceof Error ? error : new Error(messageOf(error)))
      return undefined
    }
  }

  #setStatus(status: WorkerStatus): void {
    this.#status = status
    this.#options.listener.onStatus()
  }

  #failed(error: Error): void {
    this.#verdict = this.#options.listener.onFailure(error)
    if (this.#verdict.kind === 'replace') this.#setStatus('starting')
    // Said while it leaves, where its protocol can; otherwise after it has ended.
    else if (this.#verdict.stopApplication !== undefined) this.#worker?.announceStop()
  }

  /** Ends the worker; see {@link WorkerHandle.stop}. */
  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#stopping.abort()
    await this.#worker?.stop(mode)
    await this.#done
  }

  pause(): void {
    this.#isPaused = true
    this.#worker?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#worker?.resume()
  }
}
