import { StreamsBuilder, serdes, topic, type Topology } from 'millpond'
import { counts } from './counts.ts'
import type { Settings } from './settings.ts'

/** Splits lines into words, repartitions and counts them, and writes the counts to a topic. */
export function wordCount({ input, output }: Settings): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(input, { value: serdes.string }))
    .flatMapValues((line) => line.split(' '))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: counts })
    .toStream()
    .to(topic(output, { key: serdes.string, value: serdes.long }))
  return builder.build()
}
