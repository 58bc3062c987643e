/**
 * Point reads of stores in the thread that asks, and of stores in another thread: one question after the
 * other, and 32 at a time. The two take turns, so that a busy machine slows both; what counts is the ratio.
 * `npx tsx bench/query-hop.ts [--quick]`
 */
import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { systemClock } from '../src/base/clock.ts'
import { localStore } from '../src/query/executor-store.ts'
import { PortQueries } from '../src/query/port-queries.ts'
import type { QueryableKeyValueStore } from '../src/query/queryable-store.ts'
import { StoreInstance } from '../test/peers/store-instance.ts'
import { counts, details, fillStores, keyOf, threadStores } from '../test/peers/thread-stores.ts'

const isQuick = process.argv.includes('--quick')
const rows = 1_000
const rounds = isQuick ? 5 : 25
const readsPerRound = 2_000
const atATime = 32

type Store = QueryableKeyValueStore<string, unknown>

/** Microseconds of each read, one after the other. */
async function oneByOne(store: Store): Promise<number[]> {
  const times: number[] = []
  for (let read = 0; read < readsPerRound; read += 1) {
    const begin = systemClock.monotonic()
    await store.get(keyOf(read % rows))
    times.push((systemClock.monotonic() - begin) * 1000)
  }
  return times
}

/** Microseconds of each of many reads at a time, on average. */
async function together(store: Store): Promise<number[]> {
  const keys = Array.from({ length: atATime }, (_, n) => keyOf(n))
  const times: number[] = []
  for (let read = 0; read < readsPerRound; read += atATime) {
    const begin = systemClock.monotonic()
    await store.getMany(keys)
    times.push(((systemClock.monotonic() - begin) * 1000) / atATime)
  }
  return times
}

const rounded = (value: number): number => Math.round(value * 100) / 100

function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * part)] as number
}

const { port1, port2 } = new MessageChannel()
const worker = new Worker(new URL('../test/peers/query-thread.js', import.meta.url), {
  workerData: { port: port2, rows },
  transferList: [port2],
})
const threaded = new StoreInstance(threadStores, [])
const queries = new PortQueries(port1, {
  descriptor: (name) => threaded.descriptor(name),
  clock: systemClock,
})
threaded.workers.push(queries)
await once(port1, 'message')
const own = new StoreInstance(threadStores)
fillStores(own, rows)

for (const [values, descriptor] of [
  ['number', counts],
  ['object', details],
] as const) {
  for (const [reads, measure] of [
    ['one by one', oneByOne],
    [`${atATime} at a time`, together],
  ] as const) {
    const here: number[] = []
    const there: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const mine = await measure(localStore(own, descriptor, 'here') as Store)
      const theirs = await measure(localStore(threaded, descriptor, 'here') as Store)
      // The first round is for the compiler.
      if (round > 0) here.push(...mine)
      if (round > 0) there.push(...theirs)
    }
    const figure = {
      bench: 'query-hop',
      node: process.version,
      reads,
      values,
      ratioP50: rounded(quantile(there, 0.5) / quantile(here, 0.5)),
      hereP50Us: rounded(quantile(here, 0.5)),
      hereP99Us: rounded(quantile(here, 0.99)),
      threadP50Us: rounded(quantile(there, 0.5)),
      threadP99Us: rounded(quantile(there, 0.99)),
    }
    process.stdout.write(`${JSON.stringify(figure)}\n`)
  }
}

queries.close()
await worker.terminate()
