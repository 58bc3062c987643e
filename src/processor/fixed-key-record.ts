import type { RecordHeaders } from '../store/state-store.ts'
import type { StreamRecord } from './stream-record.ts'

/**
 * A record whose key stays: what `processValues` is given, and what it forwards. It cannot be made,
 * only derived from another one: so equal keys stay in one partition. Java's FixedKeyRecord.
 *
 * @example
 * orders.processValues(
 *   ({ forward }) =>
 *     (record) =>
 *       forward(record.withValue(record.value.total)),
 *   { value: serdes.double },
 * )
 */
export class FixedKeyRecord<K, V> implements StreamRecord<K, V> {
  readonly key: K
  readonly value: V
  readonly timestamp: number
  readonly headers: RecordHeaders

  /** @internal */
  constructor(key: K, value: V, timestamp: number, headers: RecordHeaders) {
    this.key = key
    this.value = value
    this.timestamp = timestamp
    this.headers = headers
  }

  /** The same key, time and headers, with another value. */
  withValue<V2>(value: V2): FixedKeyRecord<K, V2> {
    return new FixedKeyRecord(this.key, value, this.timestamp, this.headers)
  }

  /** Milliseconds since the epoch. */
  withTimestamp(timestamp: number): FixedKeyRecord<K, V> {
    return new FixedKeyRecord(this.key, this.value, timestamp, this.headers)
  }

  /** Its headers are replaced by these. */
  withHeaders(headers: RecordHeaders): FixedKeyRecord<K, V> {
    return new FixedKeyRecord(this.key, this.value, this.timestamp, headers)
  }
}
