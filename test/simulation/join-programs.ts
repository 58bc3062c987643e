/** Programs that join: tables by a foreign key, streams with tables, streams with streams. */
import { randomInteger } from '../../src/base/random.ts'
import {
  StreamsBuilder,
  hours,
  joinWindows,
  keyValueStore,
  serdes,
  topic,
} from '../../src/index.ts'
import type { ReadRecord } from '../../src/testing/topic-reader.ts'
import {
  asJudgement,
  asRows,
  numberIn,
  rowsOf,
  text,
  withoutNulls,
  type ProgramMaker,
  type Rows,
} from './program.ts'
import type { SentRecord } from './sent-records.ts'
import { closingRecords } from './window-programs.ts'

/**
 * Joins orders with the customers that they name, by a foreign key: two sub-topologies with two topics between
 * them. An inner join may keep a row when its order changes, without another customer, while the customer is
 * deleted: the answer that there is none is not asked for then. Kafka Streams has the same gap, and the same
 * messages; so customers of inner joins are never deleted here. And both look at orders in the cache before
 * they have told of them: what is deleted, written and deleted again between two commits may stay in the result.
 */
export function foreignKeyJoin(kind: 'inner' | 'left'): ProgramMaker {
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
      taskCount: () => partitions + customerPartitions,
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
      ask: (streams, key, how) => streams.store(joined).get(key, how),
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
export const enrichedOrders: ProgramMaker = ({ partitions, keys, persistent }) => {
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
    taskCount: () => partitions,
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
    ask: (streams, key, how) => streams.store(names).get(key, how),
    judge: (key, answer, sent) => asJudgement(sent.valuesOf(customers.name, key).includes(answer)),
    copy: { store: names, order: numberIn },
  }
}

/** How often each value was written. */
function countsOfValues(records: readonly ReadRecord<string, string>[]): Rows {
  const counts = new Map<string, number>()
  for (const { value } of records) counts.set(value ?? '', (counts.get(value ?? '') ?? 0) + 1)
  return asRows(counts)
}

/**
 * Writes each order with the country that all instances know by its code. What an order was written with depends on
 * how far the instance was; that it was written once does not.
 */
export const ordersOfCountries: ProgramMaker = ({ partitions, keys, persistent }) => {
  const orders = topic('orders', { key: serdes.string, value: serdes.string })
  const countries = topic('countries', { key: serdes.string, value: text })
  const output = topic('located', { key: serdes.string, value: serdes.string })
  const names = keyValueStore('names', { key: serdes.string, value: serdes.string, persistent })
  const builder = new StreamsBuilder()
  const table = builder.globalTable(countries, { store: names })
  builder
    .stream(orders)
    .leftJoin(table, (order) => order, { lookup: (order) => order.split(':')[0] ?? '' })
    .to(output)
  let count = 0
  return {
    name: 'orders of countries',
    inputs: new Map([
      [orders.name, partitions],
      [countries.name, 2],
    ]),
    topology: builder.build(),
    taskCount: () => partitions,
    global: countries.name,
    mayCache: true,
    result: 'counts',
    next: (random) => {
      count += 1
      const country = `c${randomInteger(random, keys)}`
      return random.next() < 0.3
        ? {
            topic: countries.name,
            key: country,
            value: random.next() < 0.1 ? null : `name${count}`,
          }
        : { topic: orders.name, key: `o${count}`, value: `${country}:${count}` }
    },
    rows: async () => new Map<string, string>(),
    missing: async (streams, sent) => {
      const has = await rowsOf(streams.store(names).range())
      const latest = withoutNulls(sent.latest(countries.name))
      for (const key of new Set([...latest.keys(), ...has.keys()])) {
        const [got, wanted] = [has.get(key), latest.get(key)]
        if (got !== wanted) return `the country ${key} is ${got}, not ${wanted}`
      }
      return undefined
    },
    output: { name: output.name, rows: countsOfValues },
    expected: ({ all }) => {
      const ofOrders = all.filter((record) => record.topic === orders.name)
      return new Map(ofOrders.map(({ value }) => [value ?? '', '1']))
    },
    someKey: (random) => `c${randomInteger(random, keys + 1)}`,
    ask: (streams, key, how) => streams.store(names).get(key, how),
    judge: (key, answer, sent) => asJudgement(sent.valuesOf(countries.name, key).includes(answer)),
  }
}

const nearMs = 1_500

/**
 * Joins clicks with the views of the same key that are near in time: each pair is written once, and by a left join
 * each click without a view too, when its time is over.
 */
export function streamJoin(kind: 'inner' | 'left'): ProgramMaker {
  return ({ partitions, keys, persistent }) => {
    const clicks = topic('clicks', { key: serdes.string, value: serdes.string })
    const views = topic('views', { key: serdes.string, value: serdes.string })
    const output = topic('pairs', { key: serdes.string, value: serdes.string })
    const builder = new StreamsBuilder()
    // Nothing is ever late: which of two topics is read first is left to chance.
    const windows = joinWindows({ difference: nearMs, grace: hours(1) })
    const options = { windows, storeName: 'near', stores: { persistent } }
    const clicked = builder.stream(clicks)
    const viewed = builder.stream(views)
    const joined =
      kind === 'inner'
        ? clicked.join(viewed, (click, view) => `${click}/${view}`, options)
        : clicked.leftJoin(viewed, (click, view) => `${click}/${view ?? 'nobody'}`, options)
    joined.to(output)
    let count = 0
    return {
      name: `stream ${kind} join`,
      inputs: new Map([
        [clicks.name, partitions],
        [views.name, partitions],
      ]),
      topology: builder.build(),
      taskCount: () => partitions,
      mayCache: true,
      result: 'counts',
      next: (random) => {
        count += 1
        const key = `k${randomInteger(random, keys)}`
        const ageMs = random.next() < 0.3 ? randomInteger(random, 2 * nearMs) : 0
        return random.next() < 0.5
          ? { topic: clicks.name, key, value: `click${count}`, ageMs }
          : { topic: views.name, key, value: `view${count}`, ageMs }
      },
      ...(kind === 'left' && { closing: (sent) => closingRecords(sent, clicks.name) }),
      rows: async () => new Map<string, string>(),
      output: { name: output.name, rows: countsOfValues },
      expected: (sent) => {
        const rows: Rows = new Map()
        const viewsByKey = sent.byKey(views.name)
        for (const click of sent.all) {
          if (click.topic !== clicks.name || click.value === 'closing') continue
          const near = (viewsByKey.get(click.key) ?? []).filter(
            ({ timestamp }) => Math.abs(timestamp - click.timestamp) <= nearMs,
          )
          for (const view of near) rows.set(`${click.value}/${view.value}`, '1')
          if (near.length === 0 && kind === 'left') rows.set(`${click.value}/nobody`, '1')
        }
        return rows
      },
      // A click that comes when the time of its views is over by the clock of the stream goes on alone at once,
      // whatever the grace is: as in Java. Which of two topics is read first is left to chance.
      ...(kind === 'left' && {
        mayHave: (key, value, sent) => {
          const click = sent.all.find((record) => `${record.value}/nobody` === key)
          const isLate = (than: SentRecord): boolean =>
            sent.all.some(
              ({ value: what, partition, timestamp }) =>
                what !== 'closing' &&
                partition === than.partition &&
                timestamp > than.timestamp + nearMs,
            )
          return value === '1' && click !== undefined && isLate(click)
        },
      }),
      // Its stores have no names for questions.
      someKey: () => '',
      ask: async () => undefined,
      judge: () => 'possible',
    }
  }
}
