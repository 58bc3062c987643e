import type { RecordHeaders } from '../store/state-store.ts'

/**
 * A record as a processor sees it. Java's Record (a global type of TypeScript has that name). It is
 * the processor's own: `{ ...record, value: 1 }` is another one with the same time and headers.
 */
export interface StreamRecord<K, V> {
  readonly key: K
  readonly value: V
  /** Milliseconds since the epoch. */
  readonly timestamp: number
  readonly headers: RecordHeaders
}
