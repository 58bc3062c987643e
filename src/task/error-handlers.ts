/**
 * Asks the program what is to be done when a record cannot be read, processed or written, and does it:
 * writes dead letters, counts what is passed over, throws what is to end the task.
 */
import { AssertionError, assert } from '../base/assert.ts'
import type { Log } from '../base/log.ts'
import { shownValue } from '../base/shown-value.ts'
import type {
  DeadLetterRecord,
  ErrorHandlerContext,
  ErrorHandling,
  ErrorResponse,
  ProductionErrorContext,
} from '../error-handlers.ts'
import { StreamsError, isStreamsError, messageOf, type ErrorCode } from '../errors.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { RecordContext, RecordHeaders } from '../store/state-store.ts'
import { deadLetter } from './dead-letter.ts'
import { processorFailure } from './processor-failure.ts'

export interface ErrorHandlersOptions extends ErrorHandling {
  /** Undefined: these are of the producer, which serves all tasks. */
  readonly task: TaskId | undefined
  /** Of the task. */
  readonly record: RecordContext
  readonly metrics: StreamsMetrics
  readonly log: Log
  /** Writes a dead letter. Undefined: it cannot be done here; that is logged. */
  readonly send: ((letter: DeadLetterRecord) => void) | undefined
}

/** A record that its source could not read; its bytes are the handler's. */
export interface UnreadableRecord {
  readonly node: string
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly headers: RecordHeaders
  readonly key: Buffer | null
  readonly value: Buffer | null
}

type Option = 'onDeserializationError' | 'onProcessingError' | 'onProductionError'
type Handler<C extends ErrorHandlerContext> =
  | 'fail'
  | 'continue'
  | ((context: C, error: unknown) => ErrorResponse<'fail' | 'continue' | 'retry'>)

/** About these nobody is asked: they were decided on, or are not about one record. */
const finalCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'PROCESSING_FAILED',
  'HANDLER_FAILED',
  'PROCESSOR_ASYNC',
  'TASK_MIGRATED',
  'TRANSACTION_ABORTED',
  'TASK_CORRUPTED',
  'DELIVERY_FAILED',
  'SOURCE_TOPIC_MISSING',
  'SINK_TOPIC_MISSING',
  'STORE_FLUSH_ENDLESS',
  'DISK_FAILED',
  'CLIENT_CLOSED',
])

/** Errors that were decided on, or came where nothing can be passed over. */
const decided = new WeakSet<object>()

/** What a function of a sink threw, by the error that names the sink: handlers are told the former. */
const thrownBySinks = new WeakMap<object, unknown>()

/** The same error; nobody is asked about it any more, on its way up through the steps. */
export function finalError<T>(error: T): T {
  if (typeof error === 'object' && error !== null) decided.add(error)
  return error
}

/** True: the task ends with this error, whatever handlers there are. */
function isFinal(error: unknown): boolean {
  if (error instanceof AssertionError) return true
  return error instanceof StreamsError && (finalCodes.has(error.code) || decided.has(error))
}

/** The handlers of one task. */
export class ErrorHandlers {
  readonly #options: ErrorHandlersOptions

  constructor(options: ErrorHandlersOptions) {
    this.#options = options
  }

  /** True: somebody may ask for the bytes that a record had when it came. */
  get needsSource(): boolean {
    const { onProcessingError, onProductionError, deadLetterQueueTopic } = this.#options
    return (
      deadLetterQueueTopic !== undefined ||
      typeof onProcessingError === 'function' ||
      typeof onProductionError === 'function'
    )
  }

  /** Returns when the record is to be passed over. Throws `RECORD_UNREADABLE`, `HANDLER_FAILED`. */
  unreadable(record: UnreadableRecord, error: unknown): void {
    const { task, onDeserializationError: handler = 'fail' } = this.#options
    const { node, topic, partition, offset, timestamp, headers, key, value } = record
    const result = this.#ask('onDeserializationError', handler, error, () => ({
      taskId: task,
      node,
      topic,
      partition,
      offset,
      timestamp,
      headers,
      sourceRawKey: key,
      sourceRawValue: value,
    }))
    const where = { task, node, topic, partition, offset }
    if (result !== 'continue') {
      const context = { ...where, detail: messageOf(error) }
      throw new StreamsError('RECORD_UNREADABLE', context, { cause: error })
    }
    this.#passOver('deserialization-error', where, error)
  }

  /**
   * A step threw; `record` is what it was given, undefined in a punctuation. Returns when it is to be
   * passed over. Throws `PROCESSING_FAILED`, `HANDLER_FAILED`, and errors that nobody is asked about.
   */
  failed(node: string, error: unknown, record?: { key: unknown; value: unknown }): void {
    if (isFinal(error)) throw error
    const { task, onProcessingError: handler = 'fail' } = this.#options
    assert(task !== undefined, 'a step is of a task')
    const isOfSink = isStreamsError(error) && thrownBySinks.has(error)
    const thrown = isOfSink ? thrownBySinks.get(error) : error
    const result = this.#ask('onProcessingError', handler, thrown, () => ({
      ...this.#context(node),
      record,
    }))
    if (result !== 'continue') {
      throw finalError(processorFailure(error, { node, task, record: this.#options.record }))
    }
    this.#passOver('processing-error', { node, ...this.#where() }, error)
  }

  /**
   * A record could not be written. Returns when it is to be passed over. Throws `RECORD_UNWRITABLE`,
   * `HANDLER_FAILED`. The step above may be asked about what a serde refuses, not about a `delivery`:
   * it may be that of a changelog, which its store must not be without.
   */
  unwritable(
    node: string | undefined,
    { origin, record }: Pick<ProductionErrorContext, 'origin' | 'record'>,
    error: unknown,
  ): void {
    const { onProductionError: handler = 'fail' } = this.#options
    const result = this.#ask('onProductionError', handler, error, () => ({
      ...this.#context(node),
      origin,
      record,
    }))
    const where = { ...(node !== undefined && { node }), ...this.#where() }
    if (result !== 'continue') {
      const detail = messageOf(error)
      const context = { ...where, sink: record.topic, origin, detail }
      const failure = new StreamsError('RECORD_UNWRITABLE', context, { cause: error })
      throw origin === 'delivery' ? finalError(failure) : failure
    }
    this.#passOver('production-error', { ...where, sink: record.topic }, error)
  }

  /**
   * The brokers refuse a record, or did not take it in time; `by`: who wrote it. `retry`: who has asked
   * begins again from the last commit, as is right for a failure that `canPass`. Throws
   * `RECORD_UNWRITABLE` and `HANDLER_FAILED`, about which no step is asked any more.
   */
  refused(
    record: ProductionErrorContext['record'],
    error: unknown,
    {
      canPass,
      by,
    }: { canPass: boolean; by: { task: string | undefined; node: string | undefined } },
  ): 'continue' | 'retry' {
    const { onProductionError: handler = 'fail' } = this.#options
    if (canPass && typeof handler === 'string') return 'retry'
    const result = this.#ask('onProductionError', handler, error, () => ({
      ...this.#context(by.node),
      taskId: by.task,
      origin: 'delivery' as const,
      record,
    }))
    if (result === 'retry' && canPass) return result
    const where = { ...(by.node !== undefined && { node: by.node }), ...this.#where(by.task) }
    if (result !== 'continue') throw refusal(record.topic, error, where)
    this.#passOver('production-error', { ...where, sink: record.topic }, error)
    return result
  }

  /** What a sink threw, with its name: a partitioner, for instance, or what was decided here. */
  sinkFailure(node: string, error: unknown): unknown {
    if (isFinal(error) || isStreamsError(error, 'RECORD_UNWRITABLE')) return error
    const context = { node, ...this.#where(), detail: messageOf(error) }
    const failure = new StreamsError('RECORD_UNWRITABLE', context, { cause: error })
    thrownBySinks.set(failure, error)
    return failure
  }

  #context(node: string | undefined): ErrorHandlerContext {
    const { task, record } = this.#options
    const { topic, partition, offset, timestamp, headers, source } = record
    return {
      taskId: task,
      node,
      topic: topic === '' ? undefined : topic,
      partition,
      offset,
      timestamp,
      headers,
      sourceRawKey: source?.key ?? null,
      sourceRawValue: source?.value ?? null,
    }
  }

  /** Where the current record came from, for errors and lines of the log. */
  #where(task: string | undefined = this.#options.task): Record<string, unknown> {
    const { topic, partition, offset } = this.#options.record
    if (task === undefined) return {}
    return topic === '' ? { task } : { task, topic, partition, offset }
  }

  #ask<C extends ErrorHandlerContext>(
    option: Option,
    handler: Handler<C>,
    error: unknown,
    contextOf: () => C,
  ): 'fail' | 'continue' | 'retry' {
    const { deadLetterQueueTopic: queue } = this.#options
    // Most programs fail at the first error, and nobody is to be told.
    if (typeof handler === 'string' && queue === undefined) return handler
    const context = contextOf()
    try {
      const response = typeof handler === 'string' ? handler : handler(context, error)
      const result = resultOf(response)
      if (result === undefined || (result === 'retry' && option !== 'onProductionError')) {
        throw new TypeError(`it answered ${shownAnswer(response)}`)
      }
      this.#send(lettersOf(response, context, error, queue), context)
      return result
    } catch (fault) {
      const { taskId: task, node, topic, partition, offset } = context
      const where = topic === undefined ? { task, node } : { task, node, topic, partition, offset }
      const detail = `${messageOf(fault)}; it was asked about: ${messageOf(error)}`
      const facts = { handler: option, ...where, detail }
      throw new StreamsError('HANDLER_FAILED', facts, { cause: fault })
    }
  }

  #send(letters: readonly DeadLetterRecord[], { taskId, node }: ErrorHandlerContext): void {
    const { send, log } = this.#options
    if (send === undefined && letters.length > 0) {
      log.warn('dead letters of global stores are not written', { task: taskId, node })
      return
    }
    for (const letter of letters) send?.(letter)
  }

  #passOver(reason: string, where: Record<string, unknown>, error: unknown): void {
    const { metrics, log } = this.#options
    metrics.dropped(reason)
    log.warn('a record was passed over', { reason, ...where, error: messageOf(error) })
  }
}

/** That brokers refuse a record of this topic, and where it came from; final. */
export function refusal(
  topic: string,
  error: unknown,
  where: Record<string, unknown> = {},
): StreamsError {
  const context = { ...where, sink: topic, origin: 'delivery', detail: messageOf(error) }
  return finalError(new StreamsError('RECORD_UNWRITABLE', context, { cause: error }))
}

function shownAnswer(response: unknown): string {
  return response instanceof Promise ? 'a promise, and not at once' : shownValue(response)
}

/** Undefined: that is no answer. */
function resultOf(response: unknown): 'fail' | 'continue' | 'retry' | undefined {
  const isObject = typeof response === 'object' && response !== null && 'result' in response
  const result = isObject ? response.result : response
  return result === 'fail' || result === 'continue' || result === 'retry' ? result : undefined
}

/** A word alone also stands for the record of the dead letter queue, if there is one. */
function lettersOf(
  response: ErrorResponse<string>,
  context: ErrorHandlerContext,
  error: unknown,
  queue: string | undefined,
): readonly DeadLetterRecord[] {
  if (typeof response === 'object') return (response.deadLetterRecords ?? []).map(checkedLetter)
  return queue === undefined || response === 'retry' ? [] : [deadLetter(queue, context, error)]
}

/** What a handler gives reaches the producer as it is. */
function checkedLetter(letter: DeadLetterRecord): DeadLetterRecord {
  const { topic, key, value, timestamp, headers } = letter
  const isText = typeof topic === 'string' && topic !== ''
  const areBytes = [key, value].every((part) => part === null || part instanceof Uint8Array)
  const isTime = Number.isInteger(timestamp) && timestamp >= 0
  if (isText && areBytes && isTime && Array.isArray(headers)) return letter
  const needs = 'a topic, bytes or null as key and value, a timestamp and headers'
  throw new TypeError(`its dead letter ${shownValue(letter)} needs ${needs}`)
}
