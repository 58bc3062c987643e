/** Says when a product runs low, and when it no longer does: a topic as a table, and a filter. */
import { StreamsBuilder, nullable, serdes, topic, type Topology } from 'millpond'

/** How many of a product are in stock; null: the product is given up. */
export const stock = topic('stock', { key: serdes.string, value: nullable(serdes.int) })
/** Products that run low; null: no longer. */
export const lowStock = topic('low-stock', { key: serdes.string, value: nullable(serdes.int) })

const enough = 10

export function lowStockAlerts(): Topology {
  const builder = new StreamsBuilder()
  builder
    .table(stock, { store: 'stock-by-product' })
    .filter((count) => count < enough)
    .toStream()
    .to(lowStock)
  return builder.build()
}
