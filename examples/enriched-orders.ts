/**
 * Orders with what is known of their customers and countries: a table, and a global table. Orders of
 * customers whom nobody knows go elsewhere.
 */
import { StreamsBuilder, nullable, serdes, topic, type Topology } from 'millpond'

export interface Order {
  readonly customer: string
  readonly country: string
  readonly cents: number
}
export interface EnrichedOrder extends Order {
  readonly name: string
  readonly countryName: string
}

export const orders = topic('orders', { key: serdes.string, value: serdes.json<Order>() })
export const customers = topic('customers', {
  key: serdes.string,
  value: nullable(serdes.string),
})
export const countries = topic('countries', { key: serdes.string, value: serdes.string })
export const enriched = topic('enriched-orders', {
  key: serdes.string,
  value: serdes.json<EnrichedOrder>(),
})
export const unknownCustomers = topic('orders-of-unknown-customers', {
  key: serdes.string,
  value: serdes.json<Order>(),
})

export function enrichedOrders(): Topology {
  const builder = new StreamsBuilder()
  const names = builder.table(customers, { store: 'customer-names' })
  const countryNames = builder.globalTable(countries, { store: 'country-names' })
  const { known, rest } = builder
    .stream(orders)
    // Orders are keyed by their number: they must meet their customers in one place.
    .selectKey((order) => order.customer, { key: serdes.string })
    .leftJoin(names, (order, name) => ({ order, name }), { name: 'with-name' })
    .split({ known: ({ name }) => name !== undefined })
  known
    .leftJoin(
      countryNames,
      ({ order, name = '' }, countryName = order.country) => ({ ...order, name, countryName }),
      { lookup: ({ order }) => order.country },
    )
    .to(enriched)
  rest.mapValues(({ order }) => order).to(unknownCustomers)
  return builder.build()
}
