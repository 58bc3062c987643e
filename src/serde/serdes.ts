import { booleanSerde } from './boolean-serde.ts'
import { bufferSerde, bytesSerde } from './bytes-serde.ts'
import { jsonSerde } from './json-serde.ts'
import { listSerde } from './list-serde.ts'
import {
  bigintSerde,
  doubleSerde,
  floatSerde,
  intSerde,
  longSerde,
  shortSerde,
} from './number-serdes.ts'
import { orderedNumberSerde } from './ordered-number-serde.ts'
import type { Serde } from './serde.ts'
import type { StandardSchema } from './standard-schema.ts'
import { stringSerde } from './string-serde.ts'
import { uuidSerde } from './uuid-serde.ts'
import { voidSerde } from './void-serde.ts'
import type { Windowed } from './windowed.ts'
import { sessionWindowedSerde, timeWindowedSerde } from './windowed-serdes.ts'

/**
 * The serdes that come with Millpond. Their bytes are those of Java's serdes of the same name
 * (`bytes` is ByteArray, `buffer` ByteBuffer), so that topics and state can be shared with Java programs.
 *
 * @example
 * const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })
 */
export const serdes: {
  /** Text, UTF-8. */
  readonly string: Serde<string>
  /** A whole number in two bytes. */
  readonly short: Serde<number>
  /** A whole number in four bytes. */
  readonly int: Serde<number>
  /** A Java Long; throws outside `Number.isSafeInteger`. */
  readonly long: Serde<number>
  /** The same bytes as `long`, full range. */
  readonly bigint: Serde<bigint>
  /** A number in four bytes, rounded to the nearest that has them. */
  readonly float: Serde<number>
  /** A JavaScript number in eight bytes. */
  readonly double: Serde<number>
  readonly boolean: Serde<boolean>
  /** Bytes as they are. */
  readonly bytes: Serde<Uint8Array>
  /** The same bytes as `bytes`, read as a Buffer of Node.js. Java's ByteBuffer. */
  readonly buffer: Serde<Buffer>
  /** A UUID as its 36 characters. */
  readonly uuid: Serde<string>
  /** Keys or values that are always null. */
  readonly void: Serde<null>
  /**
   * A number in eight bytes whose order is that of the numbers, which it is not in `int`, `long` and
   * `double` when there are negative ones: for keys of stores that are read in ranges. Java has no
   * serde like it.
   */
  readonly orderedNumber: Serde<number>
  /** JSON; what is read is validated when there is a schema. */
  json<T>(schema?: StandardSchema<T>): Serde<T>
  /** Arrays of what the inner serde writes. */
  list<T>(inner: Serde<T>): Serde<T[]>
  /**
   * Keys in time windows, as windowed aggregations have them: the key, then the start of its window.
   * What is read gets its end from the size of the windows (of sliding windows: their time
   * difference; of unlimited ones: Infinity).
   *
   * @example
   * const clicksPerMinute = topic('clicks-per-minute', {
   *   key: serdes.timeWindowed(serdes.string, minutes(1)),
   *   value: serdes.long,
   * })
   */
  timeWindowed<K>(inner: Serde<K>, windowSize: number): Serde<Windowed<K>>
  /** Keys in sessions: the key, then end and start of its session. */
  sessionWindowed<K>(inner: Serde<K>): Serde<Windowed<K>>
} = Object.freeze({
  string: stringSerde,
  short: shortSerde,
  int: intSerde,
  long: longSerde,
  bigint: bigintSerde,
  float: floatSerde,
  double: doubleSerde,
  boolean: booleanSerde,
  bytes: bytesSerde,
  buffer: bufferSerde,
  uuid: uuidSerde,
  void: voidSerde,
  orderedNumber: orderedNumberSerde,
  json: jsonSerde,
  list: listSerde,
  timeWindowed: timeWindowedSerde,
  sessionWindowed: sessionWindowedSerde,
})
