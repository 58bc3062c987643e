import { assertName } from '../base/legal-name.ts'
import { assertOptions } from '../base/assert-options.ts'
import { StreamsError } from '../errors.ts'
import { assertSerde } from '../serde/assert-serde.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import type { TimestampExtractor } from '../topology/node.ts'
import { offsetResetProblem, type OffsetReset } from '../topology/offset-reset.ts'
import { assertFunction } from './naming.ts'

/** What a program gets as key when it does not state a key serde: the bytes. */
export type RawKey = Uint8Array | null

/** How a topic is read. */
export interface TopicOptions<K, V> {
  /**
   * The time of a record, in milliseconds since the epoch. A record for which it is negative is
   * dropped, and counted. Default: the record's own timestamp; a negative one stops the instance with
   * `TIMESTAMP_INVALID`. Ready made: `logAndSkipOnInvalidTimestamp`, `wallclockTimestamp` and others.
   */
  readonly timestamp?: TimestampExtractor<K, V>
  /** Where to begin when the application has no offset for the topic. Default: as configured. */
  readonly offsetReset?: OffsetReset
}

/**
 * A topic and the serdes of its keys and values. Made by {@link topic}; replaces Java's Consumed and
 * Produced.
 */
export interface Topic<K, V> extends TopicOptions<K, V> {
  readonly name: string
  readonly key: Serde<K>
  readonly value: Serde<V>
}

/** Takes any T: a serde of T or of a wider type. */
export interface SerializerOf<T> {
  readonly serialize: (value: T) => Uint8Array
}

/**
 * A serde for T: of T itself, or of a wider type, since what is read back is what was written. It
 * need not take null or undefined, because a null never reaches a serde: it is null on the wire.
 */
export interface SerdeOf<T> extends SerializerOf<NonNullable<T>> {
  readonly name: string
  /** The value of such bytes. */
  deserialize(bytes: Uint8Array): unknown
}

/** A serde whose type was checked where the program was written. */
// oxlint-disable-next-line typescript/no-explicit-any -- variance: a serde of any type fits
export type AnySerde = Serde<any>

/** A topic that can take keys K and values V: its own types may be wider. */
export interface SinkTopic<K, V> {
  readonly name: string
  readonly key: SerializerOf<K>
  readonly value: SerializerOf<V>
}

/**
 * Names a topic and states its serdes. Creates nothing: the topic must exist when the program runs.
 * Without a key serde, keys are bytes or null.
 *
 * A topic that may hold null values (tombstones, such as a table's) is typed so with
 * `nullable(serde)`.
 *
 * @throws StreamsError `TOPOLOGY_INVALID` for a name that Kafka does not allow (letters, digits, `.`,
 *   `_` and `-`, at most 249) or what is no serde,
 *   function or offset reset; `SERDE_MISSING` without a value serde.
 * @example
 * const orders = topic('orders', { key: serdes.string, value: serdes.json<Order>() })
 */
export function topic<V>(
  name: string,
  options: { key?: undefined; value: Serde<V> } & TopicOptions<RawKey, V>,
): Topic<RawKey, V>
export function topic<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & TopicOptions<K, V>,
): Topic<K, V>
export function topic<K, V>(
  name: string,
  options: { key?: Serde<K> | undefined; value: Serde<V> } & TopicOptions<K, V>,
): Topic<K, V> {
  assertName(name, 'a topic')
  const of = `the topic ${name}`
  assertOptions(options, of)
  // A program without types may have left the options out.
  assertSerde((options as typeof options | undefined)?.value, { part: 'value', of })
  // Without a key serde K is RawKey, by the first overload.
  const key = options.key ?? (serdes.bytes as Serde<unknown> as Serde<K>)
  assertSerde(key, { part: 'key', of })
  assertTopicOptions(options, of)
  return Object.freeze({ ...options, name, key })
}

/** Refuses a timestamp that is no function, and an offset reset that there is not. */
export function assertTopicOptions(
  { timestamp, offsetReset }: TopicOptions<never, never>,
  of: string,
): void {
  if (timestamp !== undefined) assertFunction(timestamp, `the timestamp of ${of}`)
  const problem = offsetReset === undefined ? undefined : offsetResetProblem(offsetReset)
  if (problem === undefined) return
  const detail = `the offsetReset of ${of} is not valid: ${problem}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

/** Refuses what was not made by {@link topic}. */
export function assertTopic(topic: unknown, operator: string): void {
  if (typeof topic === 'object' && topic !== null && 'name' in topic && 'value' in topic) return
  const detail = `${operator}() needs a topic made by topic(name, { key, value })`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
