/** Of bench/workers.ts: about a tenth of a millisecond of processor time for each record, and a count. */
import { StreamsBuilder, keyValueStore, serdes, topic } from 'millpond'

const steps = 100_000

/** @param {string} text */
function work(text) {
  let hash = text.length
  for (let step = 0; step < steps; step += 1) hash = Math.imul(hash ^ step, 0x01_00_01_93)
  return hash
}

const builder = new StreamsBuilder()
builder
  .stream(topic('texts', { key: serdes.string, value: serdes.string }))
  .filter((text) => work(text) !== 0)
  .groupByKey()
  .count({ store: keyValueStore('counts', { key: serdes.string, value: serdes.long }) })

export const topology = builder.build()
