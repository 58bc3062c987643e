import { StreamsError } from '../errors.ts'
import type { Serde } from '../serde/serde.ts'
import type { RecordHeaders } from '../store/state-store.ts'
import type { ProducedRecord } from './produced-records.ts'

/** A record that the program has written. */
export interface TestOutputRecord<K, V> {
  readonly key: K
  readonly value: V
  /** Milliseconds. */
  readonly timestamp: number
  /** Absent when the record has none. */
  readonly headers?: RecordHeaders
}

/**
 * Reads what the program has written to one topic, each record once: all readers of a topic share
 * its unread records. Java's TestOutputTopic.
 *
 * @example
 * const output = driver.output(counts)
 * output.readAll()   // [{ key: 'to', value: 1, timestamp: 0 }, …]
 */
export class TestOutputTopic<K, V> {
  readonly #queue: ProducedRecord[]
  readonly #name: string
  readonly #key: Serde<K>
  readonly #value: Serde<V>

  constructor(queue: ProducedRecord[], topic: { name: string; key: Serde<K>; value: Serde<V> }) {
    this.#queue = queue
    this.#name = topic.name
    this.#key = topic.key
    this.#value = topic.value
  }

  /** The next record; undefined when there is none. */
  read(): TestOutputRecord<K, V> | undefined {
    const record = this.#queue.shift()
    return record === undefined ? undefined : this.#decode(record)
  }

  /**
   * The next record.
   *
   * @throws StreamsError `RECORD_MISSING` when there is none; {@link read} gives undefined then.
   */
  readRecord(): TestOutputRecord<K, V> {
    const record = this.read()
    if (record === undefined) throw new StreamsError('RECORD_MISSING', { topic: this.#name })
    return record
  }

  /** The value of the next record; throws as {@link readRecord}. */
  readValue(): V {
    return this.readRecord().value
  }

  /** Key and value of the next record; throws as {@link readRecord}. */
  readKeyValue(): [K, V] {
    const { key, value } = this.readRecord()
    return [key, value]
  }

  /** All that is unread. */
  readAll(): TestOutputRecord<K, V>[] {
    return this.#queue.splice(0).map((record) => this.#decode(record))
  }

  /** The values of all that is unread. */
  readValues(): V[] {
    return this.readAll().map(({ value }) => value)
  }

  /** Keys and values of all that is unread. */
  readKeyValues(): [K, V][] {
    return this.readAll().map(({ key, value }) => [key, value])
  }

  /**
   * The last value of each key, of all that is unread. Keys are told apart as a Map does: those that
   * are objects, such as bytes, are all different.
   */
  readKeyValuesToMap(): Map<K, V> {
    return new Map(this.readKeyValues())
  }

  /** True: nothing is unread. */
  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  /** How many records are unread. */
  get size(): number {
    return this.#queue.length
  }

  // A null is read as null whatever the type says: a topic that may hold one has a nullable serde.
  #decode({ key, value, timestamp, headers }: ProducedRecord): TestOutputRecord<K, V> {
    const record = {
      key: key === null ? (null as K) : this.#key.deserialize(key),
      value: value === null ? (null as V) : this.#value.deserialize(value),
      timestamp,
    }
    return headers.length === 0 ? record : { ...record, headers }
  }
}
