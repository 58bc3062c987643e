import { StreamsBuilder, keyValueStore, serdes, topic, type Topology } from '../../src/index.ts'

/** The topics of {@link countingTopology}. */
export interface CountingTopics {
  readonly input: string
  readonly copies: string
}

export const byKey = keyValueStore('by-key', { key: serdes.string, value: serdes.long })
export const byValue = keyValueStore('by-value', { key: serdes.string, value: serdes.long })

/**
 * Shows every way in which a record can be lost or doubled: each is copied to a topic, counted by its key,
 * and, behind a repartition topic, counted by its value.
 */
export function countingTopology({ input, copies }: CountingTopics): Topology {
  const strings = { key: serdes.string, value: serdes.string }
  const builder = new StreamsBuilder()
  const records = builder.stream(topic(input, strings))
  records.to(topic(copies, strings))
  records.groupByKey().count({ store: byKey })
  records.groupBy((value) => value.slice(value.indexOf(' ') + 1), strings).count({ store: byValue })
  return builder.build()
}
