/** A promise with its ends. */
export class Outcome {
  readonly promise: Promise<void>
  resolve: () => void = () => undefined
  reject: (error: Error) => void = () => undefined

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // Whoever is interested waits for it; that nobody does must not end the process.
    this.promise.catch(() => undefined)
  }
}
