/**
 * The module of a topology for workers in threads: counts words. Its URL says more, so that each test has
 * one of its own: `?input=…&once=…`, where `once` is a file that keeps a successor from the same deed.
 *
 * It is JavaScript because the threads of tests are plain Node, on what was built.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { StreamsBuilder, keyValueStore, serdes, topic } from 'millpond'

/** @typedef {{ readonly isOpen: boolean }} Transaction */

/** @param {string} path */
const built = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href)

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
  // No code of a program runs in a transaction: as if Millpond itself came to this.
  'stuck!': () => {
    beginAny()
    for (;;);
  },
  'stuck without memory!': () => {
    beginAny()
    deeds['memory!']?.()
  },
}

/**
 * Transactions of this thread that were begun last, of each engine.
 *
 * @type {Map<{ begin(): unknown }, Transaction>}
 */
const transactions = new Map()
/** A transaction that is begun and ended in between is one too. */
let transactionCount = 0

/** What the deed is done in the midst of: see `busily`. */
let waiting = ''
let patience = 8_000

/**
 * `?busily`: the deed is not done at once, but while the thread writes to its stores, or after so many
 * words, some of which have been written, when there is no such moment.
 */
const isBusily = search.has('busily')

/** Opens a transaction in one of the engines of this thread, and leaves it so. */
function beginAny() {
  const [engine] = transactions.keys()
  engine?.begin()
}

/** @param {string} word */
function meet(word) {
  const deed = deeds[waiting || word]
  if (deed === undefined || (once !== null && existsSync(once))) return
  if (isBusily) {
    waiting ||= word
    patience -= 1
    const isWriting = [...transactions.values()].some(({ isOpen }) => isOpen)
    if (!isWriting && (patience > 0 || transactionCount < 3)) return
  }
  if (once !== null) writeFileSync(once, waiting || word)
  deed()
}

/** `?rocksdb=…`: the file from which the package of RocksDB is looked for. Otherwise LMDB. */
const from = search.get('rocksdb')
const stateEngine =
  from === null
    ? (await built('kv/state-engine.js')).lmdbStateEngine
    : (await built('kv/rocksdb-state-engine.js')).rocksdbStateEngine({ from })

/** It tells when it writes. */
export const config = {
  engine: {
    ...stateEngine,
    /** @param {unknown} world */
    factory(world) {
      const make = stateEngine.factory(world)
      return (/** @type {string} */ directory) => {
        const engine = make(directory)
        const begin = engine.begin.bind(engine)
        engine.begin = () => {
          const transaction = begin()
          transactions.set(engine, transaction)
          transactionCount += 1
          return transaction
        }
        return engine
      }
    },
  },
}

const builder = new StreamsBuilder()
// `?differs`: what must not be.
const read = search.has('differs') && !isMainThread ? `${input}-of-thread` : input
builder
  .stream(topic(read, { key: serdes.string, value: serdes.string }))
  .peek(meet)
  .groupByKey()
  .count({ store: counts })

export const topology = builder.build()
