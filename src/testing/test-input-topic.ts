import type { Topic } from '../dsl/topic.ts'
import { noHeaders, type RecordHeaders } from '../store/state-store.ts'
import { assertHeaders, assertIterable, assertObject, assertWholeMs } from './given-input.ts'

/** A record for a test to pipe in. */
export interface TestRecord<K, V> {
  readonly key: K | null
  readonly value: V | null
  /** Milliseconds. Default: the time of the input topic. */
  readonly timestamp?: number
  readonly headers?: RecordHeaders
}

/** Where an input topic's own time begins, and how it runs. */
export interface TestInputOptions {
  /** Milliseconds. Default: the wall-clock time of the driver. */
  readonly startTime?: number
  /** By how much the time moves with each record that has no timestamp of its own. Default 0. */
  readonly advanceTime?: number
}

/** The times of records that are piped together, in milliseconds. Without: those of the input topic. */
export interface TestTimes {
  /** Of the first. */
  readonly start: number
  /** From one to the next. Default 0. */
  readonly advance?: number
}

/** Takes a serialized record into the topology, and works until nothing is left to do. */
export type PipeBytes = (
  topic: string,
  record: {
    key: Uint8Array | null
    value: Uint8Array | null
    timestamp: number
    headers: RecordHeaders
  },
) => void

/**
 * Pipes records into one topic of a {@link TopologyTestDriver}. Each is processed, and committed,
 * before the call returns; what the program throws is thrown here. Java's TestInputTopic.
 *
 * @example
 * const input = driver.input(lines, { startTime: 0, advanceTime: seconds(1) })
 * input.pipe({ key: 'a', value: 'to be', timestamp: 5 })
 * input.pipeValue('or not to be')
 */
export class TestInputTopic<K, V> {
  readonly #topic: Topic<K, V>
  readonly #pipe: PipeBytes
  readonly #advanceTime: number
  #time: number

  constructor(
    topic: Topic<K, V>,
    options: { pipe: PipeBytes; startTime: number; advanceTime: number },
  ) {
    assertWholeMs(options.startTime, 'startTime')
    assertWholeMs(options.advanceTime, 'advanceTime')
    this.#topic = topic
    this.#pipe = options.pipe
    this.#time = options.startTime
    this.#advanceTime = options.advanceTime
  }

  /**
   * Pipes one record. Null keys and values go in as null.
   *
   * @throws StreamsError `CONFIG_INVALID` for a timestamp that is no whole number up to 2^53 - 1 (negative
   *   ones go in, for timestamp functions to see), and for what is no record.
   */
  pipe(record: TestRecord<K, V>): void {
    assertObject(record, 'record')
    const { key, value, timestamp, headers } = record
    const { name, key: keySerde, value: valueSerde } = this.#topic
    const time = timestamp ?? this.#nextTime()
    assertWholeMs(time, 'timestamp')
    assertHeaders(headers)
    this.#pipe(name, {
      key: key === null ? null : keySerde.serialize(key),
      value: value === null ? null : valueSerde.serialize(value),
      timestamp: time,
      headers: headers ?? noHeaders,
    })
  }

  /** Pipes a value with the key null. */
  pipeValue(value: V | null, timestamp?: number): void {
    this.pipe({ key: null, value, timestamp })
  }

  /** Pipes records one after the other. */
  pipeAll(records: Iterable<TestRecord<K, V>>): void {
    assertIterable(records, 'records')
    for (const record of records) this.pipe(record)
  }

  /** Pipes values with the key null, one after the other. */
  pipeValues(values: Iterable<V | null>, times?: TestTimes): void {
    assertIterable(values, 'values')
    const next = this.#timesOf(times)
    for (const value of values) this.pipe({ key: null, value, timestamp: next() })
  }

  /** Pipes keys with their values, one after the other. */
  pipeKeyValues(
    pairs: Iterable<readonly [key: K | null, value: V | null]>,
    times?: TestTimes,
  ): void {
    assertIterable(pairs, 'pairs')
    const next = this.#timesOf(times)
    for (const pair of pairs) {
      assertIterable(pair, 'pair')
      const [key, value] = pair
      this.pipe({ key, value, timestamp: next() })
    }
  }

  /** Moves the time of records without a timestamp, in milliseconds. */
  advanceTime(ms: number): void {
    assertWholeMs(ms, 'advanceTime')
    this.#time += ms
  }

  #timesOf(times: TestTimes | undefined): () => number | undefined {
    if (times === undefined) return () => undefined
    assertObject(times, 'times')
    const { start, advance = 0 } = times
    assertWholeMs(start, 'start')
    assertWholeMs(advance, 'advance')
    let time = start
    return () => {
      const now = time
      time += advance
      return now
    }
  }

  #nextTime(): number {
    const time = this.#time
    this.#time += this.#advanceTime
    return time
  }
}
