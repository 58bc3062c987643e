/** A transaction that was aborted on this log. */
export interface AbortedTransaction {
  readonly producerId: number
  /** Of its first batch. */
  readonly firstOffset: number
  /** Of its marker. */
  readonly lastOffset: number
  /** The last stable offset when the marker was written. */
  readonly lastStableOffset: number
}

/** How a transaction ends on a log. */
export interface TransactionMarker {
  readonly type: 'commit' | 'abort'
  readonly producerId: number
  /** Batches of older epochs are refused after the marker. */
  readonly producerEpoch: number
  readonly coordinatorEpoch: number
}

/**
 * The transactions of one log: those that are open, and those that were aborted
 * (org.apache.kafka.storage.internals.log.ProducerStateManager and TransactionIndex). Like the
 * sequences of producers it is a function of the log: recovery replays the batches.
 */
export class LogTransactions {
  /** First offset by producer. Transactions begin in the order of the log: the first is the oldest. */
  readonly #open = new Map<number, number>()
  /** In the order of their markers. */
  #aborted: AbortedTransaction[] = []

  /** The first offset of each open transaction, by producer. */
  get open(): ReadonlyMap<number, number> {
    return this.#open
  }

  /** In the order of their markers. */
  get aborted(): readonly AbortedTransaction[] {
    return this.#aborted
  }

  /** Where the oldest open transaction begins; undefined when none is open. */
  get firstUnstableOffset(): number | undefined {
    for (const firstOffset of this.#open.values()) return firstOffset
    return undefined
  }

  isOpen(producerId: number): boolean {
    return this.#open.has(producerId)
  }

  /** Notes a transactional batch: it begins a transaction unless its producer has one open. */
  add(producerId: number, firstOffset: number): void {
    if (!this.#open.has(producerId)) this.#open.set(producerId, firstOffset)
  }

  /** Notes a marker. One that ends nothing, as its producer wrote nothing here, changes nothing. */
  end({ producerId, type }: TransactionMarker, offset: number): void {
    const firstOffset = this.#open.get(producerId)
    if (firstOffset === undefined) return
    this.#open.delete(producerId)
    if (type === 'commit') return
    const lastStableOffset = this.firstUnstableOffset ?? offset + 1
    this.#aborted.push({ producerId, firstOffset, lastOffset: offset, lastStableOffset })
  }

  /** The aborted transactions with batches in this range, its end not included. */
  abortedIn(from: number, to: number): AbortedTransaction[] {
    const found: AbortedTransaction[] = []
    for (let index = this.#firstEndingAt(from); index < this.#aborted.length; index += 1) {
      const transaction = this.#aborted[index] as AbortedTransaction
      if (transaction.firstOffset < to) found.push(transaction)
      // Whatever ends after this began at its stable offset or later.
      if (transaction.lastStableOffset >= to) break
    }
    return found
  }

  /** Forgets aborted transactions that ended before the offset: their records are gone. */
  forgetBefore(offset: number): void {
    const kept = this.#firstEndingAt(offset)
    if (kept > 0) this.#aborted = this.#aborted.slice(kept)
  }

  /** Index of the first whose marker is at or after the offset. */
  #firstEndingAt(offset: number): number {
    let low = 0
    let high = this.#aborted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#aborted[middle] as AbortedTransaction).lastOffset < offset) low = middle + 1
      else high = middle
    }
    return low
  }
}
