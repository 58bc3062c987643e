/** Programs whose results are tables of keys: counts, latest values, versions. */
import { randomInteger, type Random } from '../../src/base/random.ts'
import { isStreamsError } from '../../src/errors.ts'
import {
  StreamsBuilder,
  hours,
  keyValueStore,
  serdes,
  topic,
  versionedStore,
} from '../../src/index.ts'
import {
  asJudgement,
  counter,
  numberIn,
  ofCounts,
  ofOneInput,
  rowsOf,
  text,
  withoutNulls,
  type ProgramMaker,
  type Rows,
} from './program.ts'
import type { SentRecord } from './sent-records.ts'

/** Counts records by key: no topic in between. */
export const countByKey: ProgramMaker = (size) => {
  const { persistent } = size
  const input = topic('events', { key: serdes.string, value: serdes.string })
  const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long, persistent })
  const builder = new StreamsBuilder()
  builder.stream(input).groupByKey().count({ store: counts })
  const count = counter(({ key }) => [key])
  return {
    ...ofOneInput(input, size),
    ...ofCounts(counts, count),
    name: 'count by key',
    topology: builder.build(),
    least: (key, sent, commits) => {
      const committed = commits.committed(input.name, sent.partitionOf(input.name, key)) ?? 0
      return sent.offsetsOf(input.name, key).filter((offset) => offset < committed).length
    },
  }
}

/** Counts words: through a repartition topic. */
export const wordCount: ProgramMaker = (size) => {
  const { partitions, keys, persistent } = size
  const input = topic('lines', { key: serdes.string, value: serdes.string })
  const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long, persistent })
  const builder = new StreamsBuilder()
  builder
    .stream(input)
    .flatMapValues((line) => line.split(' '))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: counts })
  const count = counter(({ value }) => (value ?? '').split(' '))
  const word = (random: Random): string => `w${randomInteger(random, keys)}`
  return {
    ...ofOneInput(input, size),
    ...ofCounts(counts, count),
    name: 'word count',
    topology: builder.build(),
    taskCount: () => 2 * partitions,
    next: (random) => ({
      topic: input.name,
      key: `line-${randomInteger(random, 1000)}`,
      value: Array.from({ length: 1 + randomInteger(random, 4) }, () => word(random)).join(' '),
    }),
    someKey: (random) => `w${randomInteger(random, keys + 1)}`,
  }
}

/** Keeps the last value of each key, straight from its topic. */
export const latestByKey: ProgramMaker = (size) => {
  const { keys, persistent } = size
  const input = topic('profiles', { key: serdes.string, value: text })
  const store = keyValueStore('latest', { key: serdes.string, value: serdes.string, persistent })
  const builder = new StreamsBuilder()
  builder.table(input, { store })
  let count = 0
  return {
    ...ofOneInput(input, size),
    name: 'latest by key',
    topology: builder.build(),
    result: 'latest',
    next: (random) => {
      const value = random.next() < 0.1 ? null : `v${(count += 1)}`
      return { topic: input.name, key: `k${randomInteger(random, keys)}`, value }
    },
    rows: (streams) => rowsOf(streams.store(store).range()),
    expected: (sent) => withoutNulls(sent.latest(input.name)),
    ask: (streams, key, how) => streams.store(store).get(key, how),
    judge: (key, answer, sent) => asJudgement(sent.valuesOf(input.name, key).includes(answer)),
    copy: { store, order: numberIn },
  }
}

/**
 * Counts records by their value, behind a topic that has as many partitions as the program says: so the input may
 * get more of them.
 */
export const relabelledCount: ProgramMaker = (size) => {
  const { partitions, keys, persistent } = size
  const input = topic('labels', { key: serdes.string, value: serdes.string })
  const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long, persistent })
  const builder = new StreamsBuilder()
  builder
    .stream(input)
    .selectKey((value) => value)
    .repartition({ partitions, key: serdes.string })
    .groupByKey()
    .count({ store: counts })
  const count = counter(({ value }) => [value ?? ''])
  return {
    ...ofOneInput(input, size),
    ...ofCounts(counts, count),
    name: 'relabelled count',
    topology: builder.build(),
    taskCount: (sent) => sent.partitionCount(input.name) + partitions,
    growing: input.name,
    next: (random) => ({
      topic: input.name,
      key: `k${randomInteger(random, 1000)}`,
      value: `v${randomInteger(random, keys)}`,
    }),
    someKey: (random) => `v${randomInteger(random, keys + 1)}`,
  }
}

/** How much older a version may be than the moment at which it is sent. */
const versionAgeMsMax = 8_000
/** Of the moments at which a key had a version, one in so many is asked about. */
const asOfEach = 7

/** What a key was at which times, as the records say that came one after the other; null: it was deleted then. */
function timelineOf(records: readonly SentRecord[]): Map<number, string | null> {
  const timeline = new Map<number, string | null>()
  for (const { timestamp, value } of records) {
    if (value === null && isForgotten(timeline, timestamp)) timeline.delete(timestamp)
    else timeline.set(timestamp, value)
  }
  return timeline
}

/**
 * As in Java, nothing is left of a deletion at the very time of the latest version when nothing was valid before that:
 * an older version that comes later is then valid for longer.
 */
function isForgotten(timeline: ReadonlyMap<number, string | null>, timestamp: number): boolean {
  const isLatest = [...timeline.keys()].every((time) => time <= timestamp)
  if (!isLatest || typeof timeline.get(timestamp) !== 'string') return false
  return typeof versionAsOf(timeline, timestamp - 1)?.value !== 'string'
}

/** What was valid at that time. */
function versionAsOf(
  timeline: ReadonlyMap<number, string | null>,
  asOf: number,
): { value: string | null; timestamp: number } | undefined {
  const times = [...timeline.keys()].filter((time) => time <= asOf)
  if (times.length === 0) return undefined
  const timestamp = Math.max(...times)
  return { value: timeline.get(timestamp) ?? null, timestamp }
}

/** Keeps all values of each key with their times, which come in any order. Rows: `<key>` and `<key>@<time>`. */
export const versionsByKey: ProgramMaker = (size) => {
  const { keys, persistent } = size
  const input = topic('prices', { key: serdes.string, value: text })
  const store = versionedStore('prices-of', {
    key: serdes.string,
    value: serdes.string,
    historyRetention: hours(2),
    persistent,
  })
  const builder = new StreamsBuilder()
  builder.table(input, { store })
  const moments = (records: readonly SentRecord[]): number[] =>
    records.filter((_, index) => index % asOfEach === 0).map(({ timestamp }) => timestamp)
  let count = 0
  return {
    ...ofOneInput(input, size),
    name: 'versions by key',
    topology: builder.build(),
    result: 'latest',
    next: (random) => ({
      topic: input.name,
      key: `k${randomInteger(random, keys)}`,
      value: random.next() < 0.1 ? null : `v${(count += 1)}`,
      ageMs: random.next() < 0.4 ? randomInteger(random, versionAgeMsMax) : 0,
      isDistinct: true,
    }),
    rows: async (streams, sent) => {
      const rows: Rows = new Map()
      const prices = streams.store(store)
      for (const [key, records] of sent.byKey(input.name)) {
        try {
          const latest = await prices.get(key)
          if (latest !== undefined) rows.set(key, `${latest.value} since ${latest.timestamp}`)
          for (const asOf of moments(records)) {
            const version = await prices.get(key, { asOf })
            if (version !== undefined) rows.set(`${key}@${asOf}`, version.value)
          }
        } catch (error) {
          if (!isStreamsError(error, 'STORE_MIGRATED')) throw error
        }
      }
      return rows
    },
    expected: (sent) => {
      const rows: Rows = new Map()
      for (const [key, records] of sent.byKey(input.name)) {
        const timeline = timelineOf(records)
        const latest = versionAsOf(timeline, Infinity)
        if (typeof latest?.value === 'string')
          rows.set(key, `${latest.value} since ${latest.timestamp}`)
        for (const asOf of moments(records)) {
          const value = versionAsOf(timeline, asOf)?.value
          if (typeof value === 'string') rows.set(`${key}@${asOf}`, value)
        }
      }
      return rows
    },
    ask: async (streams, key, how) => (await streams.store(store).get(key, how))?.value,
    judge: (key, answer, sent) => asJudgement(sent.valuesOf(input.name, key).includes(answer)),
  }
}
