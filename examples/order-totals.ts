/** How much each customer has ordered, and in how many orders; a customer who leaves is forgotten. */
import { StreamsBuilder, keyValueStore, nullable, serdes, topic, type Topology } from 'millpond'

export interface Order {
  readonly customer: string
  readonly cents: number
  /** The customer closes the account. */
  readonly closing?: boolean
}

export interface Totals {
  readonly orders: number
  readonly cents: number
}

export const orders = topic('orders', { key: serdes.string, value: serdes.json<Order>() })
export const totals = topic('order-totals', {
  key: serdes.string,
  value: nullable(serdes.json<Totals>()),
})
export const totalsByCustomer = keyValueStore('totals-by-customer', {
  key: serdes.string,
  value: serdes.json<Totals>(),
})

export function orderTotals(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(orders)
    // Orders are keyed by their number: the same customer must meet in one place.
    .groupBy((order) => order.customer, { key: serdes.string, value: orders.value })
    .aggregate(
      (): Totals => ({ orders: 0, cents: 0 }),
      (sum, order) =>
        order.closing === true ? null : { orders: sum.orders + 1, cents: sum.cents + order.cents },
      { store: totalsByCustomer },
    )
    .toStream()
    .to(totals)
  return builder.build()
}
