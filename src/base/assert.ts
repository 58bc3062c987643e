/** Thrown when an invariant of ours is broken: a bug in Millpond, never a state of the world. */
export class AssertionError extends Error {
  constructor(message: string) {
    super(`Invariant broken: ${message}. This is a bug in Millpond, please report it.`)
    this.name = 'AssertionError'
  }
}

/** States what must be true here. Nobody catches the error. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}
