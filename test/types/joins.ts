/** Joins and routes that must compile, with the types that they must have. Checked by `tsc`, never run. */
import {
  StreamsBuilder,
  hours,
  joinWindows,
  minutes,
  nullable,
  serdes,
  topic,
  type JoinWindows,
  type KStream,
  type Topology,
} from 'millpond'

/** Compiles only when both types are the same. */
type Same<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- how types are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'types differ'
function same<A, B>(_proof: Same<A, B>): void {}

interface Order {
  readonly customerId: string
  readonly total: number
}
interface Customer {
  readonly name: string
}
type Shape = { readonly kind: 'circle'; readonly r: number } | { readonly kind: 'dot' }

const orders = topic('orders', { key: serdes.string, value: serdes.json<Order>() })
const payments = topic('payments', { key: serdes.string, value: nullable(serdes.double) })
const customers = topic('customers', { key: serdes.string, value: serdes.json<Customer>() })
const shapes = topic('shapes', { value: serdes.json<Shape>() })
const totals = topic('totals', { key: serdes.string, value: serdes.double })

export function branches(builder: StreamsBuilder): void {
  const stream = builder.stream(orders)
  const { large, rest } = stream.split({ large: (order) => order.total > 100 })
  same<typeof large, KStream<string, Order>>(true)
  same<typeof rest, KStream<string, Order>>(true)
  const named = stream.split(
    { mine: (order, key) => order.customerId === key },
    { name: 'by-owner-', rest: 'others' },
  )
  named.mine.merge(named.rest).to(orders)
  const [even, odd] = builder
    .stream(totals)
    .split([(total) => total % 2 === 0, (total) => total % 2 === 1])
  same<typeof even, KStream<string, number>>(true)
  odd.to(totals)
}

export function branchesOfOneType(builder: StreamsBuilder): void {
  const isCircle = (shape: Shape): shape is Extract<Shape, { kind: 'circle' }> =>
    shape.kind === 'circle'
  const { circles } = builder.stream(shapes).split({ circles: isCircle })
  const radii = circles.mapValues((circle) => circle.r)
  same<typeof radii, KStream<Uint8Array | null, number>>(true)
  const { paid } = builder.stream(payments).split({ paid: (sum) => sum !== null })
  paid.mapValues((sum) => sum.toFixed(2))
}

export function routes(builder: StreamsBuilder): void {
  const stream = builder.stream(orders)
  stream.print()
  stream.print({
    label: 'orders',
    format: (order, key) => `${key}: ${order.total}`,
    to: console.log,
  })
  stream.to((order, key, { timestamp, headers }) => {
    const day = Math.floor(timestamp / 86_400_000)
    return `${order.customerId}-${key}-${day}-${headers.length}`
  })
  stream.to(() => 'orders', {
    name: 'sink',
    key: serdes.string,
    value: serdes.json<Order>(),
    partitioner: (_topic, key, order, count) => (key.length + order.total) % count,
  })
  const again = stream
    .selectKey((order) => order.customerId)
    .repartition({
      name: 'by-customer',
      key: serdes.string,
      partitions: 12,
      partitioner: (_topic, key, _order, count) => key.length % count,
    })
  same<typeof again, KStream<string, Order>>(true)
}

export function streamTable(builder: StreamsBuilder): void {
  const table = builder.table(customers, { store: 'customers' })
  const joined = builder
    .stream(orders)
    .selectKey((order) => (order.customerId === '' ? null : order.customerId), {
      key: serdes.string,
    })
  const inner = joined.join(
    table,
    (order, customer, key) => `${key.length}${customer.name}${order.total}`,
  )
  // Records without a key are dropped.
  same<typeof inner, KStream<string, string>>(true)
  const left = joined.leftJoin(
    table,
    (order, customer, key) => ({ ...order, key, name: customer?.name ?? 'unknown' }),
    { name: 'enrich', value: serdes.json<Order>() },
  )
  same<
    typeof left,
    KStream<string | null, { customerId: string; total: number; key: string | null; name: string }>
  >(true)
  const withNulls = builder
    .stream(payments)
    .join(table, (sum, customer) => sum + customer.name.length)
  same<typeof withNulls, KStream<string, number>>(true)
  builder.stream(orders).join(
    table.mapValues((customer) => customer.name),
    (_order, name) => name.length,
  )
}

export function streamStream(builder: StreamsBuilder): void {
  const windows = joinWindows({ before: 0, after: hours(1), grace: minutes(5) })
  same<typeof windows, JoinWindows>(true)
  const left = builder.stream(orders)
  const right = builder.stream(payments)
  const inner = left.join(right, (order, sum, key) => order.total - sum + key.length, { windows })
  same<typeof inner, KStream<string, number>>(true)
  inner.to(totals)
  const outerLeft = left.leftJoin(right, (order, sum) => order.total - (sum ?? 0), {
    windows: joinWindows({ difference: minutes(1), grace: 0 }),
    name: 'settle',
    storeName: 'settlements',
    key: serdes.string,
    value: serdes.json<Order>(),
    otherValue: serdes.double,
    stores: { persistent: false, changelog: { 'segment.bytes': '1000000' } },
  })
  same<typeof outerLeft, KStream<string, number>>(true)
  const outer = left.outerJoin(right, (order, sum) => order?.total ?? sum ?? null, { windows })
  same<typeof outer, KStream<string, number | null>>(true)
  left.join(left, (order, other) => order.total + other.total, { windows })
}

export function optimized(): Topology[] {
  return [
    new StreamsBuilder({ optimize: 'none' }).build(),
    new StreamsBuilder({ optimize: ['merge-repartition-topics'] }).build(),
    new StreamsBuilder({ optimize: 'all' }).build(),
  ]
}
