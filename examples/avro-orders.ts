/** How much each customer has ordered, from orders in Avro; their schemas are in a schema registry. */
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type Serde,
  type Topic,
  type Topology,
} from 'millpond'
import type { SchemaRegistry } from 'millpond/schema-registry'

/** As the schema says that is registered as orders-value. */
export interface Order {
  readonly customer: string
  readonly cents: number
  readonly placedAt: Date
}

export interface Totals {
  readonly orders: number
  readonly cents: number
}

/** What this program knows of an order: it reads by it whatever version was written. */
export const orderSchema = {
  type: 'record',
  name: 'Order',
  fields: [
    { name: 'customer', type: 'string' },
    { name: 'cents', type: 'long' },
    { name: 'placedAt', type: { type: 'long', logicalType: 'timestamp-millis' } },
  ],
}

const totalsSchema = {
  type: 'record',
  name: 'Totals',
  fields: [
    { name: 'orders', type: 'long' },
    { name: 'cents', type: 'long' },
  ],
}

export interface OrderTopics {
  readonly orders: Topic<string, Order>
  readonly totals: Topic<string, Totals>
  /** Orders on their way to the partition of their customer, in a topic that belongs to this program. */
  readonly order: Serde<Order>
}

export function orderTopics(registry: SchemaRegistry): OrderTopics {
  const options = {
    schema: orderSchema,
    logicalTypes: {
      'timestamp-millis': {
        fromAvro: (millis: number) => new Date(millis),
        toAvro: (date: Date) => date.getTime(),
      },
    },
  }
  // Read only: others write orders, and register their schemas.
  const order = registry.avro<Order>({ subject: 'orders-value', ...options })
  const totals = registry.avro<Totals>({
    subject: 'order-totals-value',
    schema: totalsSchema,
    register: true,
  })
  return {
    orders: topic('orders', { key: serdes.string, value: order }),
    totals: topic('order-totals', { key: serdes.string, value: totals }),
    order: registry.avro<Order>({ subject: 'order-totals-orders', register: true, ...options }),
  }
}

export function orderTotals({ orders, totals, order }: OrderTopics): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(orders)
    .groupBy(({ customer }) => customer, { key: serdes.string, value: order })
    .aggregate(
      (): Totals => ({ orders: 0, cents: 0 }),
      (sum, { cents }) => ({ orders: sum.orders + 1, cents: sum.cents + cents }),
      { store: keyValueStore('totals-by-customer', { key: serdes.string, value: totals.value }) },
    )
    .toStream()
    .to(totals)
  return builder.build()
}
