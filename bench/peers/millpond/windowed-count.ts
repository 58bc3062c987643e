import {
  StreamsBuilder,
  hours,
  minutes,
  serdes,
  timeWindows,
  topic,
  windowStore,
  type Topology,
} from 'millpond'
import type { Settings } from './settings.ts'

const store = windowStore('counts', { key: serdes.string, value: serdes.long })

/** Counts the records of each key in each minute. */
export function windowedCount({ input }: Settings): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(input, { key: serdes.string, value: serdes.string }))
    .groupByKey()
    .windowedBy(timeWindows({ size: minutes(1), grace: hours(1) }))
    .count({ store })
  return builder.build()
}
