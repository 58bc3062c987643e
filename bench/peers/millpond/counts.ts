import { StreamsBuilder, keyValueStore, serdes, topic, type Topology } from 'millpond'
import type { Settings } from './settings.ts'

export const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

/** What several jobs have in common: the records of each key, counted in the store `counts`. */
export function countRecords({ input }: Settings): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(input, { key: serdes.string, value: serdes.string }))
    .groupByKey()
    .count({ store: counts })
  return builder.build()
}
