import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { RecordHeaders } from '../store/state-store.ts'

/** What a test gave for an option or an argument is wrong. */
export function wrongInput(option: string, detail: string): StreamsError {
  return new StreamsError('CONFIG_INVALID', { option, detail })
}

/** Refuses what a program without types gives in the place of an object. */
export function assertObject(given: unknown, option: string): asserts given is object {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return
  throw wrongInput(option, `it must be an object, not ${shownValue(given)}`)
}

/** Refuses what cannot be gone through; a text is no list of records. */
export function assertIterable(given: unknown, option: string): asserts given is Iterable<unknown> {
  const isList = typeof given === 'object' && given !== null && Symbol.iterator in given
  if (!isList) throw wrongInput(option, `it must be a list, not ${shownValue(given)}`)
}

/** Refuses what is no function. */
export function assertCallable(given: unknown, option: string): void {
  if (typeof given === 'function') return
  throw wrongInput(option, `it must be a function, not ${shownValue(given)}`)
}

/** Refuses what is no list of names and bytes. */
export function assertHeaders(given: unknown): asserts given is RecordHeaders | undefined {
  if (given === undefined) return
  const isHeader = (header: unknown): boolean => {
    if (!Array.isArray(header) || typeof header[0] !== 'string') return false
    const value: unknown = header[1]
    return value === null || value instanceof Uint8Array
  }
  if (Array.isArray(given) && given.every(isHeader)) return
  const wanted =
    "a list of names with their bytes or null, such as [['source', Buffer.from('web')]]"
  throw wrongInput('headers', `they must be ${wanted}, not ${shownValue(given)}`)
}

/** Refuses what is no length of time. */
export function assertWholeMs(given: unknown, option: string): void {
  if (Number.isSafeInteger(given)) return
  const wanted = 'a whole number of milliseconds up to 2^53 - 1'
  throw wrongInput(option, `it must be ${wanted}, not ${shownValue(given)}`)
}
