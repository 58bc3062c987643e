import { StreamsBuilder, serdes, topic, type Topology } from 'millpond'
import type { Settings } from './settings.ts'

/** Leaves the orders in dollars out, and keys the others by customer. */
export function stateless({ input, output }: Settings): Topology {
  const strings = { key: serdes.string, value: serdes.string }
  const builder = new StreamsBuilder()
  builder
    .stream(topic(input, strings))
    .filter((value) => !value.startsWith('USD', 15))
    .map((value, order) => [value.slice(0, 14), order + value.slice(14)])
    .to(topic(output, strings))
  return builder.build()
}
