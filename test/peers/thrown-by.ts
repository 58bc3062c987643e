import { StreamsError } from '../../src/errors.ts'

/** The StreamsError that the work throws; what else it throws passes, and throwing nothing is an error. */
export function thrownBy(work: () => unknown): StreamsError {
  try {
    work()
  } catch (error) {
    if (error instanceof StreamsError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
