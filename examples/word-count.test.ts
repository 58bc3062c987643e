/** Tests a topology without a broker: `npx tsx --test examples/word-count.test.ts`. */
import { deepStrictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { StreamsBuilder, keyValueStore, serdes, topic } from 'millpond'
import { TopologyTestDriver } from 'millpond/testing'

const lines = topic('lines', { value: serdes.string })
const out = topic('counts', { key: serdes.string, value: serdes.long })
const store = keyValueStore('store', { key: serdes.string, value: serdes.long })

await test('counts words', () => {
  const builder = new StreamsBuilder()
  builder
    .stream(lines)
    .flatMapValues((line) => line.split(' '))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store })
    .toStream()
    .to(out)

  using driver = new TopologyTestDriver(builder.build())
  driver.input(lines).pipe({ key: null, value: 'to be or not to be', timestamp: 0 })

  deepStrictEqual(driver.output(out).readAll().at(-1), { key: 'be', value: 2, timestamp: 0 })
  deepStrictEqual(driver.store(store).get('to'), 2)
})
