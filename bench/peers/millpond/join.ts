import { StreamsBuilder, serdes, topic, type Topology } from 'millpond'
import type { Settings } from './settings.ts'

/** Puts the row of its customer beside each order. */
export function join({ input, table, output }: Settings): Topology {
  const strings = { key: serdes.string, value: serdes.string }
  const builder = new StreamsBuilder()
  const customers = builder.table(topic(table, strings), { store: 'customers' })
  builder
    .stream(topic(input, strings))
    .join(customers, (order, customer) => `${order};${customer}`)
    .to(topic(output, strings))
  return builder.build()
}
