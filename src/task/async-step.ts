/**
 * The records of one operator whose code answers later, in the order in which they came:
 *
 *     push ──► waiting ──concurrency──► running ──► settled ──first in line──► forwarded
 *
 * A result never acts when it arrives: it waits here until the task has its turn, and until those
 * before it have gone. Java has no operator of the kind.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { AsyncQueue, AsyncStepOptions } from '../processor/async-step.ts'
import type { RecordContext } from '../store/state-store.ts'

/**
 * Calls that one record may bring. A step above that makes many records of one cannot be stopped in the
 * middle: all of them wait here.
 */
const callsPerRecordMax = 100_000

export interface AsyncStepPorts {
  readonly clock: Clock
  /** The task's: each call keeps a copy of it. */
  readonly record: RecordContext
  /** A result has come: the task is to have its turn. */
  readonly wake: () => void
  /** Runs work of the node: a failure is the node's, with what it was given and the record of the context. */
  readonly run: (work: () => void, given: { key: unknown; value: unknown }) => void
}

class Call {
  readonly key: unknown
  readonly value: unknown
  readonly record: RecordContext
  isSettled = false
  result: unknown
  failure: { readonly error: unknown } | undefined
  abort: AbortController | undefined
  timer: Timer | undefined

  constructor(key: unknown, value: unknown, record: RecordContext) {
    this.key = key
    this.value = value
    this.record = record
  }

  end(): void {
    this.isSettled = true
    this.timer?.cancel()
    this.timer = undefined
    this.abort = undefined
  }
}

/** One operator's calls in one task. */
export class AsyncStep implements AsyncQueue {
  readonly #options: AsyncStepOptions
  readonly #ports: AsyncStepPorts
  /** In the order of their records; those that began come first. */
  readonly #calls: Call[] = []
  #begun = 0
  #running = 0
  #isAborted = false
  /** Where the record of the last call came from, and how many calls it has brought. */
  #topic = ''
  #partition = -1
  #offset = -1
  #callsOfRecord = 0

  constructor(options: AsyncStepOptions, ports: AsyncStepPorts) {
    this.#options = options
    this.#ports = ports
  }

  /** No further record should come. One record may still bring several. */
  get isFull(): boolean {
    return this.#calls.length >= this.#options.concurrency
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0
  }

  /** The first in line has its result. */
  get isReady(): boolean {
    return this.#calls[0]?.isSettled === true
  }

  push(key: unknown, value: unknown): void {
    // Closing code of a task that was given up: nobody would hear of the result.
    if (this.#isAborted) return
    this.#count()
    this.#calls.push(new Call(key, value, { ...this.#ports.record }))
    this.#begin()
  }

  /** Counts one more call of the current record. A punctuation, and a flush, have no such bound. */
  #count(): void {
    const { topic, partition, offset } = this.#ports.record
    if (offset !== this.#offset || partition !== this.#partition || topic !== this.#topic) {
      this.#topic = topic
      this.#partition = partition
      this.#offset = offset
      this.#callsOfRecord = 0
    }
    this.#callsOfRecord += 1
    if (offset < 0 || this.#callsOfRecord <= callsPerRecordMax) return
    throw new RangeError(
      `one record brings more than ${callsPerRecordMax} calls: write what it is split into to a topic first, with repartition()`,
    )
  }

  /** Hands on the results that are there, as far as they are first in line; returns how many. */
  settle(): number {
    const record = this.#ports.record
    const calls = this.#calls
    let count = 0
    try {
      for (let call = calls[0]; call?.isSettled === true; call = calls[count]) {
        count += 1
        Object.assign(record, call.record)
        this.#handOn(call)
      }
    } finally {
      // All at once: one by one, each would move all that wait.
      calls.splice(0, count)
      this.#begun -= count
    }
    return count
  }

  #handOn(call: Call): void {
    this.#ports.run(() => {
      if (call.failure !== undefined) throw call.failure.error
      this.#options.settled(call.key, call.result)
    }, call)
  }

  /** The task is given up: what runs is told so, and nobody hears of its results. */
  abort(reason: Error): void {
    this.#isAborted = true
    for (const call of this.#calls.splice(0)) {
      const { abort } = call
      call.end()
      abort?.abort(reason)
    }
    this.#begun = 0
    this.#running = 0
  }

  #begin(): void {
    while (this.#running < this.#options.concurrency && this.#begun < this.#calls.length) {
      const call = this.#calls[this.#begun] as Call
      this.#begun += 1
      this.#running += 1
      this.#run(call)
    }
  }

  #run(call: Call): void {
    const { timeoutMs } = this.#options
    const abort = new AbortController()
    call.abort = abort
    call.timer = this.#ports.clock.setTimer(timeoutMs, () => {
      const error = new Error(`it has not answered within ${timeoutMs} ms`)
      this.#finish(call, undefined, { error })
      abort.abort(error)
    })
    try {
      Promise.resolve(this.#options.call(call.key, call.value, abort.signal)).then(
        (result) => this.#finish(call, result, undefined),
        (error: unknown) => this.#finish(call, undefined, { error }),
      )
    } catch (error) {
      this.#finish(call, undefined, { error })
    }
  }

  #finish(call: Call, result: unknown, failure: { readonly error: unknown } | undefined): void {
    // After its time was over, or after the task was given up, nobody waits for it.
    if (call.isSettled) return
    call.end()
    call.result = result
    call.failure = failure
    this.#running -= 1
    this.#begin()
    if (this.isReady) this.#ports.wake()
  }
}

/** All operators of a task whose code answers later. */
export class AsyncSteps {
  readonly #steps: AsyncStep[] = []

  add(step: AsyncStep): void {
    this.#steps.push(step)
  }

  /** The task has such operators. */
  get exist(): boolean {
    return this.#steps.length > 0
  }

  get isFull(): boolean {
    for (const step of this.#steps) if (step.isFull) return true
    return false
  }

  get isEmpty(): boolean {
    for (const step of this.#steps) if (!step.isEmpty) return false
    return true
  }

  /** Hands on what has its result; returns how many records that were. */
  settle(): number {
    let count = 0
    for (const step of this.#steps) count += step.settle()
    return count
  }

  abort(reason: Error): void {
    for (const step of this.#steps) step.abort(reason)
  }
}
