/** A real thread: what a channel of a test cannot show is that messages cross, and that its end is told. */
import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { StoreInstance } from '../../test/peers/store-instance.ts'
import { clicks, counts, details, keyOf, threadStores } from '../../test/peers/thread-stores.ts'
import { systemClock } from '../base/clock.ts'
import { isStreamsError } from '../errors.ts'
import { localStore } from './executor-store.ts'
import { PortQueries } from './port-queries.ts'

/** More than a page has, and than cross at a time. */
const rows = 1200

/** A process whose stores are all in a thread. */
class ThreadProcess {
  readonly worker: Worker
  readonly main = new StoreInstance(threadStores, [])
  readonly queries: PortQueries
  /** Resolves when the thread has told what it holds. */
  readonly told: Promise<unknown>

  constructor() {
    const { port1, port2 } = new MessageChannel()
    const program = new URL('../../test/peers/query-thread.js', import.meta.url)
    this.worker = new Worker(program, {
      workerData: { port: port2, rows },
      transferList: [port2],
      execArgv: [],
    })
    const descriptor = this.main.descriptor.bind(this.main)
    this.queries = new PortQueries(port1, { descriptor, clock: systemClock })
    this.told = once(port1, 'message')
    this.main.workers.push(this.queries)
  }

  async close(): Promise<void> {
    this.queries.close()
    await this.worker.terminate()
  }
}

const open: ThreadProcess[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((process) => process.close()))
})

async function all<T>(rowsOf: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rowsOf) found.push(row)
  return found
}

async function begin(): Promise<ThreadProcess> {
  const process = new ThreadProcess()
  open.push(process)
  await process.told
  return process
}

test('stores of a thread are read from main', { timeout: 60_000 }, async () => {
  const { main } = await begin()
  const numbers = localStore(main, counts, 'here')
  expect(await numbers.get(keyOf(7))).toBe(7)
  expect(await numbers.get('nobody')).toBe(undefined)
  const keys = Array.from({ length: rows }, (_, n) => keyOf(n))
  expect([...(await numbers.getMany(keys)).values()]).toEqual(keys.map((_, n) => n))
  const pairs = await all(localStore(main, details, 'here').range())
  expect(pairs).toEqual(keys.map((key, n) => [key, { n }]))
  const windows = await all(localStore(main, clicks, 'here').fetchRange(keyOf(0), 0, Infinity))
  expect(windows).toEqual(keys.map((_, n) => [n, { n }]))
})

test('a thread that is ended leaves no question open', { timeout: 60_000 }, async () => {
  const { main, worker, queries } = await begin()
  const scan = localStore(main, clicks, 'here').fetchRange(keyOf(0), 0, Infinity)
  const read = async (): Promise<number> => {
    let count = 0
    for await (const row of scan) {
      if (row[0] === 0) await worker.terminate()
      count += 1
    }
    return count
  }
  const failure: unknown = await read().catch((error: unknown) => error)
  expect(isStreamsError(failure, 'STREAMS_REBALANCING')).toBe(true)
  expect(queries.isClosed).toBe(true)
  await expect(localStore(main, counts, 'here').get(keyOf(1))).rejects.toMatchObject({
    code: 'STORE_MIGRATED',
    retriable: true,
  })
})
