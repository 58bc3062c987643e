/** What must not compile of configuration, queries, serdes and tests. Checked by `tsc`, never run. */
import {
  KafkaStreams,
  StreamsBuilder,
  isStreamsError,
  keyValueStore,
  nullable,
  serdes,
  sessionStore,
  timeWindows,
  timestamped,
  topic,
  versionedStore,
  windowStore,
  type Serde,
  type StreamsConfig,
  type Topology,
} from 'millpond'
import { serve } from 'millpond/server'
import { TopologyTestDriver } from 'millpond/testing'

declare const topology: Topology
const least: StreamsConfig = { applicationId: 'shop', brokers: ['localhost:9092'] }
const both = { key: serdes.string, value: serdes.long }
const text = topic('text', { key: serdes.string, value: serdes.string })
const rows = keyValueStore('rows', both)
const windows = windowStore('windows', both)
const streams = new KafkaStreams(topology, least)
const user = { username: 'u', password: 'p' }
const driver = new TopologyTestDriver(topology)

// @ts-expect-error the brokers are missing
void new KafkaStreams(topology, { applicationId: 'shop' })
// @ts-expect-error a list of brokers
void new KafkaStreams(topology, { ...least, brokers: 'localhost:9092' })
// @ts-expect-error Java's name
void new KafkaStreams(topology, { ...least, 'commit.interval.ms': 1 })
// @ts-expect-error milliseconds, not text
void new KafkaStreams(topology, { ...least, commitInterval: '1s' })
// @ts-expect-error a password belongs to a user
void new KafkaStreams(topology, { ...least, sasl: { mechanism: 'plain', password: 'p' } })
// @ts-expect-error Kafka's name of the mechanism
void new KafkaStreams(topology, { ...least, sasl: { mechanism: 'PLAIN', ...user } })
// @ts-expect-error files are read by the program
void new KafkaStreams(topology, { ...least, tls: { caFile: 'ca.pem' } })
// @ts-expect-error a builder is not a topology
void new KafkaStreams(new StreamsBuilder(), least)
// @ts-expect-error there is no such guarantee
void new KafkaStreams(topology, { ...least, processingGuarantee: 'exactly-twice' })
// @ts-expect-error there is no such word
void new KafkaStreams(topology, { ...least, onProcessingError: 'skip' })
// @ts-expect-error only what cannot be written may be tried again
void new KafkaStreams(topology, { ...least, onDeserializationError: () => 'retry' })
// @ts-expect-error a handler is synchronous
void new KafkaStreams(topology, { ...least, onProcessingError: () => Promise.resolve('fail') })
// @ts-expect-error configs of topics are text
void new KafkaStreams(topology, { ...least, topicConfigs: { 'min.insync.replicas': 2 } })
// @ts-expect-error a signal is needed
void streams.run({})
// @ts-expect-error there is no such event
streams.on('rebalance', () => undefined)
// @ts-expect-error a state is a word of its own
export const isRunning = streams.state === 'RUNNING'

// @ts-expect-error a store is known by its descriptor
streams.store('rows')
// @ts-expect-error the key is text
void streams.store(rows).get(1)
// @ts-expect-error a promise is not a number
export const count: number = streams.store(rows).get('a')
// @ts-expect-error a row may be missing
export const sure: Promise<number> = streams.store(rows).get('a')
// @ts-expect-error windows have no get
void streams.store(windows).get('a')
// @ts-expect-error the key of another type
streams.queryMetadataForKey(rows, 5)
// @ts-expect-error there is no such code
isStreamsError(new Error('x'), 'OOPS')

// @ts-expect-error the port is missing
void serve(topology, least)
// @ts-expect-error there is no such operation
void serve(topology, { ...least, http: { port: 0 }, expose: { rows: { operations: ['put'] } } })
// @ts-expect-error the endpoint is that of the service
void serve(topology, { ...least, http: { port: 0 }, endpoint: { host: 'a', port: 1 } })

// @ts-expect-error a value serde is needed
topic('t', { key: serdes.string })
// @ts-expect-error the time is a number
topic('t', { value: serdes.string, timestamp: () => new Date() })
// @ts-expect-error both serdes are needed
keyValueStore('s', { value: serdes.long })
// @ts-expect-error versioned stores are never cached
versionedStore('s', { ...both, historyRetention: 1, caching: true })
// @ts-expect-error the history is needed
versionedStore('s', both)
// @ts-expect-error sessions have no size
sessionStore('s', { ...both, windowSize: 5 })
// @ts-expect-error a misspelt option
windowStore('s', { ...both, retention: 1, windowsize: 1 })
// @ts-expect-error sessions have their times
timestamped(sessionStore('s', both))
// @ts-expect-error a serde has both directions
export const half: Serde<string> = { name: 'half', serialize: () => new Uint8Array() }
// @ts-expect-error text is not a number
serdes.long.serialize('1')
// @ts-expect-error a list of numbers
serdes.list(serdes.long).serialize(['1'])
// @ts-expect-error a null where there is none
serdes.string.serialize(null)
nullable(serdes.string).serialize(null)
// @ts-expect-error the size of the windows is needed
serdes.timeWindowed(serdes.string)

// @ts-expect-error the value is text
driver.input(text).pipe({ key: 'k', value: 1 })
// @ts-expect-error the key is stated, maybe as null
driver.input(text).pipe({ value: 'v' })
// @ts-expect-error a time is a number
driver.input(text).pipe({ key: 'k', value: 'v', timestamp: new Date() })
// @ts-expect-error text, not numbers
driver.output(text).readValue().toFixed()
// @ts-expect-error there may be no next record
void driver.output(text).read().value
// @ts-expect-error a window store is another kind
driver.store(windows)
// @ts-expect-error sessions are another kind
driver.windowStore(sessionStore('s', both))
// @ts-expect-error a row may be missing
driver.store(rows).get('a').toFixed()
// @ts-expect-error the value is a number
driver.store(rows).put('a', 'b')
// @ts-expect-error there is no such option
void new TopologyTestDriver(topology, { startTime: 0 })

const builder = new StreamsBuilder()
// @ts-expect-error a table has one topic
builder.table([text])
// @ts-expect-error the store has other values
builder.table(text, { store: rows })
// @ts-expect-error a global store is known by its descriptor
builder.addGlobalStore('rows', text, () => () => undefined)
builder.addGlobalStore(rows, topic('r', both), ({ forward }) => (record) => {
  // @ts-expect-error it forwards to nobody
  forward(record)
})
// @ts-expect-error the windows are needed
builder.stream(text).groupByKey().windowedBy({ size: 5, grace: 0 })
const emitted = builder
  .stream(text)
  .groupByKey()
  .windowedBy(timeWindows({ size: 1, grace: 0 }))
// @ts-expect-error there is no such strategy
emitted.emitStrategy('on-close')
// @ts-expect-error an asynchronous step gives a promise
builder.stream(text).mapValuesAsync((value) => value)
// @ts-expect-error a number of calls
builder.stream(text).forEachAsync(() => Promise.resolve(), { concurrency: '8' })
const promised = builder.stream(text).mapValues((value) => Promise.resolve(value))
// @ts-expect-error nobody waits for the promise of a value
promised.to(text)
