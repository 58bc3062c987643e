/** Programs of tables that must compile, with the types that they must have. Checked by `tsc`, never run. */
import {
  days,
  keyValueStore,
  nullable,
  serdes,
  timestamped,
  topic,
  versionedStore,
  type KGroupedTable,
  type KStream,
  type KTable,
  type StreamsBuilder,
  type ValueTransformer,
  type ValueTransformerSupplier,
} from 'millpond'

/** Compiles only when both types are the same. */
type Same<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- how types are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'types differ'
function same<A, B>(_proof: Same<A, B>): void {}

interface Order {
  readonly customerId: string | null
  readonly total: number
}
interface Customer {
  readonly name: string
  readonly city: string
}
interface NamedOrder extends Order {
  readonly name: string
}

const orders = topic('orders', { key: serdes.string, value: nullable(serdes.json<Order>()) })
const customers = topic('customers', {
  key: serdes.string,
  value: nullable(serdes.json<Customer>()),
})
const regions = topic('regions', { key: serdes.long, value: serdes.string })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const named = keyValueStore('named', { key: serdes.string, value: serdes.json<NamedOrder>() })

export function groups(builder: StreamsBuilder): void {
  const table = builder.table(customers)
  const byCity = table.groupBy((customer, id) => [customer.city, id] as const, {
    key: serdes.string,
    value: serdes.string,
    name: 'by-city',
  })
  same<typeof byCity, KGroupedTable<string, string>>(true)
  const counted = byCity.count({ store: 'customers-by-city' })
  same<typeof counted, KTable<string, number, number>>(true)
  counted.toStream().to(counts)

  const longest = byCity.reduce(
    (longer, id) => (id.length > longer.length ? id : longer),
    (longer) => longer,
  )
  same<typeof longest, KTable<string, string, string>>(true)
  const emptied = byCity.reduce(
    (ids, id) => `${ids} ${id}`,
    (ids, id) => (ids === id ? null : ids.replace(id, '')),
    { store: 'ids' },
  )
  same<typeof emptied, KTable<string, string, string | null>>(true)

  const listed = byCity.aggregate(
    (): readonly string[] => [],
    (ids, id) => [...ids, id],
    (ids, id, city) => ids.filter((each) => each !== id && each !== city),
    { value: serdes.json<readonly string[]>() },
  )
  same<typeof listed, KTable<string, readonly string[], readonly string[]>>(true)
  const forgotten = byCity.aggregate(
    () => 0,
    (sum, id) => sum + id.length,
    (sum, id) => (sum === id.length ? undefined : sum - id.length),
    { store: keyValueStore('lengths', { key: serdes.string, value: serdes.long }) },
  )
  same<typeof forgotten, KTable<string, number, number | null>>(true)
}

export function groupsOfSome(builder: StreamsBuilder): void {
  const referred = builder
    .table(orders)
    .groupBy((order) => (order.total > 0 ? [order.customerId, order.total] : null), {
      key: serdes.string,
      value: serdes.double,
    })
  same<typeof referred, KGroupedTable<string, number>>(true)
}

export function joinsOfTables(builder: StreamsBuilder): void {
  const table = builder.table(customers)
  const counted = builder.stream(counts).groupByKey().count()
  const joined = table.join(counted, (customer, count, id) => `${id} ${customer.name} ${count}`)
  same<typeof joined, KTable<string, string, string | null>>(true)
  const both = counted.join(counted, (left, right) => left + right, {
    name: 'doubling',
    store: keyValueStore('doubled', { key: serdes.string, value: serdes.long }),
  })
  same<typeof both, KTable<string, number, number>>(true)
  const left = counted.leftJoin(table, (count, customer) => (customer ? customer.name : count))
  same<typeof left, KTable<string, string | number, string | number>>(true)
  const outer = table.outerJoin(counted, (customer, count) => ({
    name: customer?.name,
    count: count ?? 0,
  }))
  same<
    typeof outer,
    KTable<
      string,
      { name: string | undefined; count: number },
      { name: string | undefined; count: number } | null
    >
  >(true)
  const some = counted.join(counted, (one, other) => (one > other ? one : null), {
    value: serdes.long,
  })
  same<typeof some, KTable<string, number, number | null>>(true)
}

export function foreignKeys(builder: StreamsBuilder): void {
  const table = builder.table(orders)
  const other = builder.table(customers)
  const joined = table.join(other, (order, { name }): NamedOrder => ({ ...order, name }), {
    foreignKey: (order) => order.customerId,
    store: named,
    name: 'naming',
  })
  same<typeof joined, KTable<string, NamedOrder, NamedOrder | null>>(true)
  const left = table.leftJoin(other, (order, customer) => customer?.name ?? `${order.total}`, {
    foreignKey: (order, id) => (order.total > 0 ? order.customerId : id),
    value: serdes.string,
  })
  same<typeof left, KTable<string, string, string | null>>(true)

  const byRegion = table.join(builder.table(regions), (_order, region, id) => region + id, {
    foreignKey: (order) => (order.total < 10 ? undefined : Math.round(order.total)),
    partitioner: (_topic, id, value, partitionCount) => {
      same<typeof value, null>(true)
      return id.length % partitionCount
    },
    otherPartitioner: (_topic, region, _value, partitionCount) => region % partitionCount,
  })
  same<typeof byRegion, KTable<string, string, string | null>>(true)

  const counted = builder.stream(counts).groupByKey().count()
  const always = counted.leftJoin(other, (count, customer) => customer?.name ?? count, {
    foreignKey: (_count, key) => key,
  })
  same<typeof always, KTable<string, string | number, string | number>>(true)
}

export function transformed(builder: StreamsBuilder): void {
  const table = builder.table(customers)
  const seen = keyValueStore('seen', { key: serdes.string, value: serdes.long })
  const times = table.transformValues(
    ({ stores, headers, recordMetadata }) =>
      (customer, id) => {
        same<typeof customer, Customer | undefined>(true)
        const before = stores.seen.get(id)?.value ?? 0
        stores.seen.put(id, before + 1, 0)
        return before + headers.length + (recordMetadata?.offset ?? 0)
      },
    { stores: { seen: timestamped(seen) }, store: 'times', value: serdes.long },
  )
  same<typeof times, KTable<string, number, number>>(true)
  const aged = table.transformValues(
    (context) => (customer) =>
      customer === undefined ? null : `${customer.name}@${context.timestamp}`,
  )
  same<typeof aged, KTable<string, string, string | null>>(true)

  class Upper implements ValueTransformer<string, Customer, string | undefined> {
    transform(customer: Customer | undefined): string | undefined {
      return customer?.name.toUpperCase()
    }
    close(): void {}
  }
  const supplier: ValueTransformerSupplier<string, Customer, string | undefined> = () => new Upper()
  const upper = table.transformValues(supplier, { name: 'upper' })
  same<typeof upper, KTable<string, string, string | null>>(true)
}

export function streamsOfTables(builder: StreamsBuilder): void {
  const table = builder.table(customers)
  const byCity = table.toStream((customer, id) => customer?.city ?? id, {
    key: serdes.string,
    name: 'by-city',
  })
  same<typeof byCity, KStream<string, Customer | null>>(true)
  const lengths = table.mapValues(({ name }) => name.length).toStream((_length, id) => id.length)
  same<typeof lengths, KStream<number, number | null>>(true)
}

export function versions(builder: StreamsBuilder): void {
  const prices = topic('prices', { key: serdes.string, value: nullable(serdes.double) })
  const history = versionedStore('history', {
    key: serdes.string,
    value: serdes.double,
    historyRetention: days(1),
  })
  const table = builder.table(prices, { store: history })
  same<typeof table, KTable<string, number, number | null>>(true)
  const high = table.filter((price) => price > 10).mapValues((price) => `${price}`)
  same<typeof high, KTable<string, string, string | null>>(true)
  const kept = table.mapValues((price) => price * 2, {
    store: versionedStore('doubled', {
      key: serdes.string,
      value: serdes.double,
      historyRetention: days(2),
      segmentInterval: days(1),
    }),
  })
  kept.join(table, (double, price) => double - price).toStream()
}
