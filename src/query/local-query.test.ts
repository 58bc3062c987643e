import { expect, test } from 'vitest'
import { QueryInstance } from '../../test/peers/query-instance.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { localStore } from './executor-store.ts'

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

// Of three partitions, murmur2 gives `f`, `g`, `to` to 0; `a`, `c`, `kafka` to 1; `b`, `be` to 2.
const words = ['kafka', 'a', 'to', 'be', 'f', 'c', 'b', 'g']

function instance(held: readonly number[] = [0, 1, 2]): QueryInstance {
  const target = new QueryInstance(counts, 3, held)
  for (const [index, word] of words.entries()) target.put(word, index, 1000 + index)
  return target
}

const storeOf = (target: QueryInstance): ReturnType<typeof localStore<typeof counts>> =>
  localStore(target, counts, 'here:1')

const rowsOf = async (rows: AsyncIterable<[string, number]>): Promise<string> => {
  let text = ''
  for await (const [key, value] of rows) text += `${key}=${value} `
  return text.trimEnd()
}

test('a value is read from the partition of its key', async () => {
  const store = storeOf(instance())
  expect(await store.get('kafka')).toBe(0)
  expect(await store.get('be')).toBe(3)
  expect(await store.get('nobody')).toBeUndefined()
})

test('several values come with their keys, without those that are absent', async () => {
  const values = await storeOf(instance()).getMany(['to', 'nobody', 'be'])
  expect([...values]).toEqual([
    ['to', 2],
    ['be', 3],
  ])
})

test('rows come in the order of their keys over all partitions', async () => {
  const target = instance()
  const store = storeOf(target)
  expect(await rowsOf(store.range())).toBe('a=1 b=6 be=3 c=5 f=4 g=7 kafka=0 to=2')
  expect(await rowsOf(store.range({ from: 'b', to: 'f' }))).toBe('b=6 be=3 c=5 f=4')
  expect(await rowsOf(store.range({ reverse: true, limit: 3 }))).toBe('to=2 kafka=0 g=7')
  expect(await rowsOf(store.prefix(Buffer.from('b')))).toBe('b=6 be=3')
  expect(await store.approximateEntryCount()).toBe(8)
  expect(target.openScans).toBe(0)
})

test('a range over more rows than a page has goes on behind the last one', async () => {
  const target = new QueryInstance(counts, 3, [0, 1, 2])
  for (let index = 0; index < 2500; index += 1) target.put(`key-${10_000 + index}`, index)
  const keys: string[] = []
  for await (const [key] of storeOf(target).range()) keys.push(key)
  expect(keys).toHaveLength(2500)
  expect(new Set(keys).size).toBe(2500)
  expect(keys[0]).toBe('key-10000')
  expect(keys.at(-1)).toBe('key-12499')
})

test('an object belongs to whoever asked', async () => {
  const stats = keyValueStore('stats', { key: serdes.string, value: serdes.json<{ n: number }>() })
  const target = new QueryInstance(stats, 3, [0, 1, 2])
  const live = { n: 1 }
  target.put('kafka', live)
  const value = await localStore(target, stats, 'here:1').get('kafka')
  live.n = 2
  expect(value).toEqual({ n: 1 })
})

test('only the partitions that are here are read', async () => {
  const store = storeOf(instance([1]))
  expect(await rowsOf(store.range())).toBe('a=1 c=5 kafka=0')
})

test('each reason for which there is no answer has its own code', async () => {
  const code = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => 'answered',
      (error: { code: unknown }) => error.code,
    )
  const target = instance([1])
  const store = storeOf(target)

  target.availability = 'not-started'
  expect(await code(store.get('kafka'))).toBe('STREAMS_NOT_STARTED')
  target.availability = 'stopped'
  expect(await code(store.get('kafka'))).toBe('STREAMS_STOPPED')
  target.availability = 'rebalancing'
  target.partitions = undefined
  expect(await code(store.get('kafka'))).toBe('STREAMS_REBALANCING')
  target.partitions = 3
  target.hostsKnown = false
  expect(await code(store.get('to'))).toBe('STREAMS_REBALANCING')
  target.hostsKnown = true
  expect(await code(store.get('to'))).toBe('STORE_MIGRATED')
  expect(await code(store.get('kafka'))).toBe('answered')
  target.restoring.add(1)
  expect(await code(store.get('kafka'))).toBe('STORE_NOT_AVAILABLE')
  expect(await code(store.approximateEntryCount())).toBe('STORE_NOT_AVAILABLE')
  target.drop(1)
  expect(await code(store.approximateEntryCount())).toBe('STORE_MIGRATED')
  const unknown = keyValueStore('others', { key: serdes.string, value: serdes.long })
  expect(await code(localStore(target, unknown, 'here:1').get('a'))).toBe('STORE_UNKNOWN')
})

test('a key that the serde refuses is named as the fault', async () => {
  const byNumber = keyValueStore('by-number', { key: serdes.int, value: serdes.long })
  const store = localStore(new QueryInstance(byNumber, 1, [0]), byNumber, 'here:1')
  await expect(store.get(1.5)).rejects.toMatchObject({
    code: 'KEY_INVALID',
    context: { store: 'by-number' },
  })
})

test('nobody waits for an answer that was aborted', async () => {
  const signal = AbortSignal.abort()
  await expect(storeOf(instance()).get('kafka', { signal })).rejects.toMatchObject({
    code: 'ABORTED',
  })
})

test('a copy answers only who allows it, and no further behind than that', async () => {
  const target = instance()
  target.standbys.set(1, 12)
  const store = storeOf(target)
  const code = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      (value) => value,
      (error: { code: unknown }) => error.code,
    )
  expect(await code(store.get('kafka'))).toBe('STORE_MIGRATED')
  expect(await code(store.get('kafka', { consistency: 'active' }))).toBe('STORE_MIGRATED')
  expect(await code(store.get('kafka', { consistency: 'any' }))).toBe(0)
  expect(await code(store.get('kafka', { maxLag: 12 }))).toBe(0)
  expect(await code(store.get('kafka', { maxLag: 11 }))).toBe('STALE')
  expect(await code(store.get('be', { maxLag: 0 }))).toBe(3)
  expect(await rowsOf(store.range())).toBe('b=6 be=3 f=4 g=7 to=2')
  expect(await rowsOf(store.range({ consistency: 'any' }))).toContain('kafka=0')
  expect(await code(store.approximateEntryCount({ maxLag: 3 }))).toBe('STALE')

  target.standbys.set(1, undefined)
  expect(await code(store.get('kafka', { consistency: 'any' }))).toBe('STORE_NOT_AVAILABLE')
})

test('a store that is being restored answers those who allow it', async () => {
  const target = instance()
  target.restoring.add(1)
  const store = storeOf(target)
  await expect(store.get('kafka')).rejects.toMatchObject({ code: 'STORE_NOT_AVAILABLE' })
  expect(await store.get('kafka', { consistency: 'any' })).toBe(0)
  await expect(store.get('kafka', { maxLag: 6 })).rejects.toMatchObject({
    code: 'STALE',
    context: { store: 'counts', partition: 1, lag: 7, maxLag: 6 },
  })
})

test.each([
  [{ consistency: 'some' }, "consistency is 'active' or 'any', not \"some\""],
  [{ maxLag: -1 }, 'maxLag is a whole number of records, not -1'],
  [{ maxLag: 1.5 }, 'maxLag is a whole number of records, not 1.5'],
  [{ consistency: 'active', maxLag: 1 }, "maxLag is for consistency 'any'"],
])('what cannot be asked for is refused: %o', async (options, detail) => {
  const asked = storeOf(instance()).get('kafka', options as { maxLag: number })
  await expect(asked).rejects.toThrow(detail)
  await expect(asked).rejects.toMatchObject({ code: 'QUERY_INVALID' })
})

test.each([null, 'any', 5, []])('options that are no object are refused (%j)', async (given) => {
  const store = storeOf(instance())
  const options = given as unknown as Parameters<typeof store.get>[1]
  const refused = {
    code: 'QUERY_INVALID',
    message: expect.stringContaining('the options of a question must be an object') as string,
  }
  await expect(store.get('kafka', options)).rejects.toMatchObject(refused)
  await expect(store.getMany(['kafka'], options)).rejects.toMatchObject(refused)
  await expect(store.approximateEntryCount(options)).rejects.toMatchObject(refused)
  const ranged = async (): Promise<string> => rowsOf(store.range(options))
  await expect(ranged()).rejects.toMatchObject(refused)
  const prefixed = async (): Promise<string> => rowsOf(store.prefix(Buffer.from('b'), options))
  await expect(prefixed()).rejects.toMatchObject(refused)
})
