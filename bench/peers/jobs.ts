/** What Java and Millpond both do: the input of each job, and what must come of it. */
import { seededRandom } from '../../src/base/random.ts'
import type { BenchCluster, Digest, InputRecord } from './bench-cluster.ts'

/** One application: what it is called, and how its topics are called after it. */
export interface Application {
  readonly id: string
  readonly output: string
}

/** What was measured besides the clock must be this, or the run does not count. */
export interface Expected {
  readonly records: number
  /** Of a table of counts: the sum of the counts. */
  readonly sum?: number
}

/** A job that was given a size. */
export interface SizedJob {
  /** Records of the input, in the unit of the job. */
  readonly records: number
  /** The size in words. */
  readonly size: string
  /** Writes the input, once for all runs. */
  readonly produce?: (
    cluster: BenchCluster,
    topics: InputTopics,
    signal: AbortSignal,
  ) => Promise<void>
  /** Prepares what an application of its own needs, before its clock starts. */
  readonly prepare?: (
    cluster: BenchCluster,
    application: Application,
    signal: AbortSignal,
  ) => Promise<void>
  /** How many records of each topic must have been processed and committed; the last one is the pace. */
  readonly processed: (
    topics: InputTopics,
    application: Application,
  ) => readonly (readonly [topic: string, records: number])[]
  /** What came out: all records of a topic, or the table of which it is the changelog. */
  readonly result?: (
    application: Application,
  ) => readonly [kind: 'records' | 'table', topic: string]
  readonly expected: Expected
  /** Keys and their value, for the job that reads them. */
  readonly reads?: { readonly keys: number; readonly value: number }
}

/** Topics that are written once for all runs of a job. */
export interface InputTopics {
  readonly input: string
  readonly table: string
}

/** A kind of work. */
export interface Job {
  readonly name: string
  readonly title: string
  /** Of what the pace is told. */
  readonly unit: 'records' | 'words' | 'requests'
  readonly guarantee?: 'exactly-once'
  readonly commitIntervalMs?: number
  readonly records: number
  readonly recordsSmall: number
  /** Sizes are rounded up to a multiple of it, for which what must come out is known. */
  readonly multiple: number
  readonly of: (records: number) => SizedJob
}

/** All records are of the three hours before this run, so that no broker deletes them for their age. */
const hourMs = 3_600_000
const startTimestamp = Math.floor(Date.now() / hourMs) * hourMs - 2 * hourMs

const millions = (records: number): string =>
  records >= 1_000_000 ? `${records / 1_000_000} M` : `${records / 1000} k`

const name = (prefix: string, number: number, digits: number): string =>
  `${prefix}-${String(number).padStart(digits, '0')}`

/** A long as Kafka writes it. */
function long(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

/** As many records as asked for, spread evenly over an hour. */
function* records(
  count: number,
  make: (index: number) => Omit<InputRecord, 'timestamp'>,
  from = startTimestamp,
): Generator<InputRecord> {
  for (let index = 0; index < count; index += 1) {
    yield { ...make(index), timestamp: from + Math.floor((index * hourMs) / count) }
  }
}

const currencies = ['EUR', 'USD', 'GBP', 'CHF']
const filler = 'x'.repeat(70)

const orderValue = (index: number, customers: number): string =>
  `${name('customer', (index * 7919) % customers, 5)};${currencies[index % currencies.length]};${1000 + (index % 9000)};${filler}`

const stateless: Job = {
  name: 'stateless',
  title: 'stateless: filter and map, topic to topic',
  unit: 'records',
  records: 5_000_000,
  recordsSmall: 100_000,
  multiple: currencies.length,
  of: (count) => ({
    records: count,
    size: `${millions(count)} records of 110 bytes`,
    produce: async (cluster, { input }, signal) => {
      const order = (index: number) => ({
        key: name('order', index, 7),
        value: orderValue(index, 50_000),
      })
      await cluster.fill(input, records(count, order), signal)
    },
    processed: ({ input }) => [[input, count]],
    result: ({ output }) => ['records', output],
    // One currency is left out.
    expected: { records: (count * (currencies.length - 1)) / currencies.length },
  }),
}

const wordsPerLine = 8
const distinctWords = 20_000

/** The same words in the same order, each time. */
function randomWords(): () => string {
  const random = seededRandom(1)
  return () => name('word', Math.floor(random.next() * distinctWords), 5)
}

const wordCount: Job = {
  name: 'word-count',
  title: 'word count: split, repartition, cached count, topic',
  unit: 'words',
  records: 4_000_000,
  recordsSmall: 80_000,
  multiple: wordsPerLine,
  of: (words) => ({
    records: words,
    size: `${millions(words)} words, ${wordsPerLine} in a line, ${distinctWords / 1000} k distinct`,
    produce: async (cluster, { input }, signal) => {
      const word = randomWords()
      const line = () => ({
        key: null,
        value: Array.from({ length: wordsPerLine }, word).join(' '),
      })
      await cluster.fill(input, records(words / wordsPerLine, line), signal)
    },
    processed: ({ input }, { id }) => [
      [input, words / wordsPerLine],
      [`${id}-counts-repartition`, words],
    ],
    result: ({ output }) => ['table', output],
    expected: { records: new Set(Array.from({ length: words }, randomWords())).size, sum: words },
  }),
}

const countedKeys = 20_000

const countInput = (count: number, keys: number): Generator<InputRecord> =>
  records(count, (index) => ({ key: name('key', (index * 7919) % keys, 6), value: 'seen' }))

const exactlyOnce: Job = {
  name: 'exactly-once',
  title: 'count by key, exactly-once, commit every 100 ms',
  unit: 'records',
  guarantee: 'exactly-once',
  commitIntervalMs: 100,
  records: 4_000_000,
  recordsSmall: 100_000,
  multiple: countedKeys,
  of: (count) => ({
    records: count,
    size: `${millions(count)} records, ${countedKeys / 1000} k keys`,
    produce: (cluster, { input }, signal) =>
      cluster.fill(input, countInput(count, countedKeys), signal),
    processed: ({ input }) => [[input, count]],
    result: ({ id }) => ['table', `${id}-counts-changelog`],
    expected: { records: countedKeys, sum: count },
  }),
}

const windowKeys = 5_000
const windowMs = 60_000

const windowedCount: Job = {
  name: 'windowed-count',
  title: 'windowed count: tumbling minutes, grace 1 hour',
  unit: 'records',
  records: 3_000_000,
  recordsSmall: 300_000,
  multiple: (windowKeys * hourMs) / windowMs,
  of: (count) => ({
    records: count,
    size: `${millions(count)} records, ${windowKeys / 1000} k keys in each of ${hourMs / windowMs} windows`,
    produce: (cluster, { input }, signal) =>
      cluster.fill(input, countInput(count, windowKeys), signal),
    processed: ({ input }) => [[input, count]],
    result: ({ id }) => ['table', `${id}-counts-changelog`],
    expected: { records: (windowKeys * hourMs) / windowMs, sum: count },
  }),
}

const customers = 50_000

const join: Job = {
  name: 'join',
  title: 'stream-table join, topic to topic',
  unit: 'records',
  records: 3_000_000,
  recordsSmall: 100_000,
  multiple: 1,
  of: (count) => ({
    records: count,
    size: `${millions(count)} orders of 110 bytes, ${customers / 1000} k customers`,
    produce: async (cluster, { input, table }, signal) => {
      const customer = (index: number) => ({
        key: name('customer', index, 5),
        value: `name of customer ${index}`,
      })
      const random = seededRandom(2)
      const order = (index: number) => ({
        key: name('customer', Math.floor(random.next() * customers), 5),
        value: orderValue(index, customers),
      })
      // The customers are all older than the first order, so each order finds its own.
      await cluster.fill(table, records(customers, customer, startTimestamp - hourMs), signal)
      await cluster.fill(input, records(count, order), signal)
    },
    processed: ({ input, table }) => [
      [table, customers],
      [input, count],
    ],
    result: ({ output }) => ['records', output],
    expected: { records: count },
  }),
}

const updatesPerKey = 2

const restore: Job = {
  name: 'restore',
  title: 'restore of a changelog into an empty state directory',
  unit: 'records',
  records: 2_000_000,
  recordsSmall: 100_000,
  multiple: updatesPerKey,
  of: (count) => ({
    records: count,
    size: `${millions(count)} records, ${millions(count / updatesPerKey)} keys`,
    prepare: async (cluster, { id }, signal) => {
      const changelog = `${id}-counts-changelog`
      const update = (index: number) => ({
        key: name('key', (index * 7919) % (count / updatesPerKey), 7),
        value: long(index),
      })
      await cluster.createTopic(changelog, { 'cleanup.policy': 'compact' })
      await cluster.fill(changelog, records(count, update), signal)
    },
    processed: () => [],
    expected: { records: count },
  }),
}

const readKeys = 100_000

const pointReads: Job = {
  name: 'point-reads',
  title: 'point reads over HTTP: JAX-RS (Jersey on Jetty), millpond/server',
  unit: 'requests',
  records: 200_000,
  recordsSmall: 200_000,
  multiple: readKeys,
  of: (count) => ({
    records: count,
    size: `${readKeys / 1000} k keys, random`,
    produce: (cluster, { input }, signal) =>
      cluster.fill(input, countInput(count, readKeys), signal),
    processed: ({ input }) => [[input, count]],
    result: ({ id }) => ['table', `${id}-counts-changelog`],
    expected: { records: readKeys, sum: count },
    reads: { keys: readKeys, value: count / readKeys },
  }),
}

export const jobs: readonly Job[] = [
  stateless,
  wordCount,
  exactlyOnce,
  windowedCount,
  join,
  restore,
  pointReads,
]

/** What is wrong with a result; undefined when it is what both must give. */
export function difference(expected: Expected, found: Digest): string | undefined {
  if (found.records !== expected.records)
    return `${found.records} records came out, not ${expected.records}`
  if (expected.sum !== undefined && found.sum !== expected.sum)
    return `the counts add up to ${found.sum}, not ${expected.sum}`
  return undefined
}
