import type { Clock, Timer } from '../base/clock.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { AnyStore } from '../store/descriptor.ts'
import { AbortWatch } from './abort-watch.ts'
import type { PointQuestion, ScanQuestion } from './partition-question.ts'
import {
  isAnswerTo,
  readFound,
  readRow,
  readValue,
  writeQuestion,
  type Answers,
  type Ask,
  type HeldStores,
  type ScanPage,
} from './port-messages.ts'
import { post, type QueryPort } from './query-port.ts'
import type { LocalPartition, StoreRow, StoreValue } from './query-target.ts'
import {
  assertNotAborted,
  type CountRequest,
  type GetRequest,
  type PageRequest,
} from './request.ts'
import { readError, writeBytes, type WireError } from './wire-values.ts'
import type {
  AnsweringPartition,
  PartitionStatus,
  PartitionsAnswer,
  WorkerQueries,
  WorkerQuestionOptions,
} from './worker-queries.ts'

/** Questions that a thread has at a time; more of them wait here. */
const askedMax = 256

/** Questions that wait here. */
const waitingMax = 16_384

/** Milliseconds that a thread has for an answer. It answers between two records: one that takes so long hangs. */
const answerTimeoutMs = 30_000

/** What a {@link PortQueries} is made of. */
export interface PortQueriesOptions {
  /** The store as the topology has it. */
  readonly descriptor: (store: string) => AnyStore | undefined
  readonly clock: Clock
}

/** A question that has no answer yet. */
interface OpenQuestion {
  readonly id: number
  readonly ask: Ask
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  /** Stops listening to the signal. */
  readonly forget: () => void
  /** When it was posted, on the monotonic clock. */
  sentAt: number
}

/** Asks a thread over a port that leads to its `QueryResponder`. */
export class PortQueries implements WorkerQueries {
  readonly #port: QueryPort
  readonly #options: PortQueriesOptions
  /** By number, in the order in which they were asked. */
  readonly #asked = new Map<number, OpenQuestion>()
  readonly #waiting = new Map<number, OpenQuestion>()
  readonly #aborts = new AbortWatch()
  #outbox: OpenQuestion[] = []
  #ends: number[] = []
  #held: HeldStores = {}
  #lastId = 0
  #isClosed = false
  #timer: Timer | undefined

  constructor(port: QueryPort, options: PortQueriesOptions) {
    this.#port = port
    this.#options = options
    port.on('message', (message) => {
      this.#receive(message)
    })
    port.on('close', () => {
      this.close()
    })
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  held(store: string, partition: number): LocalPartition['role'] | undefined {
    return this.#held[store]?.[partition] ?? undefined
  }

  async status(store: string, partitions: readonly number[]): Promise<readonly PartitionStatus[]> {
    return this.#ask({ ask: 'status', store, partitions })
  }

  async check(
    partitions: readonly number[],
    { store, ...options }: WorkerQuestionOptions,
  ): Promise<PartitionsAnswer> {
    return withFailures(await this.#ask({ ask: 'check', store, partitions, ...askedBy(options) }))
  }

  async get(
    partition: number,
    { store, keyBytes, ...options }: GetRequest,
  ): Promise<{ part: AnsweringPartition; found: StoreValue | undefined }> {
    const key = writeBytes(keyBytes)
    const { part, found } = await this.#ask({
      ask: 'get',
      store,
      partition,
      key,
      ...askedBy(options),
    })
    return { part, found: found && readValue(this.#descriptor(store), found) }
  }

  async page(
    partitions: readonly number[],
    { store, bounds, after, limit, ...options }: PageRequest,
  ): Promise<PartitionsAnswer & { rows: readonly StoreRow[]; more: boolean }> {
    const { from, to, prefix, reverse } = bounds
    const { rows, more, ...many } = await this.#ask({
      ask: 'page',
      store,
      partitions,
      from: from && writeBytes(from),
      to: to && writeBytes(to),
      prefix: prefix && writeBytes(prefix),
      reverse,
      after: after && writeBytes(after),
      limit,
      ...askedBy(options),
    })
    const descriptor = this.#descriptor(store)
    return { ...withFailures(many), rows: rows.map((row) => readRow(descriptor, row)), more }
  }

  async count(
    partitions: readonly number[],
    { store, ...options }: CountRequest,
  ): Promise<PartitionsAnswer & { approximate: number }> {
    const { approximate, ...many } = await this.#ask({
      ask: 'count',
      store,
      partitions,
      ...askedBy(options),
    })
    return { ...withFailures(many), approximate }
  }

  async point(
    partition: number,
    question: PointQuestion,
    { store, ...options }: WorkerQuestionOptions,
  ): Promise<unknown> {
    const descriptor = this.#descriptor(store)
    const { found } = await this.#ask({
      ask: 'point',
      store,
      partition,
      question: writeQuestion(descriptor, question),
      ...askedBy(options),
    })
    return found && readFound(descriptor, question.kind, found)
  }

  async *scan(
    partition: number,
    question: ScanQuestion,
    { store, limit, ...options }: WorkerQuestionOptions & { readonly limit?: number | undefined },
  ): AsyncGenerator<unknown, void, undefined> {
    const descriptor = this.#descriptor(store)
    const { kind } = question
    const first = this.#ask({
      ask: 'scan',
      store,
      partition,
      question: writeQuestion(descriptor, question),
      limit,
      ...askedBy(options),
    })
    const scan = this.#lastId
    let page: ScanPage = await first
    try {
      for (;;) {
        for (const row of page.rows) yield readFound(descriptor, kind, row)
        if (!page.more) return
        page = await this.#ask({ ask: 'next', store, scan, signal: options.signal })
      }
    } finally {
      if (page.more) this.#end(scan)
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#held = {}
    this.#timer?.cancel()
    this.#outbox = []
    const open = [...this.#asked.values(), ...this.#waiting.values()]
    this.#asked.clear()
    this.#waiting.clear()
    for (const question of open) fail(question, goneError(question.ask))
    this.#port.close()
  }

  #descriptor(store: string): AnyStore {
    const descriptor = this.#options.descriptor(store)
    if (descriptor === undefined) throw new StreamsError('STORE_UNKNOWN', { store })
    return descriptor
  }

  #ask<A extends Ask['ask']>({
    signal,
    ...ask
  }: Extract<Ask, { ask: A }> & Pick<WorkerQuestionOptions, 'signal'>): Promise<Answers[A]> {
    const { store } = ask
    this.#lastId += 1
    const id = this.#lastId
    return new Promise<unknown>((resolve, reject) => {
      assertNotAborted({ store, signal })
      if (this.#isClosed) throw goneError(ask)
      const forget = this.#aborts.watch(signal, () => {
        this.#abort(id)
      })
      const question = { id, ask, resolve, reject, forget, sentAt: 0 }
      if (this.#asked.size < askedMax) this.#send(question)
      else if (this.#waiting.size < waitingMax) this.#waiting.set(id, question)
      else {
        const detail = `${waitingMax} questions wait for its thread`
        fail(question, new StreamsError('STORE_NOT_AVAILABLE', { store, detail }))
      }
    }) as Promise<Answers[A]>
  }

  #send(question: OpenQuestion): void {
    this.#asked.set(question.id, question)
    this.#outbox.push(question)
    this.#postSoon()
  }

  /** One message for all that is asked in this turn: each costs more than what is in it. */
  #postSoon(): void {
    if (this.#outbox.length + this.#ends.length > 1) return
    queueMicrotask(() => {
      this.#post()
    })
  }

  #post(): void {
    // Not when a place becomes free: what waits may be given up in the same turn.
    this.#sendWaiting()
    const questions = this.#outbox
    const ends = this.#ends
    this.#outbox = []
    this.#ends = []
    if (this.#isClosed || questions.length + ends.length === 0) return
    const now = this.#options.clock.monotonic()
    for (const question of questions) question.sentAt = now
    const messages = questions.map(({ id, ask }) => ({ id, ...ask }))
    try {
      post(this.#port, [...messages, ...ends.map((id) => ({ ask: 'end', id }))])
    } catch (error) {
      this.#postOneByOne(questions, ends, error)
    }
    this.#timer ??= this.#options.clock.setTimer(answerTimeoutMs, () => {
      this.#endLate()
    })
  }

  /** A question has something in it that does not cross, of a program without types. */
  #postOneByOne(questions: readonly OpenQuestion[], ends: readonly number[], error: unknown): void {
    for (const question of questions) {
      try {
        post(this.#port, [{ id: question.id, ...question.ask }])
      } catch (cause) {
        this.#asked.delete(question.id)
        const { store } = question.ask
        const detail = `what was asked of ${store} cannot be told to its thread: ${messageOf(cause)}`
        fail(question, new StreamsError('QUERY_INVALID', { store, detail }, { cause: error }))
      }
    }
    if (ends.length > 0)
      post(
        this.#port,
        ends.map((id) => ({ ask: 'end', id })),
      )
  }

  /** The thread need not go on with it; a scan that has begun meanwhile ends there. */
  #end(id: number): void {
    if (this.#isClosed) return
    this.#ends.push(id)
    this.#postSoon()
  }

  #abort(id: number): void {
    const question = this.#asked.get(id) ?? this.#waiting.get(id)
    if (question === undefined) return
    if (!this.#waiting.delete(id)) this.#giveUp(question)
    fail(
      question,
      new StreamsError('ABORTED', { what: `an answer of the store ${question.ask.store}` }),
    )
  }

  #giveUp({ id }: OpenQuestion): void {
    this.#asked.delete(id)
    this.#end(id)
  }

  #sendWaiting(): void {
    for (const [id, question] of this.#waiting) {
      if (this.#asked.size >= askedMax) return
      this.#waiting.delete(id)
      this.#send(question)
    }
  }

  /** Never a hang: whoever asks a thread that stands still hears of it. */
  #endLate(): void {
    this.#timer = undefined
    const { clock } = this.#options
    const now = clock.monotonic()
    for (const question of this.#asked.values()) {
      const leftMs = question.sentAt + answerTimeoutMs - now
      if (leftMs > 0) {
        this.#timer = clock.setTimer(leftMs, () => {
          this.#endLate()
        })
        return
      }
      this.#giveUp(question)
      fail(question, new StreamsError('QUERY_TIMEOUT', { timeoutMs: answerTimeoutMs }))
    }
  }

  #receive(message: unknown): void {
    if (this.#isClosed || !Array.isArray(message)) return
    for (const reply of message as unknown[]) this.#take(reply)
    this.#sendWaiting()
  }

  #take(reply: unknown): void {
    const { held, id, answer, error } = (reply ?? {}) as Record<string, unknown>
    if (typeof held === 'object' && held !== null) this.#held = held as HeldStores
    const question = this.#asked.get(id as number)
    if (question === undefined) return
    this.#asked.delete(question.id)
    if (error !== undefined) fail(question, errorIn(error))
    else if (!isAnswerTo(question.ask.ask, answer)) fail(question, unlikeAnswer(answer))
    else {
      question.forget()
      question.resolve(answer)
    }
  }
}

function askedBy({
  consistency,
  maxLag,
  signal,
}: Omit<WorkerQuestionOptions, 'store'>): Omit<WorkerQuestionOptions, 'store'> {
  return { consistency, maxLag, signal }
}

function fail({ reject, forget }: OpenQuestion, error: unknown): void {
  forget()
  reject(error)
}

function errorIn(wire: unknown): unknown {
  try {
    return readError(wire)
  } catch {
    return unlikeAnswer(wire)
  }
}

function unlikeAnswer(answer: unknown): StreamsError {
  const cause = new TypeError(`a thread answered ${shownValue(answer)}`)
  return new StreamsError('INTERNAL_ERROR', {}, { cause })
}

/** The thread has ended: whoever takes its tasks over will answer. */
function goneError(ask: Ask): StreamsError {
  const { store } = ask
  const partition = 'partition' in ask ? ask.partition : undefined
  return new StreamsError('STREAMS_REBALANCING', {
    store,
    ...(partition !== undefined && { partition }),
  })
}

function withFailures({ parts, failures }: Answers['check']): PartitionsAnswer {
  const read = (failure: readonly [number, WireError]): [number, Error] => [
    failure[0],
    readError(failure[1]),
  ]
  return { parts, failures: new Map(failures.map(read)) }
}
