/** Whole applications that must compile, as users write them. Checked by `tsc`, never run. */
import {
  StreamsBuilder,
  TopologyBuilder,
  days,
  hours,
  joinWindows,
  keyValueStore,
  minutes,
  nullable,
  seconds,
  serdes,
  sessionStore,
  sessionWindows,
  slidingWindows,
  timeWindows,
  timestamped,
  topic,
  versionedStore,
  wallclockTimestamp,
  windowStore,
  type KStream,
  type KTable,
  type StreamRecord,
  type Topology,
  type Windowed,
} from 'millpond'
import { same } from './same.ts'

interface Order {
  readonly id: string
  readonly customer: string
  readonly country: string
  readonly cents: number
  readonly items: readonly { readonly product: string; readonly count: number }[]
}
interface NamedOrder extends Order {
  readonly name: string | null
}
interface Customer {
  readonly name: string
  readonly city: string
}
interface Reading {
  readonly sensor: string
  readonly celsius: number
  readonly at: string
}
type Payment =
  | { readonly kind: 'card'; readonly cents: number; readonly card: string }
  | { readonly kind: 'cash'; readonly cents: number }

const orders = topic('orders', { key: serdes.string, value: serdes.json<Order>() })
const customers = topic('customers', {
  key: serdes.string,
  value: nullable(serdes.json<Customer>()),
})
const readings = topic('readings', {
  key: serdes.string,
  value: serdes.json<Reading>(),
  timestamp: ({ at }) => Date.parse(at),
})
const payments = topic('payments', { key: serdes.string, value: serdes.json<Payment>() })
const clicks = topic('clicks', { key: serdes.string, value: serdes.string })
const longs = topic('longs', { key: serdes.string, value: serdes.long })

export function revenueByCountry(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(orders)
    .groupBy(({ country }) => country, { key: serdes.string })
    .aggregate(
      () => 0,
      (sum, { cents }) => sum + cents,
      { store: keyValueStore('revenue', { key: serdes.string, value: serdes.long }) },
    )
    .toStream()
    .to(longs)
  return builder.build()
}

export function soldProducts(): Topology {
  const builder = new StreamsBuilder()
  const sold = builder
    .stream(orders)
    .flatMap(({ items }) => items.map(({ product, count }) => [product, count] as const), {
      key: serdes.string,
      value: serdes.long,
    })
    .groupByKey()
    .reduce((sum, count) => sum + count)
  same<typeof sold, KTable<string, number, number>>(true)
  return builder.build()
}

export function topOfLast(): Topology {
  const builder = new StreamsBuilder()
  const lastTen = builder
    .stream(orders)
    .groupBy(({ customer }) => customer, { key: serdes.string })
    .aggregate(
      (): readonly string[] => [],
      (ids, { id }) => [...ids, id].slice(-10),
      { value: serdes.json<readonly string[]>() },
    )
  same<typeof lastTen, KTable<string, readonly string[], readonly string[]>>(true)
  return builder.build()
}

export function ordersWithCustomers(): Topology {
  const builder = new StreamsBuilder()
  const named = builder
    .stream(orders)
    .selectKey(({ customer }) => customer, { key: serdes.string })
    .leftJoin(builder.table(customers, { store: 'customers' }), (order, customer) => ({
      ...order,
      name: customer?.name ?? null,
    }))
  const withName: KStream<string, NamedOrder> = named
  withName.to(topic('named', { key: serdes.string, value: serdes.json<NamedOrder>() }))
  return builder.build()
}

export function paymentsByKind(): Topology {
  const builder = new StreamsBuilder()
  const isCard = (payment: Payment): payment is Extract<Payment, { kind: 'card' }> =>
    payment.kind === 'card'
  const { card, rest } = builder.stream(payments).split({ card: isCard })
  card.mapValues((payment) => payment.card, { value: serdes.string }).to(clicks)
  rest.mapValues((payment) => payment.cents, { value: serdes.long }).to(longs)
  return builder.build()
}

export function clicksPerMinute(): Topology {
  const builder = new StreamsBuilder()
  const perMinute = builder
    .stream(clicks)
    .groupByKey()
    .windowedBy(timeWindows({ size: minutes(1), advance: seconds(10), grace: seconds(5) }))
    .count({ store: windowStore('per-minute', { key: serdes.string, value: serdes.long }) })
  same<typeof perMinute, KTable<Windowed<string>, number, number>>(true)
  perMinute
    .toStream((_count, { key, window }) => `${key}@${window.start}`, { key: serdes.string })
    .to(longs)
  return builder.build()
}

export function finalHours(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(readings)
    .groupByKey()
    .windowedBy(timeWindows({ size: hours(1), grace: minutes(5) }))
    .emitStrategy('on-window-close')
    .aggregate(
      () => ({ count: 0, sum: 0 }),
      ({ count, sum }, { celsius }) => ({ count: count + 1, sum: sum + celsius }),
      { value: serdes.json<{ count: number; sum: number }>(), retention: days(1) },
    )
    .mapValues(({ count, sum }) => sum / count, { value: serdes.double })
    .toStream()
    .to(
      topic('means', {
        key: serdes.timeWindowed(serdes.string, hours(1)),
        value: serdes.double,
      }),
    )
  return builder.build()
}

export function visitsOfPages(): Topology {
  const builder = new StreamsBuilder()
  const visits = builder
    .stream(clicks)
    .groupByKey()
    .windowedBy(sessionWindows({ gap: minutes(30), grace: 0 }))
    .aggregate(
      (): readonly string[] => [],
      (pages, page) => [...pages, page],
      (one, two) => [...one, ...two],
      {
        store: sessionStore('visits', {
          key: serdes.string,
          value: serdes.json<readonly string[]>(),
        }),
      },
    )
  same<typeof visits, KTable<Windowed<string>, readonly string[], readonly string[] | null>>(true)
  return builder.build()
}

export function failedLogins(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(clicks)
    .groupByKey()
    .windowedBy(slidingWindows({ timeDifference: minutes(1), grace: seconds(10) }))
    .count()
    .filter((count) => count >= 5)
    .toStream((_count, { key }) => key, { key: serdes.string })
    .filter((count) => count !== null)
    .to(longs)
  return builder.build()
}

export function questionsAndAnswers(): Topology {
  const builder = new StreamsBuilder()
  const asked = builder.stream(clicks)
  const answered = asked.leftJoin(
    builder.stream(longs),
    (question, answer, key) => ({ question, answer, key }),
    { windows: joinWindows({ before: 0, after: hours(1), grace: minutes(1) }) },
  )
  same<
    typeof answered,
    KStream<string, { question: string; answer: number | undefined; key: string }>
  >(true)
  return builder.build()
}

export function pricesOfThen(): Topology {
  const builder = new StreamsBuilder()
  const prices = builder.table(topic('prices', { key: serdes.string, value: serdes.double }), {
    store: versionedStore('prices', {
      key: serdes.string,
      value: serdes.double,
      historyRetention: days(1),
    }),
  })
  const sold = builder
    .stream(longs)
    .join(prices, (count, price) => count * price, { grace: minutes(1) })
  same<typeof sold, KStream<string, number>>(true)
  return builder.build()
}

export function customersPerCity(): Topology {
  const builder = new StreamsBuilder()
  const perCity = builder
    .table(customers)
    .groupBy(({ city }, id) => [city, id], { key: serdes.string, value: serdes.string })
    .aggregate(
      (): readonly string[] => [],
      (ids, id) => [...ids, id],
      (ids, id) => ids.filter((each) => each !== id),
      { value: serdes.json<readonly string[]>() },
    )
  same<typeof perCity, KTable<string, readonly string[], readonly string[]>>(true)
  return builder.build()
}

export function ordersOfCustomers(): Topology {
  const builder = new StreamsBuilder()
  const named = builder
    .table(topic('orders', { key: serdes.string, value: nullable(serdes.json<Order>()) }))
    .join(builder.table(customers), (order, { name }) => ({ id: order.id, name }), {
      foreignKey: ({ customer }) => customer,
      value: serdes.json<{ id: string; name: string }>(),
    })
  same<typeof named, KTable<string, { id: string; name: string }>>(true)
  return builder.build()
}

export function countryNames(): Topology {
  const builder = new StreamsBuilder()
  const countries = builder.globalTable(
    topic('countries', { key: serdes.string, value: serdes.string }),
    { store: 'countries' },
  )
  const named = builder
    .stream(orders)
    .leftJoin(countries, (order, country, _id, code) => ({ id: order.id, country, code }), {
      lookup: ({ country }) => (country === '' ? null : country),
    })
  same<
    typeof named,
    KStream<string, { id: string; country: string | undefined; code: string | null | undefined }>
  >(true)
  return builder.build()
}

export function scores(): Topology {
  const builder = new StreamsBuilder()
  const scored = builder.stream(orders).mapValuesAsync(
    async (order, _id, { signal }) => {
      const response = await fetch(`http://risk/${order.id}`, { signal })
      return { ...order, risk: Number(await response.text()) }
    },
    { concurrency: 8, timeout: seconds(2) },
  )
  const withRisk: KStream<string, Order & { readonly risk: number }> = scored
  withRisk.forEachAsync(async ({ risk }) => {
    await fetch('http://alarm', { method: 'POST', body: String(risk) })
  })
  return builder.build()
}

export function changesOnly(): Topology {
  const builder = new StreamsBuilder()
  const last = keyValueStore('last', { key: serdes.string, value: serdes.json<Reading>() })
  const changes = builder.stream(readings).processValues(
    ({ stores, forward }) =>
      (record) => {
        const before = stores.last.get(record.key)
        stores.last.put(record.key, record.value, record.timestamp)
        if (before?.value.celsius !== record.value.celsius) forward(record)
      },
    { stores: { last: timestamped(last) } },
  )
  same<typeof changes, KStream<string, Reading>>(true)
  return builder.build()
}

export function nodeByNode(): Topology {
  const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
  return new TopologyBuilder()
    .addSource('clicks', clicks)
    .addProcessor(
      'count',
      ({ stores, forward, schedule }) => {
        using _timer = schedule(seconds(10), 'wall-clock-time', () => undefined)
        return (record: StreamRecord<string, string>) => {
          const count = (stores.counts.get(record.key) ?? 0) + 1
          stores.counts.put(record.key, count)
          forward({ ...record, value: count }, { child: 'out' })
        }
      },
      { parents: ['clicks'], stores: { counts } },
    )
    .addSink('out', longs, { parents: 'count' })
    .build()
}

export function oneOfSeveral(): Topology {
  const builder = new StreamsBuilder({ optimize: ['merge-repartition-topics'] })
  builder
    .stream([clicks, topic('more-clicks', { key: serdes.string, value: serdes.string })])
    .to((page, user, { topic: from }) => `${from}-${user}-${page}`, { name: 'routed' })
  builder.stream(/^visits-.*/, { key: serdes.string, value: serdes.string }).print()
  return builder.build()
}

export function processingTime(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(
      topic('measurements', {
        key: serdes.string,
        value: serdes.double,
        timestamp: wallclockTimestamp,
        offsetReset: { byDuration: days(1) },
      }),
    )
    .groupByKey()
    .windowedBy(timeWindows({ size: minutes(1), grace: 0 }))
    .reduce(Math.max)
    .suppress({
      until: 'window-closes',
      buffer: { maxBytes: 64 << 20, onFull: 'shut-down' },
      name: 'final',
    })
  return builder.build()
}

export function activity(): Topology {
  const builder = new StreamsBuilder()
  const both = builder
    .stream(clicks)
    .groupByKey()
    .cogroup((seen: { clicks: number; cents: number }) => ({ ...seen, clicks: seen.clicks + 1 }))
    .cogroup(builder.stream(longs).groupByKey(), (seen, cents, key) => ({
      ...seen,
      cents: seen.cents + cents + key.length,
    }))
    .aggregate(() => ({ clicks: 0, cents: 0 }), {
      value: serdes.json<{ clicks: number; cents: number }>(),
    })
  same<
    typeof both,
    KTable<string, { clicks: number; cents: number }, { clicks: number; cents: number }>
  >(true)
  return builder.build()
}

/** A step of one's own, for any stream of numbers. */
export function above<K>(stream: KStream<K, number>, limit: number): KStream<K, number> {
  return stream.filter((value) => value > limit, { name: `above-${limit}` })
}

export function generic<K, V extends { readonly country: string }>(
  stream: KStream<K, V>,
): KTable<string, number, number> {
  return stream
    .groupBy((value) => value.country, { key: serdes.string, value: serdes.json<V>() })
    .count()
}
