/** Bytes that tables which restore hold together before they are in their engines; see {@link RestoreBudget}. */
const bytesMaxDefault = 64 * 1024 * 1024
/** A large sorted run is written much faster than a small one; a larger one than this gains nothing. */
const runBytesMax = 4 * 1024 * 1024
/** However many tables restore. */
const runBytesMin = 256 * 1024
/** Runs of a table, the one that is being written among them. */
const runsMax = 2

/**
 * What the tables that restore may gather in memory, all of a worker together: rows come faster than
 * engines take them. Each gathers runs of an equal share, and waits for its engine at two of them.
 */
export class RestoreBudget {
  readonly #bytesMax: number
  #restoring = 0
  #sharers = 1

  constructor(bytesMax = bytesMaxDefault) {
    this.#bytesMax = bytesMax
  }

  /** So many workers of the process share the memory. */
  shareWith(workers: number): void {
    this.#sharers = workers
  }

  /** A table begins to restore. */
  begin(): void {
    this.#restoring += 1
  }

  /** It has ended. */
  end(): void {
    this.#restoring -= 1
  }

  /** Rows of a table are gathered to this many bytes before they are written. */
  get runBytes(): number {
    const share = this.#bytesMax / this.#sharers / runsMax / Math.max(1, this.#restoring)
    return Math.min(runBytesMax, Math.max(runBytesMin, share))
  }

  /** With more than that, a table gets nothing to restore until its engine has taken some. */
  get heldBytesMax(): number {
    return runsMax * this.runBytes
  }
}
