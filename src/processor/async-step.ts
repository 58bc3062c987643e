/** What an operator asks for whose code answers later; see {@link AsyncQueue}. */
export interface AsyncStepOptions {
  /** Calls that run at the same time, at most. */
  readonly concurrency: number
  /** Milliseconds that one call may take; then it fails. */
  readonly timeoutMs: number
  /** The user's code. The signal aborts when the time is over, and when the task is given up. */
  readonly call: (key: unknown, value: unknown, signal: AbortSignal) => unknown
  /**
   * Takes what a call gave, in the order in which the records came, as part of the task's work: the
   * record context is that of the call's record.
   */
  readonly settled: (key: unknown, result: unknown) => void
}

/**
 * Records of an operator whose code answers later. While as many as may run at the same time are
 * here, the task takes no further records; and a commit waits until none is.
 */
export interface AsyncQueue {
  /**
   * The current record. What the user's code throws comes with its turn. Throws a RangeError when one
   * input record has brought too many.
   */
  push(key: unknown, value: unknown): void
}
