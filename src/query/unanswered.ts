import { StreamsError, isStreamsError } from '../errors.ts'

/** A failure of one place: another one may still answer. */
export function mayAskOthers({ code, retriable }: StreamsError): boolean {
  return retriable || code === 'STREAMS_STOPPED' || code === 'MISDIRECTED'
}

/**
 * What to tell of two failures: that copies are too far behind says more than that the owner is gone,
 * and the nearest one says the most.
 */
export function moreTelling(before: StreamsError | undefined, now: StreamsError): StreamsError {
  if (before === undefined || !mayAskOthers(now)) return now
  return lagOf(now) < lagOf(before) ? now : before
}

function lagOf({ code, context }: StreamsError): number {
  return code === 'STALE' ? Number(context['lag']) : Infinity
}

/** Between the look at the map and the answer, the partition has moved: for the asker, it migrated. */
export function movedMeanwhile(error: unknown, store: string, partition: number): StreamsError {
  if (!isStreamsError(error)) throw error
  if (error.code !== 'MISDIRECTED') return error
  return new StreamsError('STORE_MIGRATED', { store, partition }, { cause: error })
}

/** The partitions of a question to many for which there is no answer yet, and what has failed. */
export class Unanswered {
  readonly #store: string
  readonly #partitions: Set<number>
  readonly #failures = new Map<number, StreamsError>()

  constructor(store: string, count: number) {
    this.#store = store
    this.#partitions = new Set(Array.from({ length: count }, (_, partition) => partition))
  }

  get partitions(): readonly number[] {
    return [...this.#partitions]
  }

  /** One that failed for a reason that is the same everywhere is not asked for again. */
  get askable(): readonly number[] {
    return this.partitions.filter((partition) => {
      const failure = this.#failures.get(partition)
      return failure === undefined || mayAskOthers(failure)
    })
  }

  answered(partition: number): void {
    this.#partitions.delete(partition)
  }

  failed(partition: number, error: unknown): void {
    const failure = movedMeanwhile(error, this.#store, partition)
    this.#failures.set(partition, moreTelling(this.#failures.get(partition), failure))
  }

  /** Why there is no answer; undefined: nobody was asked. */
  failure(partition: number): StreamsError | undefined {
    return this.#failures.get(partition)
  }
}
