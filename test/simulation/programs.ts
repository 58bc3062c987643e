/**
 * The programs that simulations run, each with a model of its own: what its stores hold when all that was
 * sent is processed, told by a few lines that share nothing with the engine.
 */
import { randomInteger, type Random } from '../../src/base/random.ts'
import { isStreamsError } from '../../src/errors.ts'
import {
  StreamsBuilder,
  hours,
  keyValueStore,
  nullable,
  seconds,
  serdes,
  timeWindows,
  topic,
  windowStore,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import type { ReadRecord } from '../../src/testing/topic-reader.ts'
import type { SentRecord, SentRecords } from './sent-records.ts'

/** Store contents as text, by key. */
export type Rows = Map<string, string>

export interface SimulatedProgram {
  readonly name: string
  /** Names of the topics that it reads, with how many partitions each has. */
  readonly inputs: ReadonlyMap<string, number>
  readonly topology: Topology
  /** How many active tasks all instances have together. */
  readonly taskCount: number
  /** False: its result depends on what record caches leave out. */
  readonly mayCache: boolean
  /** `counts` may be too high where records are processed twice; `latest` may not be wrong at all. */
  readonly result: 'counts' | 'latest'
  /** The next record of the load. */
  next(random: Random): Pick<SentRecord, 'topic' | 'key' | 'value'>
  /** What this instance holds. Nothing, where {@link SimulatedProgram.output} tells the rows. */
  rows(streams: KafkaStreams): Promise<Rows>
  /** A topic that it writes, and the rows that are told by what is committed there. */
  readonly output?: {
    readonly name: string
    rows(records: readonly ReadRecord<string, string>[]): Rows
  }
  /** What all instances hold together in the end. */
  expected(sent: SentRecords): Rows
  /** A key that a question may be about, whether it was sent or not. */
  someKey(random: Random): string
  /** One question; undefined: the key is not there. */
  ask(streams: KafkaStreams, key: string): Promise<string | undefined>
  /** Whether an answer about the key can be, with what was sent so far. */
  judge(key: string, answer: string, sent: SentRecords): Judgement
  /** The least that an owner may answer, since so much is committed; absent: nothing is known. */
  least?(key: string, sent: SentRecords, commits: CommittedOffsets): number
}

/** How far the group has committed; undefined: nothing. */
export interface CommittedOffsets {
  committed(topic: string, partition: number): number | undefined
}

/** `too-high`: only of what may be processed twice. */
export type Judgement = 'possible' | 'too-high' | 'impossible'

interface ProgramSize {
  readonly partitions: number
  readonly keys: number
  /** False: stores in memory. */
  readonly persistent: boolean
}

type ProgramMaker = (size: ProgramSize) => SimulatedProgram

const text = nullable(serdes.string)

/** Counts what was sent by a key of its own, and looks at each record once. */
function counter(
  keysOf: (record: SentRecord) => readonly string[],
): (sent: SentRecords) => Map<string, number> {
  const counts = new Map<string, number>()
  let seen = 0
  return ({ all }) => {
    for (const record of all.slice(seen)) {
      for (const key of keysOf(record)) counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    seen = all.length
    return counts
  }
}

function judgeCount(answer: string, most = 0): Judgement {
  if (most === 0) return 'impossible'
  return Number(answer) > most ? 'too-high' : 'possible'
}

const asRows = (counts: ReadonlyMap<string, number>): Rows =>
  new Map([...counts].map(([key, count]) => [key, String(count)]))

async function rowsOf(scan: AsyncIterable<readonly [string, unknown]>): Promise<Rows> {
  const rows: Rows = new Map()
  for await (const [key, value] of scan) rows.set(key, String(value))
  return rows
}

/** An instance that holds no partition of the store says so, and has no rows. */
export async function rowsOrNone(program: SimulatedProgram, streams: KafkaStreams): Promise<Rows> {
  try {
    return await program.rows(streams)
  } catch (error) {
    if (isStreamsError(error, 'STORE_MIGRATED')) return new Map()
    throw error
  }
}

/** Counts records by key: no topic in between. */
const countByKey: ProgramMaker = ({ partitions, keys, persistent }) => {
  const input = topic('events', { key: serdes.string, value: serdes.string })
  const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long, persistent })
  const builder = new StreamsBuilder()
  builder.stream(input).groupByKey().count({ store: counts })
  const count = counter(({ key }) => [key])
  return {
    name: 'count by key',
    inputs: new Map([[input.name, partitions]]),
    topology: builder.build(),
    taskCount: partitions,
    mayCache: true,
    result: 'counts',
    next: (random) => ({ topic: input.name, key: `k${randomInteger(random, keys)}`, value: 'x' }),
    rows: (streams) => rowsOf(streams.store(counts).range()),
    expected: (sent) => asRows(count(sent)),
    someKey: (random) => `k${randomInteger(random, keys + 1)}`,
    ask: async (streams, key) => answered(await streams.store(counts).get(key)),
    judge: (key, answer, sent) => judgeCount(answer, count(sent).get(key)),
    least: (key, sent, commits) => {
      const committed = commits.committed(input.name, sent.partitionOf(input.name, key)) ?? 0
      return sent.offsetsOf(input.name, key).filter((offset) => offset < committed).length
    },
  }
}

/** Counts words: through a repartition topic. */
const wordCount: ProgramMaker = ({ partitions, keys, persistent }) => {
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
    name: 'word count',
    inputs: new Map([[input.name, partitions]]),
    topology: builder.build(),
    taskCount: 2 * partitions,
    mayCache: true,
    result: 'counts',
    next: (random) => ({
      topic: input.name,
      key: `line-${randomInteger(random, 1000)}`,
      value: Array.from({ length: 1 + randomInteger(random, 4) }, () => word(random)).join(' '),
    }),
    rows: (streams) => rowsOf(streams.store(counts).range()),
    expected: (sent) => asRows(count(sent)),
    someKey: (random) => `w${randomInteger(random, keys + 1)}`,
    ask: async (streams, key) => answered(await streams.store(counts).get(key)),
    judge: (key, answer, sent) => judgeCount(answer, count(sent).get(key)),
  }
}

const windowMs = seconds(10)

/** Counts records by key and ten seconds. Keys of rows are `<key>@<start of the window>`. */
const windowedCount: ProgramMaker = ({ partitions, keys, persistent }) => {
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
    name: 'windowed count',
    inputs: new Map([[input.name, partitions]]),
    topology: builder.build(),
    taskCount: partitions,
    mayCache: true,
    result: 'counts',
    next: (random) => ({ topic: input.name, key: `k${randomInteger(random, keys)}`, value: 'x' }),
    rows: async (streams) => {
      const rows: Rows = new Map()
      for await (const [{ key, window }, value] of streams.store(counts).range()) {
        rows.set(`${key}@${window.start}`, String(value))
      }
      return rows
    },
    expected: (sent) => asRows(count(sent)),
    someKey: (random) => `k${randomInteger(random, keys + 1)}`,
    // Of all windows of a key the sum.
    ask: async (streams, key) => {
      let sum = 0
      for await (const [, value] of streams.store(counts).fetchRange(key, 0, Infinity)) sum += value
      return sum === 0 ? undefined : String(sum)
    },
    judge: (key, answer, sent) => judgeCount(answer, sent.valuesOf(input.name, key).length),
  }
}

/** Keeps the last value of each key, straight from its topic. */
const latestByKey: ProgramMaker = ({ partitions, keys, persistent }) => {
  const input = topic('profiles', { key: serdes.string, value: text })
  const store = keyValueStore('latest', { key: serdes.string, value: serdes.string, persistent })
  const builder = new StreamsBuilder()
  builder.table(input, { store })
  let count = 0
  return {
    name: 'latest by key',
    inputs: new Map([[input.name, partitions]]),
    topology: builder.build(),
    taskCount: partitions,
    mayCache: true,
    result: 'latest',
    next: (random) => {
      const value = random.next() < 0.1 ? null : `v${(count += 1)}`
      return { topic: input.name, key: `k${randomInteger(random, keys)}`, value }
    },
    rows: (streams) => rowsOf(streams.store(store).range()),
    expected: (sent) => withoutNulls(sent.latest(input.name)),
    someKey: (random) => `k${randomInteger(random, keys + 1)}`,
    ask: (streams, key) => streams.store(store).get(key),
    judge: (key, answer, sent) => asJudgement(sent.valuesOf(input.name, key).includes(answer)),
  }
}

/**
 * Joins orders with the customers that they name, by a foreign key: two sub-topologies with two topics between
 * them. An inner join may keep a row when its order changes, without another customer, while the customer is
 * deleted: the answer that there is none is not asked for then. Kafka Streams has the same gap, and the same
 * messages; so customers of inner joins are never deleted here. And both look at orders in the cache before
 * they have told of them: what is deleted, written and deleted again between two commits may stay in the result.
 */
function foreignKeyJoin(kind: 'inner' | 'left'): ProgramMaker {
  return ({ partitions, keys, persistent }) => {
    const orders = topic('orders', { key: serdes.string, value: text })
    const customers = topic('customers', { key: serdes.string, value: text })
    const joined = keyValueStore('joined', { key: serdes.string, value: serdes.string, persistent })
    const builder = new StreamsBuilder()
    const ordersTable = builder.table(orders)
    const customersTable = builder.table(customers)
    const options = {
      foreignKey: (order: string) => order.split(':')[0] ?? null,
      store: joined,
    }
    if (kind === 'inner') ordersTable.join(customersTable, (a, b) => `${a}/${b}`, options)
    else ordersTable.leftJoin(customersTable, (a, b) => `${a}/${b ?? 'nobody'}`, options)
    const customerCount = Math.max(2, Math.floor(keys / 3))
    const customerPartitions = Math.max(1, partitions - 1)
    let count = 0
    return {
      name: `foreign-key ${kind} join`,
      inputs: new Map([
        [orders.name, partitions],
        [customers.name, customerPartitions],
      ]),
      topology: builder.build(),
      taskCount: partitions + customerPartitions,
      mayCache: false,
      result: 'latest',
      next: (random) => {
        count += 1
        const isGone = random.next() < 0.1
        const customer = `c${randomInteger(random, customerCount)}`
        if (random.next() < 0.3) {
          const value = isGone && kind === 'left' ? null : `name${count}`
          return { topic: customers.name, key: customer, value }
        }
        const key = `o${randomInteger(random, keys)}`
        return { topic: orders.name, key, value: isGone ? null : `${customer}:${count}` }
      },
      rows: (streams) => rowsOf(streams.store(joined).range()),
      expected: (sent) => {
        const names = sent.latest(customers.name)
        const rows: Rows = new Map()
        for (const [key, order] of sent.latest(orders.name)) {
          const name = names.get(order?.split(':')[0] ?? '') ?? null
          if (order === null || (name === null && kind === 'inner')) continue
          rows.set(key, `${order}/${name ?? 'nobody'}`)
        }
        return rows
      },
      someKey: (random) => `o${randomInteger(random, keys + 1)}`,
      ask: (streams, key) => streams.store(joined).get(key),
      judge: (key, answer, sent) => {
        const [order = '', name = ''] = answer.split('/')
        const customer = order.split(':')[0] ?? ''
        const isOrder = sent.valuesOf(orders.name, key).includes(order)
        const isNobody = kind === 'left' && name === 'nobody'
        const isName = isNobody || sent.valuesOf(customers.name, customer).includes(name)
        return asJudgement(isOrder && isName)
      },
    }
  }
}

/**
 * Writes each order with the name that its customer has at that time, into a topic. There each order is as often
 * as it was processed.
 */
const enrichedOrders: ProgramMaker = ({ partitions, keys, persistent }) => {
  const orders = topic('orders', { key: serdes.string, value: serdes.string })
  const customers = topic('customers', { key: serdes.string, value: text })
  const output = topic('enriched', { key: serdes.string, value: serdes.string })
  const names = keyValueStore('names', { key: serdes.string, value: serdes.string, persistent })
  const builder = new StreamsBuilder()
  builder
    .stream(orders)
    .leftJoin(builder.table(customers, { store: names }), (order, name) => `${order}/${name ?? ''}`)
    .to(output)
  let count = 0
  return {
    name: 'enriched orders',
    inputs: new Map([
      [orders.name, partitions],
      [customers.name, partitions],
    ]),
    topology: builder.build(),
    taskCount: partitions,
    mayCache: true,
    result: 'counts',
    next: (random) => {
      count += 1
      const key = `c${randomInteger(random, keys)}`
      return random.next() < 0.3
        ? { topic: customers.name, key, value: random.next() < 0.1 ? null : `name${count}` }
        : { topic: orders.name, key, value: `order${count}` }
    },
    rows: async () => new Map<string, string>(),
    output: {
      name: output.name,
      rows: (records) => {
        const counts = new Map<string, number>()
        for (const { value } of records) {
          const [order = ''] = (value ?? '').split('/')
          counts.set(order, (counts.get(order) ?? 0) + 1)
        }
        return asRows(counts)
      },
    },
    expected: ({ all }) => {
      const ofOrders = all.filter((record) => record.topic === orders.name)
      return new Map(ofOrders.map(({ value }) => [value ?? '', '1']))
    },
    someKey: (random) => `c${randomInteger(random, keys + 1)}`,
    ask: (streams, key) => streams.store(names).get(key),
    judge: (key, answer, sent) => asJudgement(sent.valuesOf(customers.name, key).includes(answer)),
  }
}

const asJudgement = (isPossible: boolean): Judgement => (isPossible ? 'possible' : 'impossible')

function answered(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}

function withoutNulls(rows: ReadonlyMap<string, string | null>): Rows {
  const kept: Rows = new Map()
  for (const [key, value] of rows) if (value !== null) kept.set(key, value)
  return kept
}

/** All programs, by name. */
export const programs: ReadonlyMap<string, ProgramMaker> = new Map([
  ['count-by-key', countByKey],
  ['word-count', wordCount],
  ['windowed-count', windowedCount],
  ['latest-by-key', latestByKey],
  ['enriched-orders', enrichedOrders],
  ['foreign-key-inner-join', foreignKeyJoin('inner')],
  ['foreign-key-left-join', foreignKeyJoin('left')],
])
