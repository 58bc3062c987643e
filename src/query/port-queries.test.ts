import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { QueryChannel } from '../../test/peers/query-channel.ts'
import { StoreInstance } from '../../test/peers/store-instance.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { StreamsError } from '../errors.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, windowStore, type AnyStore } from '../store/descriptor.ts'
import type { TimestampedStore } from '../store/timestamped-key-value-store.ts'
import type { StampedWindowStore } from '../store/typed-window-stores.ts'
import { localStore } from './executor-store.ts'
import { PortQueries } from './port-queries.ts'
import { post } from './query-port.ts'
import { QueryResponder } from './query-responder.ts'
import type { QueryableStore } from './queryable-store.ts'

const number = { key: serdes.string, value: serdes.long }
const totals = keyValueStore('totals', number)
const clicks = windowStore('clicks', { ...number, retention: 1_000_000, windowSize: 1_000 })
const stores: readonly AnyStore[] = [totals, clicks]

const refusing: Serde<number> = {
  ...serdes.long,
  serialize: () => {
    throw new RangeError('no such number', { cause: new TypeError('of none') })
  },
}

/** A thread of a process with its end of a channel, and main's. */
class Thread {
  readonly clock = new ManualClock()
  readonly channel = new QueryChannel()
  readonly target: StoreInstance
  readonly responder: QueryResponder
  readonly queries: PortQueries

  constructor(held: readonly number[]) {
    this.target = new StoreInstance(stores, held)
    const descriptor = (name: string): AnyStore | undefined => this.target.descriptor(name)
    this.queries = new PortQueries(this.channel.main, { descriptor, clock: this.clock })
    this.responder = new QueryResponder(this.channel.thread, {
      target: this.target,
      clock: this.clock,
    })
  }

  put(key: string, value: number): void {
    ;(this.target.of(key, 'totals') as TimestampedStore<unknown, unknown>).put(key, value, 1)
  }

  /** Windows of `a`, as many as are wanted. */
  putWindows(count: number): void {
    const store = this.target.of('a', 'clicks') as StampedWindowStore<unknown, unknown>
    for (let start = 0; start < count; start += 1) store.put('a', start, 1, start)
  }

  /** Takes the tasks of another thread over. */
  takeOver({ target }: Thread): void {
    for (const [partition, task] of target.tasks) this.target.tasks.set(partition, task)
    target.tasks.clear()
  }

  /** Questions that the thread was asked, without ends. */
  get asked(): number {
    return this.channel.main.posted
      .flatMap((message) => message as { ask: string }[])
      .filter(({ ask }) => ask !== 'end').length
  }
}

/** A process without stores in its main thread. */
class Process {
  readonly main = new StoreInstance(stores, [])
  readonly threads: readonly Thread[]

  constructor(threads: readonly Thread[]) {
    this.threads = threads
    this.main.workers.push(...threads.map(({ queries }) => queries))
  }

  static async begun(...held: readonly (readonly number[])[]): Promise<Process> {
    const process = new Process(held.map((partitions) => new Thread(partitions)))
    await settled()
    return process
  }

  store<D extends AnyStore>(descriptor: D): QueryableStore<D> {
    return localStore(this.main, descriptor, 'here:1')
  }

  thread(index: number): Thread {
    return this.threads[index] as Thread
  }
}

const settled = (): Promise<void> => new ManualClock().settle()

const codeOf = async (asked: Promise<unknown>): Promise<unknown> => {
  try {
    return await asked
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

test('what is asked in one turn goes as one message, and is answered as one', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  const keys = Array.from({ length: 32 }, (_, n) => `key-${n}`)
  for (const [n, key] of keys.entries()) thread.put(key, n)
  const before = thread.channel.thread.posted.length
  expect((await process.store(totals).getMany(keys)).size).toBe(32)
  expect(thread.channel.main.posted).toHaveLength(1)
  expect(thread.channel.thread.posted).toHaveLength(before + 1)
})

test('a partition that has moved to another thread is asked for there', async () => {
  const process = await Process.begun([0, 1, 2], [])
  const [one, two] = process.threads as [Thread, Thread]
  one.put('a', 5)
  // The second one has told of it, the first one has not yet.
  two.takeOver(one)
  two.responder.tellHeld()
  await settled()
  expect(process.main.inThread('totals', 1)?.worker).toBe(one.queries)
  expect(await process.store(totals).get('a')).toBe(5)
  expect([one.asked, two.asked]).toEqual([1, 1])
  expect(await all(process.store(totals).range())).toEqual([['a', 5]])
  expect(one.asked).toBe(1)
})

test('a page is whole although partitions move while it is read', async () => {
  const process = await Process.begun([0, 1, 2], [])
  const [one, two] = process.threads as [Thread, Thread]
  for (const [n, key] of ['a', 'b', 'f'].entries()) one.put(key, n)
  two.takeOver(one)
  two.responder.tellHeld()
  await settled()
  expect(await all(process.store(totals).range())).toEqual([
    ['a', 0],
    ['b', 1],
    ['f', 2],
  ])
  expect(one.asked).toBe(1)
})

test('a partition that has left with nobody to ask for it has migrated', async () => {
  const process = await Process.begun([0, 1, 2])
  process.thread(0).target.tasks.delete(1)
  const asked = process.store(totals).get('a')
  await expect(asked).rejects.toMatchObject({
    code: 'STORE_MIGRATED',
    retriable: true,
    context: { store: 'totals', partition: 1 },
  })
})

test('an owner that has become a copy answers only those who allow it', async () => {
  const process = await Process.begun([0, 1, 2])
  const { target } = process.thread(0)
  process.thread(0).put('a', 5)
  target.stands.set(1, { role: 'standby', state: 'running', lag: 2 })
  expect(await codeOf(process.store(totals).get('a'))).toBe('STORE_MIGRATED')
  expect(process.main.inThread('totals', 1)?.role).toBe('standby')
  expect(await process.store(totals).get('a', { maxLag: 2 })).toBe(5)
})

test('a thread that ends leaves no question open', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.channel.isHeld = true
  const asked = [
    process.store(totals).get('a'),
    all(process.store(totals).range()),
    process.store(totals).approximateEntryCount(),
    process.store(clicks).fetch('a', 0),
    all(process.store(clicks).range()),
    thread.queries.status('totals', [0]),
    // More than a thread has at a time.
    ...Array.from({ length: 500 }, () => process.store(totals).get('b')),
  ].map(codeOf)
  await settled()
  thread.channel.kill()
  thread.channel.release()
  const codes = await Promise.all(asked)
  expect(new Set(codes)).toEqual(new Set(['STORE_MIGRATED', 'STREAMS_REBALANCING']))
  expect(thread.queries.isClosed).toBe(true)
  expect(thread.queries.held('totals', 1)).toBe(undefined)
  expect(thread.clock.timerCount).toBe(0)
  const late = thread.queries.get(1, { kind: 'get', store: 'totals', keyBytes: Buffer.from('a') })
  await expect(late).rejects.toMatchObject({ code: 'STREAMS_REBALANCING', retriable: true })
})

test('a question to a thread that ends is answered by the one that takes over', async () => {
  const process = await Process.begun([0, 1, 2], [])
  const [one, two] = process.threads as [Thread, Thread]
  one.put('a', 5)
  one.channel.isHeld = true
  const asked = process.store(totals).get('a')
  two.takeOver(one)
  two.responder.tellHeld()
  await settled()
  one.channel.kill()
  one.channel.release()
  expect(await asked).toBe(5)
})

test('a scan whose thread ends in the middle ends with an error that can be tried again', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.putWindows(600)
  const seen: number[] = []
  const scan = async (): Promise<void> => {
    for await (const [start] of process.store(clicks).fetchRange('a', 0, Infinity)) {
      if (seen.length === 0) thread.channel.kill()
      seen.push(start)
    }
  }
  await expect(scan()).rejects.toMatchObject({ code: 'STREAMS_REBALANCING', retriable: true })
  expect(seen).toEqual(Array.from({ length: seen.length }, (_, n) => n))
  expect(seen.length).toBeLessThan(600)
  expect(thread.responder.openScans).toBe(0)
  expect(thread.target.metrics.openIterators.value).toBe(0)
})

test('nobody waits for what was aborted, and the thread does not go on with it', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.channel.isHeld = true
  const given = new AbortController()
  const { signal } = given
  const asked = [
    process.store(totals).get('a', { signal }),
    process.store(clicks).fetch('a', 0, { signal }),
    all(process.store(clicks).range({ signal })),
    ...Array.from({ length: 500 }, () => process.store(totals).get('b', { signal })),
  ].map(codeOf)
  await settled()
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  given.abort()
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['ABORTED']))
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  const answer = process.store(totals).approximateEntryCount()
  const posted = thread.channel.thread.posted.length
  thread.channel.release()
  expect(await answer).toBe(0)
  const replies = thread.channel.thread.posted.slice(posted).flat() as { id?: number }[]
  const answered = replies.filter(({ id }) => id !== undefined)
  // What waited in main was never asked.
  expect(thread.asked).toBeLessThan(300)
  expect(answered.length).toBeLessThan(300)
  expect(thread.responder.openScans).toBe(0)
})

test('questions beyond what a thread has at a time wait, and those beyond that are refused', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.put('a', 5)
  thread.channel.isHeld = true
  const asked = Array.from({ length: 256 + 16_384 + 1 }, () =>
    codeOf(
      thread.queries
        .get(1, { kind: 'get', store: 'totals', keyBytes: Buffer.from('a') })
        .then(({ found }) => found?.value),
    ),
  )
  await settled()
  expect(thread.asked).toBe(256)
  thread.channel.release()
  const outcomes = await Promise.all(asked)
  expect(outcomes.at(-1)).toBe('STORE_NOT_AVAILABLE')
  expect(new Set(outcomes.slice(0, -1))).toEqual(new Set([5]))
})

test('a thread that stands still is not waited for without end', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.channel.isHeld = true
  const asked = codeOf(process.store(totals).get('a'))
  const scan = codeOf(all(process.store(clicks).fetchRange('a', 0, 5)))
  await settled()
  thread.clock.advance(10_000)
  const later = codeOf(process.store(totals).get('b'))
  await settled()
  thread.clock.advance(20_000)
  expect([await asked, await scan]).toEqual(['QUERY_TIMEOUT', 'QUERY_TIMEOUT'])
  thread.clock.advance(9_999)
  thread.channel.release()
  expect(await later).toBe(undefined)
  expect(thread.responder.openScans).toBe(0)
})

test('many questions are answered in several turns', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  const before = thread.channel.thread.posted.length
  const asked = Array.from({ length: 20 }, () => all(process.store(totals).range({ limit: 5 })))
  await Promise.all(asked)
  // A scan costs 64, a turn has 256.
  expect(thread.channel.thread.posted.length - before).toBe(5)
})

test('a scan that nobody goes on with is closed after ten minutes', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.putWindows(900)
  const scan = thread.queries.scan(
    1,
    { kind: 'windows-of-key', key: 'a', from: 0, to: Infinity, reverse: undefined },
    { store: 'clicks' },
  )
  for (let n = 0; n < 257; n += 1) await scan.next()
  thread.clock.advance(599_999)
  expect(thread.responder.openScans).toBe(1)
  for (let n = 0; n < 256; n += 1) await scan.next()
  thread.clock.advance(599_999)
  expect(thread.responder.openScans).toBe(1)
  thread.clock.advance(1)
  expect(thread.responder.openScans).toBe(0)
  expect(thread.target.metrics.openIterators.value).toBe(0)
  await expect(all(scan)).rejects.toMatchObject({
    code: 'STORE_NOT_AVAILABLE',
    message: expect.stringContaining('for 10 minutes') as string,
  })
  await settled()
  thread.clock.advance(30_000)
  expect(thread.clock.timerCount).toBe(0)
})

test('no more scans are open in a thread than it can bear', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.putWindows(300)
  const question = { kind: 'windows-of-key', key: 'a', from: 0, to: 999, reverse: false } as const
  const scans = Array.from({ length: 257 }, () =>
    thread.queries.scan(1, question, { store: 'clicks' }),
  )
  const codes = await Promise.all(scans.map((scan) => codeOf(scan.next())))
  expect(codes.filter((code) => code === 'STORE_NOT_AVAILABLE')).toHaveLength(1)
  await Promise.all(scans.map((scan) => scan.return()))
  await settled()
  expect(thread.responder.openScans).toBe(0)
})

test('a responder that closes ends its scans, and lets its questions fail', async () => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.putWindows(300)
  const scan = process.store(clicks).fetchRange('a', 0, Infinity)[Symbol.asyncIterator]()
  await scan.next()
  expect(thread.target.metrics.openIterators.value).toBe(1)
  thread.responder.close()
  thread.responder.close()
  expect(thread.target.metrics.openIterators.value).toBe(0)
  expect(thread.clock.timerCount).toBe(1)
  await settled()
  expect(thread.clock.timerCount).toBe(0)
  expect(await codeOf(process.store(totals).get('a'))).toBe('STORE_MIGRATED')
})

test('state, lag and position are told as they are now', async () => {
  const process = await Process.begun([0, 1])
  const { queries, target } = process.thread(0)
  target.stands.set(1, { role: 'active', state: 'restoring', lag: 4 })
  expect(await queries.status('totals', [0, 1, 2])).toEqual([
    { partition: 0, role: 'active', state: 'running', lag: 0, position: { lines: { 0: 100 } } },
    { partition: 1, role: 'active', state: 'restoring', lag: 4, position: { lines: { 1: 101 } } },
  ])
})

test('errors of a serde cross with what they say', async () => {
  const process = await Process.begun([0, 1, 2])
  const { target } = process.thread(0)
  target.descriptor = () => ({ ...totals, value: refusing })
  process.thread(0).put('a', 5)
  const failure: unknown = await process
    .store(totals)
    .get('a')
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({
    name: 'RangeError',
    message: 'no such number',
    cause: { name: 'TypeError', message: 'of none' },
  })
})

test('facts of an error that cannot be cloned are shown', async () => {
  const process = await Process.begun([0, 1, 2])
  const { target } = process.thread(0)
  target.local = () => {
    const context = { store: 'totals', detail: 'no', how: () => 1 }
    throw new StreamsError('STORE_NOT_AVAILABLE', context)
  }
  await expect(process.store(totals).get('a')).rejects.toMatchObject({
    code: 'STORE_NOT_AVAILABLE',
    context: { store: 'totals', detail: 'no', how: 'a function' },
  })
})

test('what cannot cross is refused, and what was asked with it is answered', async () => {
  const process = await Process.begun([0, 1, 2])
  process.thread(0).put('a', 5)
  const from = (() => 1) as never
  const refused = all(process.store(clicks).fetchRange('a', from, 1))
  const [answer, code] = await Promise.all([process.store(totals).get('a'), codeOf(refused)])
  expect(answer).toBe(5)
  expect(code).toBe('QUERY_INVALID')
})

test.each([
  ['nothing', undefined],
  ['a text', 'ask'],
  ['a question without a number', [{ ask: 'get' }]],
  ['no question', [null, 7, { id: 'x' }, { id: 1.5, ask: 'get' }]],
])('a thread passes over %s', async (_what, message) => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  thread.put('a', 5)
  post(thread.channel.main, message as never)
  expect(await process.store(totals).get('a')).toBe(5)
})

test.each([
  [{ ask: 'nothing' }],
  [{ ask: 'get' }],
  [{ ask: 'get', store: 'totals', partition: 1, key: 7 }],
  [{ ask: 'get', store: 'totals', partition: 9, key: 'a' }],
  [{ ask: 'page', store: 'totals', partitions: 5 }],
  [{ ask: 'point', store: 'totals', partition: 1, question: { kind: 'window', key: 'a' } }],
  [{ ask: 'point', store: 'clicks', partition: 1 }],
  [{ ask: 'scan', store: 'clicks', partition: 1, question: { kind: 'sessions', from: 'a' } }],
  [{ ask: 'next', store: 'clicks', scan: 77 }],
])('a thread answers a question that is none with an error: %o', async (question) => {
  const process = await Process.begun([0, 1, 2])
  const thread = process.thread(0)
  const before = thread.channel.thread.posted.length
  post(thread.channel.main, [{ id: 900, ...question }])
  await settled()
  const [reply] = thread.channel.thread.posted.slice(before).flat() as Record<string, unknown>[]
  expect(reply).toMatchObject({ id: 900, error: { message: expect.any(String) as string } })
  expect(thread.responder.openScans).toBe(0)
})

test.each([
  ['nothing', { answer: undefined }],
  ['a text', { answer: 'five' }],
  ['an answer to something else', { answer: { rows: [], more: false } }],
  ['an error that is none', { error: 'no' }],
  ['an error of an unknown code', { error: { code: 'X', context: {}, name: '', message: '' } }],
])('an answer that is none is a fault of the service: %s', async (_what, reply) => {
  const channel = new QueryChannel()
  const queries = new PortQueries(channel.main, {
    descriptor: () => totals,
    clock: new ManualClock(),
  })
  const keyBytes = Buffer.from('a')
  const asked = codeOf(queries.get(1, { kind: 'get', store: 'totals', keyBytes }))
  await settled()
  const [{ id }] = channel.main.posted.flat() as [{ id: number }]
  post(channel.thread, 'five' as never)
  post(channel.thread, [null, 7, { id: 99, answer: {} }, { held: null }])
  post(channel.thread, [{ id, ...reply }])
  expect(await asked).toBe('INTERNAL_ERROR')
  queries.close()
})
