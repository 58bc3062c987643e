import { StreamsError } from '../errors.ts'

/**
 * Refuses a key that the engine of a store cannot keep.
 *
 * @throws StreamsError `KEY_TOO_LONG`.
 */
export function assertKeyLength(store: string, key: Buffer, limit: number): void {
  if (key.length > limit)
    throw new StreamsError('KEY_TOO_LONG', { store, bytes: key.length, limit })
}
