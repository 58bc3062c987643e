/** Counts words. `word-count-service.ts` runs it, `word-count.test.ts` tests it. */
import { StreamsBuilder, keyValueStore, serdes, topic, type Topology } from 'millpond'

export const lines = topic('text-lines', { value: serdes.string })
export const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })

export function wordCount(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(lines)
    .flatMapValues((line) => line.toLowerCase().split(/\W+/).filter(Boolean))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: wordCounts })
  return builder.build()
}
