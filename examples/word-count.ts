/**
 * Counts words and answers how often one was seen. Needs a broker with the topic `text-lines`:
 * `npx millpond broker --port 9092`, and then `node examples/word-count.ts`.
 */
import {
  KafkaStreams,
  StreamsBuilder,
  keyValueStore,
  serdes,
  shutdownSignal,
  topic,
} from 'millpond'

const lines = topic('text-lines', { value: serdes.string })
const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })

const builder = new StreamsBuilder()
builder
  .stream(lines)
  .flatMapValues((line) => line.toLowerCase().split(/\W+/).filter(Boolean))
  .groupBy((word) => word, { key: serdes.string, value: serdes.string })
  .count({ store: wordCounts })

const topology = builder.build()
console.log(topology.describe())

await using streams = new KafkaStreams(topology, {
  applicationId: 'word-count',
  brokers: ['localhost:9092'],
})
streams.on('stateChange', (now, before) => console.log(`${before} -> ${now}`))
await streams.start()
console.log('kafka:', (await streams.store(wordCounts).get('kafka')) ?? 0)
await streams.run({ signal: shutdownSignal() })
