/**
 * Work beside a test. It goes on until it is told to end, at the latest when the test has: what it uses is
 * disposed after it.
 */
export class BackgroundLoad<T> implements AsyncDisposable {
  readonly #isOver = new AbortController()
  readonly #done: Promise<T>

  constructor(work: (isOver: AbortSignal) => Promise<T>) {
    this.#done = work(this.#isOver.signal)
    // Whoever ends it is told.
    this.#done.catch(() => undefined)
  }

  /** Resolves with what came of it. */
  end(): Promise<T> {
    this.#isOver.abort()
    return this.#done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }
}
