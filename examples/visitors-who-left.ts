/** Tells who has not clicked for five minutes: a processor with a store and a timer. */
import {
  StreamsBuilder,
  keyValueStore,
  minutes,
  seconds,
  serdes,
  topic,
  type Topology,
} from 'millpond'

export const clicks = topic('clicks', { key: serdes.string, value: serdes.string })
/** When a visitor was last seen, in milliseconds. */
export const left = topic('visitors-who-left', { key: serdes.string, value: serdes.long })
export const lastSeen = keyValueStore('last-seen', { key: serdes.string, value: serdes.long })

export function visitorsWhoLeft(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(clicks)
    .process(
      ({ stores, schedule, forward }) => {
        schedule(seconds(10), 'wall-clock-time', (now) => {
          for (const [visitor, seen] of stores.lastSeen.range()) {
            if (now - seen < minutes(5)) continue
            forward({ key: visitor, value: seen, timestamp: now })
            stores.lastSeen.delete(visitor)
          }
        })
        return ({ key, timestamp }) => stores.lastSeen.put(key, timestamp)
      },
      { name: 'who-left', stores: { lastSeen }, key: serdes.string, value: serdes.long },
    )
    .to(left)
  return builder.build()
}
