/** Global tables and stores that must compile, with the types that they must have. Checked by `tsc`, never run. */
import {
  StreamsBuilder,
  TopologyBuilder,
  keyValueStore,
  nullable,
  serdes,
  topic,
  type GlobalKTable,
  type KStream,
  type KafkaStreams,
  type QueryableKeyValueStore,
} from 'millpond'
import { same } from './same.ts'

interface Order {
  readonly customerId: string
  readonly total: number
}
interface Customer {
  readonly name: string
}

const orders = topic('orders', { key: serdes.long, value: serdes.json<Order>() })
const changes = topic('changes', { key: serdes.long, value: nullable(serdes.json<Order>()) })
const customers = topic('customers', { key: serdes.string, value: serdes.json<Customer>() })
const byId = keyValueStore('customers', customers)

export function tables(builder: StreamsBuilder): void {
  const table = builder.globalTable(customers)
  same<typeof table, GlobalKTable<string, Customer>>(true)
  builder.globalTable(customers, { store: 'by-name', name: 'customers' })
  builder.globalTable(customers, { store: byId })
}

export function joins(builder: StreamsBuilder): void {
  const table = builder.globalTable(customers)
  const stream = builder.stream(orders)
  const inner = stream.join(table, (order, customer) => `${customer.name} ${order.total}`, {
    lookup: (order) => order.customerId,
  })
  same<typeof inner, KStream<number, string>>(true)
  const left = stream.leftJoin(table, (_order, customer) => customer?.name ?? null, {
    lookup: (order, key) => (key > 0 ? order.customerId : null),
    name: 'with-customer',
  })
  same<typeof left, KStream<number, string | null>>(true)
  // Records without a value are dropped before anybody looks at them.
  builder.stream(changes).join(table, (order) => order.total, {
    lookup: (order) => order.customerId,
  })
}

export function stores(builder: StreamsBuilder): void {
  builder.addGlobalStore(byId, customers, (context) => {
    const store = context.store(byId)
    return ({ key, value }) => store.put(key, value)
  })
  builder.stream(orders).process<number, string>((context) => {
    const store = context.store(byId)
    return (record) => {
      const found = store.get(record.value.customerId)
      same<typeof found, Customer | undefined>(true)
      context.forward({ ...record, value: found?.name ?? '' })
    }
  })
}

export function topologies(builder: TopologyBuilder): void {
  builder.addGlobalStore(byId, {
    source: 'customers',
    topic: customers,
    processor: 'keep-customers',
    supplier: (context) => {
      const store = context.store(byId)
      return ({ key, value }) => store.put(key, value)
    },
  })
}

export function queries(streams: KafkaStreams): void {
  const store = streams.store(byId)
  same<typeof store, QueryableKeyValueStore<string, Customer>>(true)
}
