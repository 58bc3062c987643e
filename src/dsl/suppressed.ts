import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { Named } from './naming.ts'
import { assertMilliseconds } from './windows.ts'

/** How much a suppression may hold back; one of the two limits must be stated. */
export interface SuppressedLimits {
  /** Keys. */
  readonly maxRecords?: number
  /** Bytes of serialized keys and values, and about 30 more for each key. */
  readonly maxBytes?: number
}

interface SuppressedStore extends Named {
  /**
   * Write what is held back to a changelog topic (default), from which it comes back after a restart
   * or on another instance. An object: with these topic configs.
   */
  readonly changelog?: boolean | { readonly [config: string]: string }
}

/** Waits until a window has closed: then comes its final result, and nothing else before. */
export interface SuppressedUntilWindowCloses extends SuppressedStore {
  readonly until: 'window-closes'
  /** A full buffer shuts the instance down: an early result would not be final. */
  readonly buffer: 'unbounded' | (SuppressedLimits & { readonly onFull: 'shut-down' })
}

/** Waits, from the first change of a key on, for so much stream time. */
export interface SuppressedUntilTimeLimit extends SuppressedStore {
  readonly until: { readonly timeLimit: number }
  /** `emit-early`: what waits longest goes on before its time. */
  readonly buffer:
    | 'unbounded'
    | (SuppressedLimits & { readonly onFull: 'shut-down' | 'emit-early' })
}

/** What `suppress` takes. Java's Suppressed. */
export type Suppressed = SuppressedUntilWindowCloses | SuppressedUntilTimeLimit

/** The limits of a buffer with nothing left out. */
export interface BufferLimits {
  readonly maxRecords: number
  readonly maxBytes: number
  readonly onFull: 'shut-down' | 'emit-early'
}

/** Refuses what is no suppression, as a program without types may give. */
export function assertSuppressed(given: unknown): asserts given is Suppressed {
  const { until, buffer } = (given ?? {}) as Partial<Record<string, unknown>>
  if (until !== 'window-closes') {
    if (typeof until !== 'object' || until === null) {
      const wanted = "'window-closes' or { timeLimit }"
      throw invalid(`until must be ${wanted}, it is ${shownValue(until)}`)
    }
    const { timeLimit } = until as Partial<Record<string, unknown>>
    assertMilliseconds('suppress', { timeLimit }, 0)
  }
  if (buffer === 'unbounded') return
  if (typeof buffer !== 'object' || buffer === null) {
    const wanted = "'unbounded' or { maxRecords or maxBytes, onFull }"
    throw invalid(`buffer must be ${wanted}, it is ${shownValue(buffer)}`)
  }
  const { maxRecords, maxBytes, onFull } = buffer as Partial<Record<string, unknown>>
  if (maxRecords === undefined && maxBytes === undefined) {
    throw invalid('buffer needs maxRecords or maxBytes')
  }
  assertLimit('maxRecords', maxRecords)
  assertLimit('maxBytes', maxBytes)
  if (onFull === 'shut-down' || (onFull === 'emit-early' && until !== 'window-closes')) return
  if (onFull === 'emit-early') throw invalid('a final result cannot be emitted early')
  throw invalid(`onFull must be 'shut-down' or 'emit-early', it is ${shownValue(onFull)}`)
}

function assertLimit(name: string, value: unknown): void {
  if (value === undefined || value === Infinity) return
  if (Number.isSafeInteger(value) && (value as number) >= 0) return
  throw invalid(`${name} must be a whole number, it is ${shownValue(value)}`)
}

export function bufferLimits(buffer: Suppressed['buffer']): BufferLimits {
  if (buffer === 'unbounded') {
    return { maxRecords: Infinity, maxBytes: Infinity, onFull: 'shut-down' }
  }
  const { maxRecords = Infinity, maxBytes = Infinity, onFull } = buffer
  return { maxRecords, maxBytes, onFull }
}

function invalid(detail: string): StreamsError {
  return new StreamsError('TOPOLOGY_INVALID', { detail: `suppress: ${detail}` })
}
