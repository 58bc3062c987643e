/**
 * What a program decides about errors: the options of handlers, what they are told, and what they may
 * answer (org.apache.kafka.streams.errors: DeserializationExceptionHandler, ProcessingExceptionHandler,
 * ProductionExceptionHandler).
 */

type Headers = readonly (readonly [name: string, value: Buffer | null])[]

/** Where something failed, and the record that it began with. Java's ErrorHandlerContext. */
export interface ErrorHandlerContext {
  /** Undefined for a dead letter that the brokers refuse. */
  readonly taskId: string | undefined
  /** Name of the step that failed, or of the sink that wrote; undefined as `taskId`, and for a changelog. */
  readonly node: string | undefined
  /** Where the record came from; undefined in a punctuation, the others are then -1. */
  readonly topic: string | undefined
  readonly partition: number
  readonly offset: number
  /** Of the record at the step that failed, or of the punctuation; milliseconds. */
  readonly timestamp: number
  /** Of the record at the step that failed. */
  readonly headers: Headers
  /** The bytes of the record as it came; null also where they are not known. */
  readonly sourceRawKey: Buffer | null
  readonly sourceRawValue: Buffer | null
}

/** What {@link ProcessingErrorHandler} is told. */
export interface ProcessingErrorContext extends ErrorHandlerContext {
  /** What the step was given; undefined in a punctuation. */
  readonly record: { readonly key: unknown; readonly value: unknown } | undefined
}

/** What {@link ProductionErrorHandler} is told. */
export interface ProductionErrorContext extends ErrorHandlerContext {
  /**
   * What failed: the serde of the `key` or of the `value`, or the `delivery`, because the record is too
   * large or the brokers refuse it.
   */
  readonly origin: 'key' | 'value' | 'delivery'
  /** What could not be written; key and value are bytes when it is a `delivery`. */
  readonly record: {
    readonly topic: string
    readonly key: unknown
    readonly value: unknown
    /** Milliseconds. */
    readonly timestamp: number
    readonly headers: Headers
  }
}

/** A record for a dead letter queue, or for any other topic. */
export interface DeadLetterRecord {
  readonly topic: string
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  /** Milliseconds. */
  readonly timestamp: number
  readonly headers: Headers
}

/**
 * What a handler answers: a word, which also writes to `deadLetterQueueTopic` what the word alone as
 * option would; or an object, with exactly the records that are to be written, by default none.
 */
export type ErrorResponse<R extends string> =
  | R
  | { readonly result: R; readonly deadLetterRecords?: readonly DeadLetterRecord[] }

/**
 * What to do with a record whose key or value its serde cannot read: `fail` stops the worker,
 * `continue` passes over the record and counts it, a function decides. Java's
 * DeserializationExceptionHandler.
 */
export type DeserializationErrorHandler =
  | 'fail'
  | 'continue'
  | ((context: ErrorHandlerContext, error: unknown) => ErrorResponse<'fail' | 'continue'>)

/**
 * What to do when a step or a punctuation throws: `fail` stops the worker; `continue` counts the
 * record, and goes on as if the step had let it drop: other steps that it goes to get it, and what
 * the step has done before it threw stays. Java's ProcessingExceptionHandler.
 */
export type ProcessingErrorHandler =
  | 'fail'
  | 'continue'
  | ((context: ProcessingErrorContext, error: unknown) => ErrorResponse<'fail' | 'continue'>)

/**
 * What to do with a record that cannot be written: `fail` stops the worker, unless the failure can
 * pass, such as a broker that is away: then all begins again from the last commit. `continue` passes
 * over the record and counts it. A function may also answer `retry`, which is `fail` for what cannot
 * pass. Java's ProductionExceptionHandler.
 */
export type ProductionErrorHandler =
  | 'fail'
  | 'continue'
  | ((
      context: ProductionErrorContext,
      error: unknown,
    ) => ErrorResponse<'fail' | 'continue' | 'retry'>)

/**
 * What follows when a worker cannot go on:
 *
 * - `replace-worker`: a new worker takes its place, after a wait that grows while it fails again. Its
 *   tasks begin again from the last commit.
 * - `stop-instance`: the instance ends with the error.
 * - `stop-application`: so do all instances of the application.
 *
 * The worker of global stores cannot be replaced; the instance ends then. Java's
 * StreamsUncaughtExceptionHandler.
 */
export type UncaughtErrorResponse = 'replace-worker' | 'stop-instance' | 'stop-application'

/** One of them for all errors, or a function that decides for each. */
export type UncaughtErrorHandler = UncaughtErrorResponse | ((error: Error) => UncaughtErrorResponse)

/** Who decides about errors, and where dead letters go. */
export interface ErrorHandling {
  readonly onDeserializationError?: DeserializationErrorHandler
  readonly onProcessingError?: ProcessingErrorHandler
  readonly onProductionError?: ProductionErrorHandler
  readonly deadLetterQueueTopic?: string
}
