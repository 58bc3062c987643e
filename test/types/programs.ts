/** Programs that must compile, with the types that they must have. Checked by `tsc`, never run. */
import {
  KafkaStreams,
  StreamsBuilder,
  days,
  hours,
  isStreamsError,
  keyValueStore,
  minutes,
  nullable,
  seconds,
  serdes,
  shutdownSignal,
  timeWindows,
  topic,
  type ErrorCode,
  type KGroupedStream,
  type KStream,
  type KTable,
  type KeyValueStoreDescriptor,
  type RawKey,
  type Serde,
  type Topic,
  type Topology,
  type Windowed,
} from 'millpond'

/** Compiles only when both types are the same. */
type Same<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- how types are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'types differ'
function same<A, B>(_proof: Same<A, B>): void {}

interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}
interface Stats {
  readonly count: number
  readonly max: number
}

const lines = topic('text-lines', { value: serdes.string })
const orders = topic('orders', {
  key: serdes.string,
  value: serdes.json<Order>(),
  timestamp: (order, key, recordTimestamp) => order.total + key.length + recordTimestamp,
  offsetReset: 'latest',
})
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const customers = topic('customers', {
  key: serdes.string,
  value: nullable(serdes.json<{ name: string }>()),
})
const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })

same<typeof lines, Topic<RawKey, string>>(true)
same<typeof orders, Topic<string, Order>>(true)
same<typeof wordCounts, KeyValueStoreDescriptor<string, number>>(true)

export function wordCount(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(lines)
    .flatMapValues((line) => line.toLowerCase().split(/\W+/).filter(Boolean))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: wordCounts })
  return builder.build()
}

export function wordCountWithOutput(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(lines)
    .flatMapValues((line) => line.toLowerCase().split(/\W+/))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: wordCounts })
    .toStream()
    .to(counts)
  return builder.build()
}

export function statelessSteps(builder: StreamsBuilder): void {
  const stream = builder.stream(orders)
  same<typeof stream, KStream<string, Order>>(true)

  const kept = stream.filter((order) => order.total > 1, { name: 'kept' })
  same<typeof kept, KStream<string, Order>>(true)
  const dropped = stream.filterNot((order, key) => key === order.id)
  same<typeof dropped, KStream<string, Order>>(true)

  const mapped = stream.map((order, key) => [order.total, key], { key: serdes.double })
  same<typeof mapped, KStream<number, string>>(true)
  const values = stream.mapValues((order) => order.total, { value: serdes.double })
  same<typeof values, KStream<string, number>>(true)
  const withKey = stream.mapValues((order, key) => `${key}: ${order.total}`)
  same<typeof withKey, KStream<string, string>>(true)

  const flat = stream.flatMap((order, key) => [
    [order.customerId, order.total] as const,
    [key, 0] as const,
  ])
  flat.forEach((value: number, key: string) => {
    void value
    void key
  })
  const letters = withKey.flatMapValues((text) => text.split(''))
  same<typeof letters, KStream<string, string>>(true)
  const lazily = withKey.flatMapValues(function* (text): Iterable<number> {
    yield text.length
  })
  same<typeof lazily, KStream<string, number>>(true)

  const rekeyed = stream.selectKey((order) => order.customerId, { key: serdes.string })
  same<typeof rekeyed, KStream<string, Order>>(true)
  const without = stream.selectKey(() => null)
  same<typeof without, KStream<null, Order>>(true)

  same<ReturnType<typeof stream.forEach>, void>(true)
  stream.peek((order, key) => void [order.total, key.length]).to(orders)
  stream.merge(kept).merge(dropped, { name: 'all' }).to(orders)
  builder.stream([orders, topic('more-orders', { key: serdes.string, value: orders.value })])
}

export function nulls(builder: StreamsBuilder): void {
  const stream = builder.stream(customers)
  same<typeof stream, KStream<string, { name: string } | null>>(true)
  stream.filter((customer) => customer !== null).mapValues((customer) => customer.name.length)
  const isNamed = (value: { name: string } | null): value is { name: string } => value !== null
  const named = stream.filter(isNamed)
  same<typeof named, KStream<string, { name: string }>>(true)
  stream.mapValues((customer) => customer?.name ?? null, { value: serdes.string })
  stream.to(customers)
  // A topic that may hold nulls takes a stream that has none.
  named.to(customers)
  // A stream without nulls is also one that may have them.
  const wider: KStream<string, { name: string } | null> = named
  wider.merge(named).to(customers)
  stream.merge(named).to(customers)
}

export function groups(builder: StreamsBuilder): void {
  const byKey = builder.stream(orders).groupByKey()
  same<typeof byKey, KGroupedStream<string, Order>>(true)
  // Records without a key are left out, so the key is not null below.
  const raw = builder.stream(lines).groupByKey()
  same<typeof raw, KGroupedStream<Uint8Array, string>>(true)
  const byTotal = builder
    .stream(orders)
    .groupBy((order) => (order.total > 0 ? order.total : null), { key: serdes.double })
  same<typeof byTotal, KGroupedStream<number, Order>>(true)

  const counted = byKey.count()
  same<typeof counted, KTable<string, number, number>>(true)
  same<typeof counted.queryableStoreName, string | undefined>(true)
  byKey.count({ store: 'by-name', name: 'count' })
  byKey.count({ store: keyValueStore('c', { key: serdes.string, value: serdes.long }) })

  const largest = byKey.reduce((best, order) => (order.total > best.total ? order : best))
  same<typeof largest, KTable<string, Order, Order>>(true)
  const cleared = byKey.reduce((best, order) => (order.total < 0 ? null : best))
  same<typeof cleared, KTable<string, Order, Order | null>>(true)

  const summed = byKey.aggregate(
    () => 0,
    (sum, order) => sum + order.total,
    { value: serdes.double },
  )
  same<typeof summed, KTable<string, number, number>>(true)
  const stats = byKey.aggregate(
    (): Stats => ({ count: 0, max: -Infinity }),
    ({ count, max }, { total }) => ({ count: count + 1, max: Math.max(max, total) }),
    { store: keyValueStore('stats', { key: serdes.string, value: serdes.json<Stats>() }) },
  )
  same<typeof stats, KTable<string, Stats, Stats>>(true)
  const closed = byKey.aggregate(
    (): Stats => ({ count: 0, max: 0 }),
    (before, order) => (order.total === 0 ? null : { ...before, max: order.total }),
    { value: serdes.json<Stats>() },
  )
  same<typeof closed, KTable<string, Stats, Stats | null>>(true)
  const forgotten = byKey.aggregate(
    () => '',
    (text, order) => (order.total === 0 ? undefined : text + order.id),
    { value: serdes.string },
  )
  same<typeof forgotten, KTable<string, string, string | null>>(true)
}

type Visit = { readonly kind: 'open'; readonly clicks: number } | { readonly kind: 'over' }

export function aggregatesOfSeveralShapes(builder: StreamsBuilder): void {
  const byKey = builder.stream(orders).groupByKey()
  const store = keyValueStore('visits', { key: serdes.string, value: serdes.json<Visit>() })
  const visits = byKey.aggregate<Visit>(
    () => ({ kind: 'open', clicks: 0 }),
    (visit, order) =>
      visit.kind === 'over' || order.total === 0
        ? { kind: 'over' }
        : { kind: 'open', clicks: visit.clicks + 1 },
    { store },
  )
  same<typeof visits, KTable<string, Visit, Visit>>(true)
  const forgotten = byKey.aggregate<Visit, Visit | null>(
    () => ({ kind: 'open', clicks: 0 }),
    (visit, order) => (order.total === 0 ? null : { ...visit, kind: 'over' }),
    { value: serdes.json<Visit>() },
  )
  same<typeof forgotten, KTable<string, Visit, Visit | null>>(true)
  const windowed = byKey.windowedBy(timeWindows({ size: minutes(1), grace: 0 })).aggregate<Visit>(
    () => ({ kind: 'open', clicks: 0 }),
    (visit) => (visit.kind === 'over' ? visit : { kind: 'over' }),
    { value: serdes.json<Visit>() },
  )
  same<typeof windowed, KTable<Windowed<string>, Visit, Visit>>(true)
  const cogrouped = byKey
    .cogroup<Visit>((visit) => (visit.kind === 'over' ? visit : { kind: 'over' }))
    .aggregate(() => ({ kind: 'open', clicks: 0 }), { value: serdes.json<Visit>() })
  same<typeof cogrouped, KTable<string, Visit, Visit>>(true)
}

export function tables(builder: StreamsBuilder): void {
  const table = builder.table(customers, { store: 'customers-by-id', name: 'customers' })
  same<typeof table, KTable<string, { name: string }, { name: string } | null>>(true)
  const shown = table
    .filter((customer) => customer.name !== '')
    .mapValues((customer) => customer.name)
    .toStream()
  same<typeof shown, KStream<string, string | null>>(true)
  shown.to(topic('names', { key: serdes.string, value: nullable(serdes.string) }))

  const counted = builder.stream(orders).groupByKey().count()
  const sizes = counted.mapValues((count) => `${count}`)
  same<typeof sizes, KTable<string, string, string>>(true)
  counted.toStream().to(counts)
  const some = counted.mapValues((count) => (count > 1 ? count : null))
  same<typeof some, KTable<string, number, number | null>>(true)
  const large = counted.filter((count) => count > 10, { store: 'large' })
  same<typeof large, KTable<string, number>>(true)
  large.filterNot((count, key) => key.length > count, { store: wordCounts })

  const latest = builder.stream(orders).toTable({ store: 'latest' })
  same<typeof latest, KTable<string, Order, Order>>(true)
  const withDeletes = builder.stream(customers).toTable()
  same<typeof withDeletes, KTable<string, { name: string }, { name: string } | null>>(true)
  const anyTable: KTable<string, Order> = latest
  void anyTable
}

export function ownFunctions<V>(stream: KStream<string, V>, value: Serde<V>): void {
  stream.groupByKey({ key: serdes.string, value }).count().toStream().to(counts)
}

export function partitioner(builder: StreamsBuilder): void {
  builder.stream(orders).to(orders, {
    name: 'out',
    partitioner: (name, key, order, partitionCount) =>
      (name.length + key.length + order.total) % partitionCount,
  })
}

export async function run(topology: Topology): Promise<void> {
  const timeout = days(1) + hours(1) + minutes(1) + seconds(1)
  await using streams = new KafkaStreams(topology, {
    applicationId: 'word-count',
    brokers: ['localhost:9092'],
    commitInterval: timeout,
  })
  streams.on('stateChange', (now, before) => console.log(`${before} -> ${now}`))
  await streams.start()
  const count = await streams.store(wordCounts).get('kafka')
  same<typeof count, number | undefined>(true)
  for await (const [word, value] of streams.store(wordCounts).range({ from: 'a', limit: 20 })) {
    console.log(word.toUpperCase(), value.toFixed())
  }
  await streams.run({ signal: shutdownSignal() })
}

export function codeOf(error: unknown): ErrorCode | undefined {
  return isStreamsError(error, 'TOPOLOGY_INVALID') || isStreamsError(error) ? error.code : undefined
}
