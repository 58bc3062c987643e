/** Programs of the Processor API that must not compile: each error below is expected. Never run. */
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  sessionStore,
  timestamped,
  topic,
  versionedStore,
} from 'millpond'

const words = topic('words', { key: serdes.string, value: serdes.string })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const s = keyValueStore('s', { key: serdes.string, value: serdes.long })
const visits = sessionStore('visits', { key: serdes.string, value: serdes.long })
const prices = versionedStore('prices', {
  key: serdes.string,
  value: serdes.long,
  historyRetention: 1,
})
const stream = new StreamsBuilder().stream(words)
const numbers = { key: serdes.string, value: serdes.long }

stream.process(
  ({ stores, forward, schedule, store }) =>
    (record) => {
      // @ts-expect-error forwards a string where the output value is a number
      forward({ key: record.key, value: 'x', timestamp: 0 })
      // @ts-expect-error forwards a number where the output key is a string
      forward({ key: 1, value: 1, timestamp: 0 })
      // @ts-expect-error a record has a timestamp
      forward({ key: record.key, value: 1 })
      // @ts-expect-error there is no such store
      void stores.t
      // @ts-expect-error the store's values are numbers
      stores.s.put(record.key, 'x')
      // @ts-expect-error the store's keys are strings
      stores.s.get(1)
      // @ts-expect-error a store seen without timestamps takes none
      stores.s.put(record.key, 1, record.timestamp)
      // @ts-expect-error a store is named by its descriptor
      store('s')
      // @ts-expect-error there is no such time
      schedule(1, 'event-time', () => {})
      // @ts-expect-error a misspelt option
      schedule(1, 'stream-time', () => {}, { startTime: 0 })
      // @ts-expect-error the input value is a string
      record.value.toFixed()
      // @ts-expect-error records do not change
      record.value = 'x'
    },
  { stores: { s }, ...numbers },
)

stream.process((context) => () => {
  // @ts-expect-error without stores in the options there are none
  void context.stores.s
})
// @ts-expect-error the supplier makes a processor
stream.process(() => 1)
// @ts-expect-error a processor has a method process
stream.process(() => ({ handle: () => {} }))
// @ts-expect-error the supplier is a function
stream.process({ process: () => {} })
// @ts-expect-error a misspelt option
stream.process(() => () => {}, { store: { s } })
// @ts-expect-error stores are named by their descriptors
stream.process(() => () => {}, { stores: { s: 's' } })
// @ts-expect-error a session store has its timestamps
timestamped(visits)
// @ts-expect-error a versioned store has its timestamps
timestamped(prices)

// @ts-expect-error a key cannot be stated: it does not change
stream.processValues(() => () => {}, { key: serdes.string })
stream.processValues(
  ({ forward }) =>
    (record) => {
      // @ts-expect-error only what was derived from the record is forwarded
      forward({ key: record.key, value: 1, timestamp: 0 })
      // @ts-expect-error the values that are forwarded are numbers
      forward(record)
      // @ts-expect-error the key stays
      forward(record.withKey('x'))
    },
  { value: serdes.long },
)
stream.processValues(({ forward }) => (record) => {
  // @ts-expect-error values of another type must be stated, by their serde
  forward(record.withValue(1))
})
stream.process(({ forward }) => (record) => {
  // @ts-expect-error keys of another type must be stated, by their serde
  forward({ ...record, key: 1 })
})
const unchanged = stream.processValues(() => () => {}, { value: serdes.string })
// @ts-expect-error the value type differs from the topic's
unchanged.to(counts)

// @ts-expect-error a pattern needs a value serde
new StreamsBuilder().stream(/words/)
// @ts-expect-error the timestamp is a number
new StreamsBuilder().stream(/words/, { value: serdes.string, timestamp: () => 'now' })
// @ts-expect-error there is no such reset
topic('t', { value: serdes.string, offsetReset: { duration: 1 } })
// @ts-expect-error a store is added by its descriptor
new StreamsBuilder().addStateStore('s')
