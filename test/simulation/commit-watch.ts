import type { Answered } from './answered-requests.ts'

/** An offset that the broker has accepted. */
export interface AcceptedOffset {
  readonly offset: number
  readonly memberId: string
  readonly generation: number
}

/**
 * Which offsets the broker has accepted, and from whom; those of a transaction when it was committed. It is the judge
 * of what counts as committed.
 */
export class CommitWatch {
  /** By `topic-partition`. */
  readonly accepted = new Map<string, AcceptedOffset>()
  /** Of open transactions, by producer id and epoch. */
  readonly #inTransaction = new Map<string, Map<string, AcceptedOffset>>()
  readonly #onBreach: (what: string) => void

  constructor(onBreach: (what: string) => void) {
    this.#onBreach = onBreach
  }

  /** Undefined: nothing was committed of it. */
  committed(topic: string, partition: number): number | undefined {
    return this.accepted.get(`${topic}-${partition}`)?.offset
  }

  heard(answered: Answered): void {
    switch (answered.name) {
      case 'OffsetCommit':
        for (const [name, offset] of acceptedOf(answered)) this.#accept(name, offset)
        return
      case 'TxnOffsetCommit': {
        const transaction = transactionOf(answered.request)
        const open = this.#inTransaction.get(transaction) ?? new Map<string, AcceptedOffset>()
        this.#inTransaction.set(transaction, open)
        for (const [name, offset] of acceptedOf(answered)) open.set(name, offset)
        return
      }
      case 'EndTxn': {
        if (answered.response.errorCode !== 0) return
        const transaction = transactionOf(answered.request)
        const offsets = this.#inTransaction.get(transaction) ?? []
        this.#inTransaction.delete(transaction)
        if (!answered.request.committed) return
        for (const [name, offset] of offsets) this.#accept(name, offset)
        return
      }
      case 'Produce':
        return
      default:
        answered satisfies never
    }
  }

  #accept(name: string, now: AcceptedOffset): void {
    const before = this.accepted.get(name)
    this.accepted.set(name, now)
    if (before === undefined || before.offset <= now.offset) return
    this.#onBreach(
      `the committed offset of ${name} went back from ${before.offset} (${before.memberId}, generation ` +
        `${before.generation}) to ${now.offset} (${now.memberId}, generation ${now.generation})`,
    )
  }
}

/** Whose transaction it is: the next one of the same producer may have the same name. */
export function transactionOf(request: {
  readonly producerId: number
  readonly producerEpoch: number
}): string {
  return `${request.producerId}/${request.producerEpoch}`
}

/** What the broker has taken of a commit, by `topic-partition`. */
function acceptedOf({
  request,
  response,
}: Extract<Answered, { name: 'OffsetCommit' | 'TxnOffsetCommit' }>): [
  name: string,
  offset: AcceptedOffset,
][] {
  const { memberId, generationIdOrMemberEpoch: generation } = request
  const refused = new Set(
    response.topics.flatMap(({ name, partitions }) =>
      partitions.filter((row) => row.errorCode !== 0).map((row) => `${name}-${row.partitionIndex}`),
    ),
  )
  return request.topics
    .flatMap(({ name, partitions }) =>
      partitions.map((row): [string, AcceptedOffset] => [
        `${name}-${row.partitionIndex}`,
        { offset: row.committedOffset, memberId, generation },
      ]),
    )
    .filter(([name]) => !refused.has(name))
}
