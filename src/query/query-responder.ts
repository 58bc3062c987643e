import { yieldTurn, type Clock, type Timer } from '../base/clock.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError, isStreamsError } from '../errors.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { StoreIterator } from '../store/key-value-store.ts'
import type { ConsistencyOptions } from './consistency.ts'
import { readablePartition, readableView, readRows } from './local-query.ts'
import { pointOf, scanOf, type ScanQuestion } from './partition-question.ts'
import {
  optional,
  readBounds,
  readQuestion,
  writeFound,
  writeRow,
  writeValue,
  type Answers,
  type Ask,
  type HeldStores,
  type Question,
  type QuestionEnd,
  type Reply,
  type ScanPage,
} from './port-messages.ts'
import { post, type QueryPort } from './query-port.ts'
import type { LocalPartition, QueryTarget } from './query-target.ts'
import { readBytes, writeError, type WireError } from './wire-values.ts'
import type { AnsweringPartition } from './worker-queries.ts'

/** What is answered in one turn of the event loop, before the thread goes on with its records. */
const costPerTurnMax = 256

/** Of a question for rows; that for one value is 1. */
const scanCost = 64

/** Rows that cross at a time. */
const scanRowsMax = 256

/** Bytes of rows that cross at a time, after which no more are added. */
const scanBytesMax = 1024 * 1024

/** Scans that are open at a time. */
const openScansMax = 256

/** Milliseconds for which a scan stays open although nobody asks for its next rows: it holds old pages of its engine. */
const scanIdleMs = 600_000

/** A scan of which rows are still to come. */
interface OpenScan {
  readonly descriptor: AnyStore
  readonly kind: ScanQuestion['kind']
  readonly rows: StoreIterator<unknown>
  left: number
  usedAt: number
}

/** What a {@link QueryResponder} is made of. */
export interface QueryResponderOptions {
  /** What this thread has; of other threads and instances it is not asked. */
  readonly target: QueryTarget
  readonly clock: Clock
}

/**
 * Answers in a thread what main asks about the stores of it: the counterpart of `PortQueries`. Each
 * question is answered between two records, as those of the thread itself would be; many of them in
 * several turns.
 */
export class QueryResponder {
  readonly #port: QueryPort
  readonly #target: QueryTarget
  readonly #clock: Clock
  /** By number, in the order in which they came. */
  readonly #questions = new Map<number, Question>()
  readonly #scans = new Map<number, OpenScan>()
  #replies: Reply[] = []
  #told = '{}'
  #mayHaveMoved = false
  #isTurnDue = false
  #isClosed = false
  #idleTimer: Timer | undefined

  constructor(port: QueryPort, { target, clock }: QueryResponderOptions) {
    this.#port = port
    this.#target = target
    this.#clock = clock
    port.on('message', (message) => {
      this.#receive(message)
    })
    port.on('close', () => {
      this.close()
    })
    this.tellHeld()
  }

  /** Tells main which partitions are here, and in which role: to be called whenever that changes. */
  tellHeld(): void {
    this.#mayHaveMoved = true
    this.#post()
  }

  /** Questions without an answer fail at the other end, and scans that are open end. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#idleTimer?.cancel()
    this.#questions.clear()
    for (const id of this.#scans.keys()) this.#endScan(id)
    this.#port.close()
  }

  /** Scans of which rows are still to come. */
  get openScans(): number {
    return this.#scans.size
  }

  #receive(message: unknown): void {
    if (this.#isClosed || !Array.isArray(message)) return
    for (const one of message as unknown[]) {
      if (!isNumbered(one)) continue
      if (one.ask === 'end') this.#end(one.id)
      else this.#questions.set(one.id, one)
    }
    if (!this.#isTurnDue) this.#takeTurn()
  }

  #end(id: number): void {
    this.#questions.delete(id)
    this.#endScan(id)
  }

  #endScan(id: number): void {
    const scan = this.#scans.get(id)
    this.#scans.delete(id)
    scan?.rows[Symbol.dispose]()
  }

  #takeTurn(): void {
    this.#isTurnDue = false
    if (this.#isClosed) return
    let cost = 0
    for (const [id, question] of this.#questions) {
      if (cost >= costPerTurnMax) break
      cost += costOf(question)
      this.#questions.delete(id)
      this.#reply(question)
    }
    this.#post()
    if (this.#questions.size === 0) return
    this.#isTurnDue = true
    void yieldTurn(this.#clock).then(() => {
      this.#takeTurn()
    })
  }

  #reply(question: Question): void {
    const { id } = question
    try {
      this.#replies.push({ id, answer: this.#answer(question) })
    } catch (error) {
      this.#noteMoved(error)
      this.#replies.push({ id, error: writeError(error) })
    }
  }

  #noteMoved(error: unknown): void {
    const isMoved =
      isStreamsError(error, 'STORE_MIGRATED') || isStreamsError(error, 'STREAMS_REBALANCING')
    if (isMoved) this.#mayHaveMoved = true
  }

  /** What is held, if that is not what was told last. */
  #news(): Reply[] {
    if (!this.#mayHaveMoved) return []
    this.#mayHaveMoved = false
    const held = heldStores(this.#target)
    const text = JSON.stringify(held)
    if (text === this.#told) return []
    this.#told = text
    return [{ held }]
  }

  #post(): void {
    if (this.#isClosed) return
    // First, so that who hears that a partition is not here sees the same where roles are looked up.
    const replies = [...this.#news(), ...this.#replies]
    this.#replies = []
    if (replies.length > 0) post(this.#port, replies)
  }

  #answer(ask: Question): Answers[Ask['ask']] {
    switch (ask.ask) {
      case 'get': {
        const readable = readablePartition(this.#target, ask.store, ask.partition, ask)
        const found = readable.view.getBytes(readBytes(ask.key))
        return {
          part: partOf(readable),
          found: found && writeValue(this.#descriptor(ask.store), found),
        }
      }
      case 'page':
        return this.#page(ask)
      case 'count': {
        const { readable, failures } = this.#readable(ask, readablePartition)
        let approximate = 0
        for (const { view } of readable) approximate += view.approximateEntryCount()
        return { parts: readable.map(partOf), failures, approximate }
      }
      case 'check': {
        const { readable, failures } = this.#readable(ask, readableView)
        return { parts: readable.map(partOf), failures }
      }
      case 'status':
        return ask.partitions.flatMap((partition) => {
          const held = this.#target.local(ask.store, partition)
          return held === undefined ? [] : [statusOf(held, partition)]
        })
      case 'point': {
        const descriptor = this.#descriptor(ask.store)
        const { view } = readableView(this.#target, ask.store, ask.partition, ask)
        const found = pointOf(view, readQuestion(descriptor, ask.question))
        return {
          found: found === undefined ? undefined : writeFound(descriptor, ask.question.kind, found),
        }
      }
      case 'scan':
        return this.#beginScan(ask)
      case 'next':
        return this.#nextPage(ask.scan, ask.store)
      default:
        ask satisfies never
        throw new StreamsError('QUERY_INVALID', { detail: `a thread was asked ${shownValue(ask)}` })
    }
  }

  #descriptor(store: string): AnyStore {
    const descriptor = this.#target.descriptor(store)
    if (descriptor === undefined) throw new StreamsError('STORE_UNKNOWN', { store })
    return descriptor
  }

  #page(ask: Ask & { ask: 'page' }): Answers['page'] {
    const { readable, failures } = this.#readable(ask, readablePartition)
    const { store, limit } = ask
    const descriptor = this.#descriptor(store)
    const after = optional(ask.after)
    const request = { kind: 'page', store, bounds: readBounds(ask), after, limit } as const
    const { rows, more } = readRows(readable, descriptor, request)
    return {
      parts: readable.map(partOf),
      failures,
      rows: rows.map((row) => writeRow(descriptor, row)),
      more,
    }
  }

  /** Those of the partitions that can be read, and why the others cannot. */
  #readable<P extends AnsweringPartition>(
    ask: Extract<Ask, { readonly partitions: readonly number[] }>,
    read: (target: QueryTarget, store: string, partition: number, asked: ConsistencyOptions) => P,
  ): { readable: P[]; failures: [number, WireError][] } {
    const readable: P[] = []
    const failures: [number, WireError][] = []
    for (const partition of ask.partitions) {
      try {
        readable.push(read(this.#target, ask.store, partition, ask))
      } catch (error) {
        this.#noteMoved(error)
        failures.push([partition, writeError(error)])
      }
    }
    return { readable, failures }
  }

  #beginScan(ask: Ask & { ask: 'scan' } & { id?: number }): ScanPage {
    if (this.#scans.size >= openScansMax) {
      const detail = `${openScansMax} scans are open in its thread`
      throw new StreamsError('STORE_NOT_AVAILABLE', { store: ask.store, detail })
    }
    const descriptor = this.#descriptor(ask.store)
    const { view } = readableView(this.#target, ask.store, ask.partition, ask)
    const id = ask.id as number
    this.#scans.set(id, {
      descriptor,
      kind: ask.question.kind,
      rows: scanOf(view, readQuestion(descriptor, ask.question)),
      left: ask.limit ?? Infinity,
      usedAt: this.#clock.monotonic(),
    })
    this.#idleTimer ??= this.#clock.setTimer(scanIdleMs, () => {
      this.#endIdle()
    })
    return this.#nextPage(id, ask.store)
  }

  #nextPage(id: number, store: string): ScanPage {
    const scan = this.#scans.get(id)
    if (scan === undefined) {
      const detail = `nobody has asked for more rows of a scan for ${scanIdleMs / 60_000} minutes`
      throw new StreamsError('STORE_NOT_AVAILABLE', { store, detail })
    }
    scan.usedAt = this.#clock.monotonic()
    let more = false
    try {
      const page = pageOf(scan)
      more = page.more
      return page
    } finally {
      if (!more) this.#endScan(id)
    }
  }

  #endIdle(): void {
    this.#idleTimer = undefined
    const before = this.#clock.monotonic() - scanIdleMs
    let oldest = Infinity
    for (const [id, { usedAt }] of this.#scans) {
      if (usedAt <= before) this.#endScan(id)
      else oldest = Math.min(oldest, usedAt)
    }
    if (oldest === Infinity) return
    this.#idleTimer = this.#clock.setTimer(oldest - before, () => {
      this.#endIdle()
    })
  }
}

function isNumbered(message: unknown): message is Question | QuestionEnd {
  return Number.isSafeInteger((message as { id?: unknown } | null | undefined)?.id)
}

function costOf({ ask }: Question): number {
  return ask === 'page' || ask === 'scan' || ask === 'next' ? scanCost : 1
}

function pageOf(scan: OpenScan): ScanPage {
  const { descriptor, kind, rows } = scan
  const page: (readonly unknown[])[] = []
  let bytes = 0
  while (scan.left > 0 && page.length < scanRowsMax && bytes < scanBytesMax) {
    const next = rows.next()
    if (next.done === true) return { rows: page, more: false }
    const row = writeFound(descriptor, kind, next.value)
    page.push(row)
    bytes += (row[0] as { length: number }).length
    scan.left -= 1
  }
  return { rows: page, more: scan.left > 0 }
}

/** What this thread has of each store, by partition. */
function heldStores(target: QueryTarget): HeldStores {
  const held: Record<string, (LocalPartition['role'] | null)[]> = {}
  for (const store of target.storeNames) {
    const count = target.partitionCount(store) ?? 0
    const roles = Array.from(
      { length: count },
      (_, partition) => target.local(store, partition)?.role ?? null,
    )
    if (roles.some((role) => role !== null)) held[store] = roles
  }
  return held
}

function statusOf(held: LocalPartition, partition: number): Answers['status'][number] {
  const { role, state, lag, position } = held
  return { partition, role, state, lag, position }
}

function partOf(readable: AnsweringPartition): AnsweringPartition {
  const { partition, role, state, lag, position } = readable
  return { partition, role, state, lag, position }
}
