/** Where a leader epoch ends; both -1 when nothing is known of it. */
export interface EpochEnd {
  readonly leaderEpoch: number
  readonly endOffset: number
}

interface EpochStart {
  readonly epoch: number
  readonly startOffset: number
}

/**
 * In which leader epochs the records of a log were appended
 * (org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache). It is a function of the log:
 * recovery notes the epochs of the batches, and last that of this life of the broker.
 */
export class LeaderEpochs {
  readonly #starts: EpochStart[] = []
  readonly #current: number

  constructor(current: number) {
    this.#current = current
  }

  /** A batch of this epoch is at the offset. Epochs that are not new change nothing. */
  note(epoch: number, startOffset: number): void {
    const last = this.#starts.at(-1)
    if (last === undefined || epoch > last.epoch) this.#starts.push({ epoch, startOffset })
  }

  /** Where the records of an epoch end, in a log that ends at `endOffset`. */
  endOf(epoch: number, endOffset: number): EpochEnd {
    if (epoch === this.#current) return { leaderEpoch: epoch, endOffset }
    const next = this.#starts.findIndex((start) => start.epoch > epoch)
    if (next < 0) return { leaderEpoch: -1, endOffset: -1 }
    const nextStart = (this.#starts[next] as EpochStart).startOffset
    return { leaderEpoch: this.#starts[next - 1]?.epoch ?? epoch, endOffset: nextStart }
  }

  /** The epoch in which the record at this offset was, or will be, appended. */
  at(offset: number): number {
    return this.#starts.findLast((start) => start.startOffset <= offset)?.epoch ?? this.#current
  }
}
