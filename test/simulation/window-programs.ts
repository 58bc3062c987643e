/** Programs whose results are windows: tumbling, sliding, sessions, and those that tell of themselves when they close. */
import { randomInteger, type Random } from '../../src/base/random.ts'
import {
  StreamsBuilder,
  hours,
  seconds,
  serdes,
  sessionStore,
  sessionWindows,
  slidingWindows,
  timeWindows,
  topic,
  windowStore,
} from '../../src/index.ts'
import {
  asRows,
  counter,
  judgeCount,
  ofOneInput,
  type NextRecord,
  type ProgramMaker,
  type Rows,
} from './program.ts'
import type { SentRecord, SentRecords } from './sent-records.ts'

const windowMs = seconds(10)

/** Counts records by key and ten seconds. Keys of rows are `<key>@<start of the window>`. */
export const windowedCount: ProgramMaker = (size) => {
  const { persistent } = size
  const input = topic('clicks', { key: serdes.string, value: serdes.string })
  const counts = windowStore('counts', {
    key: serdes.string,
    value: serdes.long,
    windowSize: windowMs,
    retention: hours(2),
    persistent,
  })
  const builder = new StreamsBuilder()
  builder
    .stream(input)
    .groupByKey()
    .windowedBy(timeWindows({ size: windowMs, grace: hours(1) }))
    .count({ store: counts })
  const count = counter(({ key, timestamp }) => [`${key}@${timestamp - (timestamp % windowMs)}`])
  return {
    ...ofOneInput(input, size),
    name: 'windowed count',
    topology: builder.build(),
    rows: async (streams) => {
      const rows: Rows = new Map()
      for await (const [{ key, window }, value] of streams.store(counts).range()) {
        rows.set(`${key}@${window.start}`, String(value))
      }
      return rows
    },
    expected: (sent) => asRows(count(sent)),
    // Of all windows of a key the sum.
    ask: async (streams, key, how) => {
      let sum = 0
      for await (const [, value] of streams.store(counts).fetchRange(key, 0, Infinity, how))
        sum += value
      return sum === 0 ? undefined : String(sum)
    },
    judge: (key, answer, sent) => judgeCount(answer, sent.valuesOf(input.name, key).length),
  }
}

/** How much older than now a record may be, where records come in any order. */
const ageMsMax = 5_000

/** A record of one of so many keys, now and then an older one. */
function unordered(name: string, options: { keys: number; random: Random }): NextRecord {
  const { keys, random } = options
  return {
    topic: name,
    key: `k${randomInteger(random, keys)}`,
    value: 'x',
    ageMs: random.next() < 0.3 ? randomInteger(random, ageMsMax) : 0,
  }
}

/** The times of the records of each key, in ascending order. */
function timesByKey(sent: SentRecords): Map<string, number[]> {
  const times = new Map<string, number[]>()
  for (const { key, timestamp } of sent.all) times.set(key, [...(times.get(key) ?? []), timestamp])
  for (const all of times.values()) all.sort((a, b) => a - b)
  return times
}

const gapMs = 1_500

/** Counts the records of each session of a key. Keys of rows are `<key>@<start>-<end>`. */
export const sessionCount: ProgramMaker = (size) => {
  const { keys, persistent } = size
  const input = topic('visits', { key: serdes.string, value: serdes.string })
  const counts = sessionStore('counts', { key: serdes.string, value: serdes.long, persistent })
  const builder = new StreamsBuilder()
  builder
    .stream(input)
    .groupByKey()
    .windowedBy(sessionWindows({ gap: gapMs, grace: hours(1) }))
    .count({ store: counts })
  return {
    ...ofOneInput(input, size),
    name: 'session count',
    topology: builder.build(),
    next: (random) => unordered(input.name, { keys, random }),
    rows: async (streams) => {
      const rows: Rows = new Map()
      for await (const [{ key, window }, value] of streams.store(counts).range()) {
        rows.set(`${key}@${window.start}-${window.end}`, String(value))
      }
      return rows
    },
    expected: (sent) => {
      const rows: Rows = new Map()
      for (const [key, times] of timesByKey(sent)) {
        let start = 0
        times.forEach((time, index) => {
          const following = times[index + 1] ?? Infinity
          if (following - time <= gapMs) return
          rows.set(`${key}@${times[start]}-${time}`, String(index + 1 - start))
          start = index + 1
        })
      }
      return rows
    },
    // Of all sessions of a key the sum.
    ask: async (streams, key, how) => {
      let sum = 0
      for await (const [, value] of streams.store(counts).fetch(key, how)) sum += value
      return sum === 0 ? undefined : String(sum)
    },
    judge: (key, answer, sent) => judgeCount(answer, sent.valuesOf(input.name, key).length),
  }
}

const differenceMs = 2_000

/**
 * Counts by key and sliding window: one ends with each record, and one begins right behind each that has others
 * behind it. Keys of rows are `<key>@<start>`.
 */
export const slidingCount: ProgramMaker = (size) => {
  const { keys, persistent } = size
  const input = topic('readings', { key: serdes.string, value: serdes.string })
  const counts = windowStore('counts', { key: serdes.string, value: serdes.long, persistent })
  const builder = new StreamsBuilder()
  builder
    .stream(input)
    .groupByKey()
    .windowedBy(slidingWindows({ timeDifference: differenceMs, grace: hours(1) }))
    .count({ store: counts })
  return {
    ...ofOneInput(input, size),
    name: 'sliding count',
    topology: builder.build(),
    next: (random) => unordered(input.name, { keys, random }),
    rows: async (streams) => {
      const rows: Rows = new Map()
      for await (const [{ key, window }, value] of streams.store(counts).range()) {
        rows.set(`${key}@${window.start}`, String(value))
      }
      return rows
    },
    expected: (sent) => {
      const rows: Rows = new Map()
      for (const [key, times] of timesByKey(sent)) {
        const starts = times.flatMap((time) => [time - differenceMs, time + 1])
        for (const start of starts) {
          const count = times.filter((time) => time >= start && time <= start + differenceMs).length
          if (count > 0) rows.set(`${key}@${start}`, String(count))
        }
      }
      return rows
    },
    // How many windows of a key there are: a record has two at most.
    ask: async (streams, key, how) => {
      let sum = 0
      for await (const _ of streams.store(counts).fetchRange(key, 0, Infinity, how)) sum += 1
      return sum === 0 ? undefined : String(sum)
    },
    judge: (key, answer, sent) => judgeCount(answer, 2 * sent.valuesOf(input.name, key).length),
  }
}

const finalMs = seconds(4)
const finalGraceMs = seconds(1)
/** All that the load has sent is over by then. */
const closingMs = hours(3)

/** One record for each partition of a topic, so much later than all others that what waits for time is over. */
export function closingRecords(sent: SentRecords, name: string): NextRecord[] {
  return sent
    .keysOfPartitions(name)
    .map((key) => ({ topic: name, key, value: 'closing', ageMs: -closingMs }))
}

/** Tells the count of each key and four seconds once, when it is final. Rows: `<key>@<start>`, with all that was told. */
export const finalCount: ProgramMaker = (size) => {
  const { keys, persistent } = size
  const input = topic('votes', { key: serdes.string, value: serdes.string })
  const output = topic('final', { key: serdes.string, value: serdes.string })
  const counts = windowStore('counts', { key: serdes.string, value: serdes.long, persistent })
  const builder = new StreamsBuilder()
  builder
    .stream(input)
    .groupByKey()
    .windowedBy(timeWindows({ size: finalMs, grace: finalGraceMs }))
    .count({ store: counts })
    .suppress({ until: 'window-closes', buffer: 'unbounded' })
    .toStream((_count, { key, window }) => `${key}@${window.start}`, { key: serdes.string })
    .mapValues((count) => String(count))
    .to(output)
  const isClosing = ({ value }: SentRecord): boolean => value === 'closing'
  const count = counter((record) => {
    const { key, timestamp } = record
    return isClosing(record) ? [] : [`${key}@${timestamp - (timestamp % finalMs)}`]
  })
  return {
    ...ofOneInput(input, size),
    name: 'final count',
    topology: builder.build(),
    next: (random) => ({
      topic: input.name,
      key: `k${randomInteger(random, keys)}`,
      value: 'x',
      // Never so old that its window may have closed: how far time was is not kept over a restart, as in Java.
      ageMs: random.next() < 0.3 ? randomInteger(random, finalGraceMs) : 0,
    }),
    closing: (sent) => closingRecords(sent, input.name),
    rows: async () => new Map<string, string>(),
    output: { name: output.name, rows: allTold },
    expected: (sent) => asRows(count(sent)),
    ask: async (streams, key, how) => {
      let sum = 0
      for await (const [, value] of streams.store(counts).fetchRange(key, 0, Infinity, how))
        sum += value
      return sum === 0 ? undefined : String(sum)
    },
    judge: (key, answer, sent) => judgeCount(answer, sent.valuesOf(input.name, key).length),
  }
}

/** All values that a key was written with, in order: `3`, or `3+3` when it was written twice. */
const allTold = (records: readonly { key: string | null; value: string | null }[]): Rows => {
  const rows: Rows = new Map()
  for (const { key, value } of records) {
    // Those that move time may close one another.
    if (key === null || key.startsWith('closing-')) continue
    const before = rows.get(key)
    rows.set(key, before === undefined ? `${value}` : `${before}+${value}`)
  }
  return rows
}
