import type { KafkaClient } from '../client/kafka-client.ts'
import { Producer } from '../client/producer.ts'
import { TransactionManager } from '../client/transaction-manager.ts'
import type { ResolvedConfig } from '../config.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { RefusedRecords, asksAboutRefusals } from './refused-records.ts'

export interface StreamsProducerOptions {
  readonly client: KafkaClient
  readonly config: ResolvedConfig
  readonly metrics: StreamsMetrics
  /** Names the transactions of this process: the same after a restart, so that what it left open is ended. */
  readonly processId: string
  /** Counts the workers of the process. */
  readonly workerNumber: number
}

/**
 * What a worker writes with: one producer for all of its tasks, and under exactly-once the transactions
 * that its records are in. Java's StreamsProducer.
 */
export class StreamsProducer {
  readonly #options: StreamsProducerOptions
  #transactions: TransactionManager | undefined
  #producer: Producer

  constructor(options: StreamsProducerOptions) {
    this.#options = options
    this.#transactions = this.#makeTransactions()
    this.#producer = this.#makeProducer()
  }

  /** Another one after {@link startAnew}. */
  get producer(): Producer {
    return this.#producer
  }

  /** Undefined: each record counts as soon as it is written. Another one after {@link startAnew}. */
  get transactions(): TransactionManager | undefined {
    return this.#transactions
  }

  /**
   * Must have come to its end before it is found out where tasks begin: what an earlier life of this worker
   * left open is aborted then, and holds nobody up. Rejects as `TransactionManager.initialize`.
   */
  async initialize(signal: AbortSignal): Promise<void> {
    await this.#transactions?.initialize({ signal })
  }

  /** Drops what is under way, gives up the open transaction, and makes both anew. */
  async startAnew(): Promise<void> {
    await this.close()
    this.#transactions = this.#makeTransactions()
    this.#producer = this.#makeProducer()
  }

  /** Drops what is under way, and gives up the open transaction. Never rejects. */
  async close(): Promise<void> {
    await this.#producer.close()
    await this.#transactions?.close()
  }

  #makeTransactions(): TransactionManager | undefined {
    const { client, config, processId, workerNumber } = this.#options
    if (config.processingGuarantee !== 'exactly-once') return undefined
    // As Java's exactly_once_v2, whose threads are counted from 1 as well.
    const transactionalId = `${config.applicationId}-${processId}-${workerNumber}`
    return new TransactionManager(client, { transactionalId, timeoutMs: config.transactionTimeout })
  }

  #makeProducer(): Producer {
    const { client, config, metrics } = this.#options
    const session = this.#transactions
    const inSession = session === undefined ? {} : { session }
    if (!asksAboutRefusals(config)) return new Producer(client, inSession)
    const refused = new RefusedRecords({ ...config, metrics, producer: () => this.#producer })
    return new Producer(client, {
      ...inSession,
      onRefused: (record, error) => refused.decide(record, error),
    })
  }
}
