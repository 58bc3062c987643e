import { isStreamsError, messageOf } from '../errors.ts'
import type { KafkaClient } from './kafka-client.ts'

/** What a {@link LeaderRefresh} works for. */
export interface LeaderRefreshOptions {
  /** Ends the question. */
  readonly life: AbortSignal
  /** Whose leaders are to be found. */
  readonly topics: () => Iterable<string>
  /** The question has ended, whatever came of it. */
  readonly onEnd: () => void
  /** The client is closed: nobody will ever tell the leaders again. */
  readonly onClosed: (error: Error) => void
}

/** Asks the cluster who leads what, once at a time, for one who sends to leaders. */
export class LeaderRefresh {
  readonly #client: KafkaClient
  readonly #options: LeaderRefreshOptions
  #question: Promise<void> | undefined

  constructor(client: KafkaClient, options: LeaderRefreshOptions) {
    this.#client = client
    this.#options = options
  }

  /** True: the answer is awaited. */
  get isRunning(): boolean {
    return this.#question !== undefined
  }

  /** Resolves when nothing is asked any more. Never rejects. */
  async ended(): Promise<void> {
    await this.#question
  }

  start(): void {
    const { life, topics, onEnd } = this.#options
    if (this.#question !== undefined || life.aborted) return
    // Not waited for beyond our own life: a broker that is away can hold it up for long.
    this.#question = this.#client
      .retry('Metadata', { signal: life })
      .within(this.#client.refreshMetadata(topics()))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#question = undefined
        onEnd()
      })
  }

  #failed(error: unknown): void {
    if (this.#options.life.aborted) return
    if (isStreamsError(error, 'CLIENT_CLOSED')) {
      this.#options.onClosed(error)
      return
    }
    // That nobody can be reached was told already.
    const level = isStreamsError(error, 'BROKER_UNREACHABLE') ? 'debug' : 'warn'
    this.#client.log[level]('The leaders of partitions could not be found', {
      reason: messageOf(error),
    })
  }
}
