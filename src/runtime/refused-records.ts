/** Asks the program about records that the brokers do not take. */
import type { Log } from '../base/log.ts'
import { canPass } from '../client/kafka-failure.ts'
import type { Producer } from '../client/producer.ts'
import type { RefusedRecord } from '../client/refusal.ts'
import type { DeadLetterRecord, ErrorHandling } from '../error-handlers.ts'
import type { StreamsError } from '../errors.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { noHeaders, type RecordContext } from '../store/state-store.ts'
import { ErrorHandlers, refusal } from '../task/error-handlers.ts'

export interface RefusedRecordsOptions extends ErrorHandling {
  readonly metrics: StreamsMetrics
  readonly log: Log
  /** Takes the dead letters. */
  readonly producer: () => Producer
}

/** True: somebody is to be told of records that brokers refuse. */
export function asksAboutRefusals(handling: ErrorHandling): boolean {
  const { onProductionError = 'fail', deadLetterQueueTopic } = handling
  return onProductionError !== 'fail' || deadLetterQueueTopic !== undefined
}

/** True: a program that fails may leave letters about it. */
export function mayLeaveLetters(handling: ErrorHandling): boolean {
  const { onDeserializationError, onProcessingError, onProductionError } = handling
  const handlers = [onDeserializationError, onProcessingError, onProductionError]
  return (
    handling.deadLetterQueueTopic !== undefined ||
    handlers.some((handler) => typeof handler === 'function')
  )
}

/** Decides about the records of one producer; see `ProducerOptions.onRefused`. */
export class RefusedRecords {
  readonly #record: RecordContext = {
    timestamp: -1,
    offset: -1,
    topic: '',
    partition: -1,
    headers: noHeaders,
    source: undefined,
  }
  readonly #producer: () => Producer
  readonly #handlers: ErrorHandlers
  /** A letter that is refused leaves no letter. */
  readonly #letterTopics = new Set<string>()

  constructor(options: RefusedRecordsOptions) {
    const { deadLetterQueueTopic } = options
    this.#producer = options.producer
    if (deadLetterQueueTopic !== undefined) this.#letterTopics.add(deadLetterQueueTopic)
    this.#handlers = new ErrorHandlers({
      ...options,
      task: undefined,
      record: this.#record,
      send: (letter) => this.#send(letter),
    })
  }

  decide(refused: RefusedRecord, error: StreamsError): 'continue' | 'retry' {
    const { topic, key, value, timestamp, headers, origin } = refused
    if (this.#letterTopics.has(topic)) {
      if (canPass(error)) return 'retry'
      throw refusal(topic, error)
    }
    const record = this.#record
    record.timestamp = timestamp
    record.headers = headers
    record.topic = origin?.topic ?? ''
    record.partition = origin?.partition ?? -1
    record.offset = origin?.offset ?? -1
    // What came from no record, as in a punctuation, stands for itself.
    record.source = origin?.source ?? { key, value }
    const written = { topic, key, value, timestamp, headers }
    const by = { task: origin?.taskId, node: origin?.node }
    return this.#handlers.refused(written, error, { canPass: canPass(error), by })
  }

  #send({ topic, key, value, timestamp, headers }: DeadLetterRecord): void {
    this.#letterTopics.add(topic)
    const producer = this.#producer()
    const write = (): void =>
      producer.send(topic, producer.partitionFor(key, topic), key, value, timestamp, headers)
    const { unknownTopics } = producer
    const bytes = (key?.length ?? 0) + (value?.length ?? 0)
    if (unknownTopics.has(topic)) unknownTopics.defer(topic, { bytes, write })
    else write()
  }
}
