import type { StreamsError } from '../errors.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { initProducerId } from '../protocol/messages/22-init-producer-id.ts'
import { kafkaFailure } from './kafka-failure.ts'
import type { KafkaClient } from './kafka-client.ts'
import type { TopicPartition } from './topic-metadata.ts'

/** What InitProducerId gave. */
export interface ProducerIdentity {
  readonly producerId: number
  readonly producerEpoch: number
}

/** Bounds of one attempt to get an identity. */
export interface InitializeOptions {
  readonly deadlineMs?: number
  readonly signal?: AbortSignal
}

/** Who a producer is to the brokers, and what it may write to. */
export interface ProducerSession {
  /** Undefined: not known yet. Another object: all partitions count from 0 again. */
  readonly identity: ProducerIdentity | undefined
  /** Null: what is written belongs to no transaction. */
  readonly transactionalId: string | null
  /** The highest version of Produce that may be used. Undefined: any. */
  readonly produceVersionMax: number | undefined
  /** Set: nothing can be written any more. */
  readonly failure: StreamsError | undefined
  /** Asks for the identity. */
  initialize(options?: InitializeOptions): Promise<void>
  /** False: not yet. It is asked for, and the listener hears of it. */
  mayWriteTo(partition: TopicPartition): boolean
  /** The one that wants to know when more may be written, or nothing any more. */
  listener: (() => void) | undefined
}

/** The longest time that InitProducerId takes: it has no meaning without a transactional id. */
const noTransactionTimeoutMs = 0x7fff_ffff

/** A producer without transactions: it has an id only so that nothing is written twice (KIP-98). */
export class IdempotentSession implements ProducerSession {
  readonly transactionalId = null
  readonly produceVersionMax = undefined
  readonly failure = undefined
  listener: (() => void) | undefined
  readonly #client: KafkaClient
  #identity: ProducerIdentity | undefined

  constructor(client: KafkaClient) {
    this.#client = client
  }

  get identity(): ProducerIdentity | undefined {
    return this.#identity
  }

  async initialize(options: InitializeOptions = {}): Promise<void> {
    const response = await this.#client.request(
      initProducerId,
      { transactionalId: null, transactionTimeoutMs: noTransactionTimeoutMs },
      'any',
      options,
    )
    if (response.errorCode !== errorCode.NONE) {
      throw kafkaFailure(initProducerId.name, response.errorCode, { subject: 'a producer' })
    }
    const { producerId, producerEpoch } = response
    this.#identity = { producerId, producerEpoch }
  }

  mayWriteTo(): boolean {
    return true
  }
}
