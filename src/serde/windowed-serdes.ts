/**
 * Keys in windows as Kafka Streams writes them to topics (org.apache.kafka.streams.kstream.WindowedSerdes):
 *
 *     time windows   key, start as int64; the end follows from the size
 *     sessions       key, end as int64, start as int64
 */
import { StreamsError } from '../errors.ts'
import { assertSerde } from './assert-serde.ts'
import { longSerde } from './number-serdes.ts'
import { deserializeError, serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'
import type { Window, Windowed } from './windowed.ts'

const timeBytes = 8
/** A window and the object around it, in V8. */
const windowBytes = 80

/**
 * A serde for keys in time windows, or in sliding ones. What is read gets its end from the size, which
 * is that of the windows (the time difference of sliding windows).
 */
export function timeWindowedSerde<K>(inner: Serde<K>, windowSize: number): Serde<Windowed<K>> {
  assertSerde(inner, { part: 'key', of: 'timeWindowed()' })
  if (!(windowSize >= 0)) {
    const detail = `the size of windows must be a number of milliseconds, it is ${shown(windowSize)}`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  return windowedSerde<K>(inner, {
    name: `time-windowed(${inner.name})`,
    suffixBytes: timeBytes,
    timesOf: ({ start }) => [start],
    windowOf: ([start = 0]) => ({ start, end: start + windowSize }),
  })
}

/** A serde for keys in sessions. */
export function sessionWindowedSerde<K>(inner: Serde<K>): Serde<Windowed<K>> {
  assertSerde(inner, { part: 'key', of: 'sessionWindowed()' })
  return windowedSerde<K>(inner, {
    name: `session-windowed(${inner.name})`,
    suffixBytes: 2 * timeBytes,
    timesOf: ({ start, end }) => [end, start],
    windowOf: ([end = 0, start = 0]) => ({ start, end }),
  })
}

interface WindowFormat {
  readonly name: string
  /** Of the times behind the key. */
  readonly suffixBytes: number
  timesOf(window: Window): readonly number[]
  windowOf(times: readonly number[]): Window
}

function windowedSerde<K>(inner: Serde<K>, format: WindowFormat): Serde<Windowed<K>> {
  const { name, suffixBytes } = format
  const { identity, sizeOf } = inner
  return Object.freeze({
    name,
    serialize: ({ key, window }: Windowed<K>): Buffer => {
      const times = format.timesOf(window)
      const negative = times.find((time) => time < 0)
      if (negative !== undefined) throw serializeError(name, `a window cannot be at ${negative}`)
      return Buffer.concat([
        inner.serialize(key),
        ...times.map((time) => longSerde.serialize(time)),
      ])
    },
    deserialize: (bytes: Uint8Array): Windowed<K> => {
      // As in Java, where such a record has no key: what has none is dropped where that matters.
      if (bytes.length === 0) return null as unknown as Windowed<K>
      const keyEnd = bytes.length - suffixBytes
      if (keyEnd < 0) throw deserializeError(name, `${bytes.length} bytes are too few for a window`)
      const times: number[] = []
      for (let at = keyEnd; at < bytes.length; at += timeBytes) {
        times.push(longSerde.deserialize(bytes.subarray(at, at + timeBytes)))
      }
      const window = format.windowOf(times)
      if (window.start < 0 || window.end < window.start) {
        throw deserializeError(name, `no window goes from ${window.start} to ${window.end}`)
      }
      return { key: inner.deserialize(bytes.subarray(0, keyEnd)), window }
    },
    baseKey: ({ key }: Windowed<K>) => inner.serialize(key),
    ...(identity && {
      identity: ({ key, window }: Windowed<K>) => {
        const id = identity(key)
        const times = format.timesOf(window).join('/')
        // Two zeros are written in different bytes, and as text in one.
        return `${times}@${Object.is(id, -0) ? '-0' : String(id)}`
      },
    }),
    ...(sizeOf && { sizeOf: ({ key }: Windowed<K>) => windowBytes + sizeOf(key) }),
  })
}
