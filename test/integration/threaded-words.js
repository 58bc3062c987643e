/**
 * The module of a topology for workers in threads: counts words. Its URL says more, so that each test has
 * one of its own: `?input=…&once=…`, where `once` is a file that keeps a successor from the same deed.
 *
 * It is JavaScript because the threads of tests are plain Node, on what was built.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { StreamsBuilder, keyValueStore, serdes, topic } from 'millpond'

const search = new URL(import.meta.url).searchParams
const input = search.get('input')
// All threads must see the same URL: with another topology in one of them, its group would refuse it.
if (input === null) throw new Error('the URL does not say which topic is read')
const once = search.get('once')

export const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

/**
 * What a word does to the thread that meets it.
 *
 * @type {Readonly<Record<string, () => void>>}
 */
const deeds = {
  'throw!': () => {
    throw new RangeError('it is bad')
  },
  'exit!': () => process.exit(7),
  'later!': () => {
    setTimeout(() => {
      throw new RangeError('it is too late')
    })
  },
  'reject!': () => {
    void Promise.reject(new RangeError('nobody looks'))
  },
  'memory!': () => {
    /** @type {number[][]} */
    const hoard = []
    for (;;) hoard.push(Array.from({ length: 100_000 }, (_, index) => index + hoard.length))
  },
  'hang!': () => {
    for (;;);
  },
}

/** @param {string} word */
function meet(word) {
  const deed = deeds[word]
  if (deed === undefined || (once !== null && existsSync(once))) return
  if (once !== null) writeFileSync(once, word)
  deed()
}

const builder = new StreamsBuilder()
builder
  .stream(topic(input, { key: serdes.string, value: serdes.string }))
  .peek(meet)
  .groupByKey()
  .count({ store: counts })

export const topology = builder.build()
