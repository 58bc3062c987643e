import { StreamsError } from '../../errors.ts'
import { Change } from '../../processor/change.ts'
import type { NodeContext, NodeProcessor, NodeSupplier } from '../../processor/processor.ts'
import type { Windowed } from '../../serde/windowed.ts'
import type { ChangeBuffer, EmitChange } from '../../store/change-buffer.ts'
import type { TableView, ValueGetter } from './table-view.ts'

/** What a suppression waits for, and how much it may hold. */
export interface Suppression {
  readonly storeName: string
  /** Stream time is counted from the record's time, or from the end of its window. */
  readonly from: 'record' | 'window-end'
  /** Milliseconds. */
  readonly waitMs: number
  readonly maxRecords: number
  readonly maxBytes: number
  readonly onFull: 'shut-down' | 'emit-early'
  /** Nothing was told of a key before: a deletion need not be told either. */
  readonly dropDeletions: boolean
}

/** Holds changes back, so that of many of a key the last one goes on. Java's KTableSuppressProcessor. */
export function ktableSuppress(suppression: Suppression): NodeSupplier {
  return (context) => new Suppress(context, suppression)
}

class Suppress implements NodeProcessor {
  readonly #context: NodeContext
  readonly #buffer: ChangeBuffer
  readonly #suppression: Suppression
  #streamTime = -1

  constructor(context: NodeContext, suppression: Suppression) {
    this.#context = context
    this.#buffer = context.store(suppression.storeName) as ChangeBuffer
    this.#suppression = suppression
  }

  process(key: unknown, value: unknown): void {
    const { timestamp } = this.#context
    if (timestamp > this.#streamTime) this.#streamTime = timestamp
    const { newValue, oldValue } = value as Change
    const { from, onFull } = this.#suppression
    const time = from === 'record' ? timestamp : (key as Windowed<unknown>).window.end
    this.#buffer.put(time, key, newValue, oldValue)
    this.#buffer.emitWhile(this.#isDue, this.#emit)
    if (!this.#isFull()) return
    if (onFull === 'shut-down') throw this.#fullError()
    this.#buffer.emitWhile(this.#isFull, this.#emit)
  }

  readonly #isDue = (): boolean =>
    this.#buffer.minTime <= this.#streamTime - this.#suppression.waitMs

  readonly #isFull = (): boolean => {
    const { recordCount, bytes } = this.#buffer
    return recordCount > this.#suppression.maxRecords || bytes > this.#suppression.maxBytes
  }

  readonly #emit: EmitChange = (key, newValue, oldValue, origin) => {
    if (newValue === undefined && this.#suppression.dropDeletions) return
    this.#context.forwardFrom(key, new Change(newValue, oldValue), origin)
  }

  #fullError(): StreamsError {
    const { recordCount: records, bytes } = this.#buffer
    const { maxRecords, maxBytes } = this.#suppression
    const limits = { records, maxRecords, bytes, maxBytes }
    return new StreamsError('SUPPRESSION_BUFFER_FULL', { node: this.#context.node, ...limits })
  }
}

/** The rows as steps below know them: of a key that is held, the value before. */
export function suppressedView(storeName: string, above: TableView): TableView {
  return {
    storeNames: [storeName, ...above.storeNames],
    open: (context) =>
      new SuppressedRows(context.store(storeName) as ChangeBuffer, above.open(context)),
  }
}

class SuppressedRows implements ValueGetter {
  readonly isVersioned = false
  timestamp = -1
  readonly #buffer: ChangeBuffer
  readonly #above: ValueGetter

  constructor(buffer: ChangeBuffer, above: ValueGetter) {
    this.#buffer = buffer
    this.#above = above
  }

  get(key: unknown): unknown {
    const prior = this.#buffer.priorValue(key)
    if (prior !== undefined) {
      // When it came to be is not known: nobody kept it.
      this.timestamp = -1
      return prior[0]
    }
    const value = this.#above.get(key)
    this.timestamp = this.#above.timestamp
    return value
  }

  getAsOf(): never {
    throw new TypeError('a suppressed table keeps no old values')
  }
}
