/** How often each page was looked at, minute by minute: one final number, ten seconds after the minute. */
import {
  StreamsBuilder,
  minutes,
  seconds,
  serdes,
  timeWindows,
  topic,
  type Topology,
} from 'millpond'

const minute = minutes(1)

/** Who looked, at which page. */
export const clicks = topic('clicks', { key: serdes.string, value: serdes.string })
/** Keys are pages with their minute. */
export const perMinute = topic('clicks-per-minute', {
  key: serdes.timeWindowed(serdes.string, minute),
  value: serdes.long,
})

export function clicksPerMinute(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(clicks)
    .groupBy((page) => page, { name: 'by-page', key: serdes.string })
    .windowedBy(timeWindows({ size: minute, grace: seconds(10) }))
    .emitStrategy('on-window-close')
    .count({ store: 'clicks-of-page-and-minute' })
    .toStream()
    .to(perMinute)
  return builder.build()
}
