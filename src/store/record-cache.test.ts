import { describe, expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { ChangeloggedTable } from './changelogged-table.ts'
import { DirectTable } from './direct-table.ts'
import { RecordCache, type RecordCacheOptions } from './record-cache.ts'
import { noHeaders, type RecordContext, type RecordHeaders } from './state-store.ts'
import { StoreSerdes } from './store-serdes.ts'
import { plainFormat, timestampedFormat } from './stored-value.ts'

interface Options<K, V> {
  readonly key: Serde<K>
  readonly value: Serde<V>
  readonly budget?: { bytesMax: number; bytes: number }
  readonly isTimestamped?: boolean
  readonly sendOldValues?: boolean
  readonly listener?: (key: K, value: V | undefined, old: V | undefined, timestamp: number) => void
  readonly windowed?: RecordCacheOptions<K, V>['windowed']
  readonly unwritable?: RecordCacheOptions<K, V>['unwritable']
}

const nobody = (): RecordContext => ({
  timestamp: -1,
  offset: -1,
  topic: '',
  partition: -1,
  headers: noHeaders,
})

function setup<K, V>(options: Options<K, V>) {
  const { key, value, isTimestamped = true, sendOldValues = false } = options
  const record = nobody()
  const log: string[] = []
  const engine = new MemoryEngine()
  const bytes = new DirectTable(engine, 's', isTimestamped ? timestampedFormat : plainFormat)
  const below = new ChangeloggedTable<K, V>({
    bytes,
    serdes: new StoreSerdes('s', { key, value }),
    isTimestamped,
    record,
    changelog: {
      write: (_store, keyBytes, valueBytes, timestamp) => {
        const shown = valueBytes === null ? 'null' : String(value.deserialize(valueBytes))
        log.push(`${String(key.deserialize(keyBytes))}=${shown}@${timestamp}`)
      },
    },
  })
  const budget = options.budget ?? { bytesMax: 1_000_000, bytes: 0 }
  const { windowed, unwritable } = options
  const cache = new RecordCache<K, V>({ below, budget, record, windowed, unwritable })
  if (options.listener) cache.setFlushListener(options.listener, { sendOldValues })
  const put = (at: number, key: K, value: V | undefined, headers: RecordHeaders = noHeaders) => {
    Object.assign(record, { timestamp: at, offset: at * 10, topic: 'in', partition: 3, headers })
    cache.put(key, value, isTimestamped ? at : -1)
  }
  return { cache, below, budget, record, log, put }
}

const words = { key: serdes.string, value: serdes.int }

test('dirty entries leave in the order of their last updates, the last value alone', () => {
  const { cache, log, put } = setup(words)
  put(1, 'a', 1)
  put(2, 'b', 1)
  put(3, 'c', 1)
  put(4, 'a', 2)
  cache.flush()
  // Kafka Streams' NamedCache, put a b c a: [b, c, a].
  expect(log).toEqual(['b=1@2', 'c=1@3', 'a=2@4'])
  cache.flush()
  expect(log).toHaveLength(3)
})

test('a dirty entry that has to make room takes all others with it, and leaves first', () => {
  const order: string[] = []
  // Room for five entries with keys of one letter.
  const { put } = setup({
    ...words,
    budget: { bytesMax: 5 * 340, bytes: 0 },
    listener: (key) => order.push(key),
  })
  for (const [at, key] of ['a', 'b', 'c', 'a', 'd', 'e'].entries()) put(at, key, at)
  expect(order).toEqual([])
  put(7, 'f', 7)
  // Kafka Streams' NamedCache, put a b c a d e f with room for five: [b, c, a, d, e, f].
  expect(order.join('')).toBe('bcadef')
  put(8, 'g', 8)
  // What has to make room next is clean.
  expect(order.join('')).toBe('bcadef')
})

test('reading is use, and what was read stays longer', () => {
  const { cache, put, below } = setup({ ...words, budget: { bytesMax: 3 * 340, bytes: 0 } })
  for (const key of 'abc') put(1, key, 1)
  cache.flush()
  cache.get('a')
  const read: string[] = []
  const readBelow = below.bytes.get.bind(below.bytes)
  below.bytes.get = (keyBytes, text) => {
    read.push(text)
    return readBelow(keyBytes, text)
  }
  put(2, 'd', 1)
  cache.get('a')
  expect(read).toEqual([])
  cache.get('b')
  expect(read).toEqual(['b'])
})

test('while an entry leaves, the record is the one of its last update', () => {
  const seen: RecordContext[] = []
  const { cache, put, record } = setup({ ...words, listener: () => seen.push({ ...record }) })
  const headers: RecordHeaders = [['h', Buffer.from('1')]]
  put(1, 'a', 1)
  put(2, 'b', 1)
  put(3, 'a', 2, headers)
  Object.assign(record, { timestamp: 99, offset: 98, topic: 'other', partition: 97 })
  const present = { ...record }
  cache.flush()
  expect(seen).toEqual([
    { timestamp: 2, offset: 20, topic: 'in', partition: 3, headers: noHeaders },
    { timestamp: 3, offset: 30, topic: 'in', partition: 3, headers },
  ])
  expect(record).toEqual(present)
})

test('the record is restored when a listener throws', () => {
  const { cache, put, record } = setup({
    ...words,
    listener: () => {
      throw new Error('no')
    },
  })
  put(1, 'a', 1)
  record.timestamp = 99
  expect(() => cache.flush()).toThrow('no')
  expect(record.timestamp).toBe(99)
})

test('a listener hears the timestamp of the value; for a delete, that of the record', () => {
  const heard: (number | undefined)[][] = []
  const { cache, record } = setup({
    ...words,
    listener: (_key, value, _old, timestamp) => heard.push([value, timestamp]),
  })
  record.timestamp = 5
  cache.put('a', 1, 100)
  cache.flush()
  record.timestamp = 6
  cache.put('a', undefined, 200)
  cache.flush()
  expect(heard).toEqual([
    [1, 100],
    [undefined, 6],
  ])
})

test('in a store without timestamps it hears the timestamp of the record', () => {
  const heard: number[] = []
  const { cache, log, put } = setup({
    ...words,
    isTimestamped: false,
    listener: (_key, _value, _old, timestamp) => heard.push(timestamp),
  })
  put(7, 'a', 1)
  cache.flush()
  expect(heard).toEqual([7])
  expect(log).toEqual(['a=1@7'])
})

test('the old value is what lies below, and is given only when asked for', () => {
  for (const sendOldValues of [true, false]) {
    const heard: (number | undefined)[] = []
    const { cache, put } = setup({
      ...words,
      sendOldValues,
      listener: (_key, _value, old) => heard.push(old),
    })
    put(1, 'a', 1)
    cache.flush()
    put(2, 'a', 2)
    put(3, 'a', 3)
    cache.flush()
    put(4, 'a', undefined)
    cache.flush()
    expect(heard).toEqual(sendOldValues ? [undefined, 1, 3] : [undefined, undefined, undefined])
  }
})

test('what came and went within the cache is neither written nor forwarded', () => {
  const heard: string[] = []
  const { cache, log, put, budget } = setup({ ...words, listener: (key) => heard.push(key) })
  put(1, 'a', 1)
  put(2, 'a', undefined)
  put(3, 'b', undefined)
  cache.flush()
  expect(heard).toEqual([])
  expect(log).toEqual([])
  expect(budget.bytes).toBe(0)
  expect(cache.get('a')).toBeUndefined()
})

test('without a listener a delete is always written', () => {
  const { cache, log, put } = setup(words)
  put(1, 'a', 1)
  put(2, 'a', undefined)
  cache.flush()
  expect(log).toEqual(['a=null@2'])
})

test('what a listener writes into the cache is flushed too, after what was dirty before', () => {
  const heard: string[] = []
  const read: (number | undefined)[] = []
  const { cache, log, put } = setup({
    ...words,
    listener: (key, value) => {
      heard.push(`${key}=${value}`)
      if (key !== 'a') return
      read.push(cache.get('b')?.value)
      cache.put('b', 20, 9)
      cache.put('c', 3, 9)
      read.push(cache.get('b')?.value, cache.peek('b')?.value)
    },
  })
  put(1, 'a', 1)
  put(2, 'b', 2)
  cache.flush()
  expect(read).toEqual([2, 20, 20])
  expect(heard).toEqual(['a=1', 'b=2', 'b=20', 'c=3'])
  expect(log).toEqual(['a=1@1', 'b=2@2', 'b=20@9', 'c=3@9'])
  expect(cache.get('b')?.value).toBe(20)
})

test('a key that is on its way down and is deleted by a listener ends deleted', () => {
  const { cache, log, put } = setup({
    ...words,
    listener: (key, value) => {
      if (key === 'a' && value === 1) cache.put('b', undefined, 9)
    },
  })
  put(1, 'a', 1)
  put(2, 'b', 2)
  cache.flush()
  expect(log).toEqual(['a=1@1', 'b=2@2', 'b=null@1'])
  expect(cache.get('b')).toBeUndefined()
})

test('a deleted key on its way down that a listener brings back ends there', () => {
  const { cache, put } = setup({
    ...words,
    listener: (key) => {
      if (key === 'a') cache.put('b', 3, 9)
    },
  })
  put(1, 'b', 2)
  cache.flush()
  put(2, 'a', 1)
  put(3, 'b', undefined)
  cache.flush()
  expect(cache.get('b')?.value).toBe(3)
  expect([...collect(cache)]).toEqual(['a=1', 'b=3'])
})

function* collect(cache: RecordCache<string, number>): Iterable<string> {
  using rows = cache.scan({})
  for (let row = rows.next(); row !== undefined; row = rows.next()) yield `${row.key}=${row.value}`
}

test('a scan in a listener sees what is on its way down', () => {
  const scans: string[][] = []
  const { cache, put } = setup({ ...words, listener: () => scans.push([...collect(cache)]) })
  put(1, 'c', 1)
  put(2, 'b', 2)
  put(3, 'a', 3)
  cache.flush()
  expect(scans).toEqual([
    ['a=3', 'b=2', 'c=1'],
    ['a=3', 'b=2', 'c=1'],
    ['a=3', 'b=2', 'c=1'],
  ])
})

test('an eviction in a listener does not lose what is on its way down', () => {
  const seen: (number | undefined)[] = []
  const { cache, put } = setup({
    ...words,
    budget: { bytesMax: 4 * 340, bytes: 0 },
    listener: (key, value) => {
      if (!key.startsWith('in')) return
      for (let at = 0; at < 6; at += 1) cache.put(`${key}-out-${at}`.slice(2), value, 50)
      seen.push(cache.get('in3')?.value)
    },
  })
  for (const [at, key] of ['in1', 'in2', 'in3'].entries()) put(at, key, at)
  cache.flush()
  expect(seen).toEqual([2, 2, 2])
  expect([...collect(cache)]).toHaveLength(3 + 18)
})

test('a store that never comes to rest says so', () => {
  const { cache, put } = setup({
    ...words,
    listener: (key, value) => cache.put(key, (value ?? 0) + 1, 1),
  })
  put(1, 'a', 1)
  let code: string | undefined
  try {
    cache.flush()
  } catch (error) {
    code = error instanceof StreamsError ? error.code : undefined
  }
  expect(code).toBe('STORE_FLUSH_ENDLESS')
})

test('the budget is one for several caches; a put makes room in its own', () => {
  const budget = { bytesMax: 3 * 340, bytes: 0 }
  const first = setup({ ...words, budget })
  const second = setup({ ...words, budget })
  first.put(1, 'a', 1)
  first.put(2, 'b', 1)
  second.put(3, 'a', 1)
  second.put(4, 'b', 1)
  expect(first.log).toEqual([])
  expect(second.log).toEqual(['a=1@3', 'b=1@4'])
  expect(budget.bytes).toBe(first.cache.cachedBytes() + second.cache.cachedBytes())
  first.cache.close()
  second.cache.close()
  expect(budget.bytes).toBe(0)
})

test('an entry larger than the budget is written at once', () => {
  const { cache, log, put, budget } = setup({
    key: serdes.string,
    value: serdes.string,
    budget: { bytesMax: 1000, bytes: 0 },
  })
  put(1, 'a', 'x'.repeat(2000))
  expect(log).toHaveLength(1)
  expect(budget.bytes).toBe(0)
  expect(cache.get('a')?.value).toHaveLength(2000)
})

test('values whose size nobody tells are measured now and then', () => {
  const { put, budget } = setup({
    key: serdes.string,
    value: serdes.json<string>(),
    budget: { bytesMax: 100_000_000, bytes: 0 },
  })
  for (let at = 0; at < 100; at += 1) put(at, `key-${at}`, 'x'.repeat(10_000))
  expect(budget.bytes).toBeGreaterThan(100 * 10_000)
})

test('keys without identity are found by their bytes', () => {
  const { cache, put } = setup({ key: serdes.json<{ id: number }>(), value: serdes.int })
  const key = { id: 1 }
  put(1, key, 1)
  expect(cache.get({ id: 1 })?.value).toBe(1)
  put(2, { id: 1 }, 2)
  expect(cache.get(key)?.value).toBe(2)
  // The same object, another key.
  key.id = 2
  expect(cache.get(key)).toBeUndefined()
  put(3, key, 3)
  expect(cache.get({ id: 1 })?.value).toBe(2)
  expect(cache.get({ id: 2 })?.value).toBe(3)
})

test('zero and negative zero are two keys, as their bytes are', () => {
  const { cache, put } = setup({ key: serdes.double, value: serdes.int })
  put(1, 0, 1)
  put(2, -0, 2)
  expect(cache.get(0)?.value).toBe(1)
  expect(cache.get(-0)?.value).toBe(2)
  cache.flush()
  expect(cache.get(0)?.value).toBe(1)
})

test('a cache of windows asks below for what came there otherwise, or left the cache', () => {
  let restored = -1
  const { cache, below, put } = setup({
    key: serdes.int,
    value: serdes.int,
    // Room for five entries.
    budget: { bytesMax: 5 * 340, bytes: 0 },
    windowed: { timeOf: (key) => key, newestBelow: () => restored },
  })
  below.put(7, 70, 1)
  expect(cache.get(7)).toBe(undefined)
  expect(cache.hasAllFrom(0)).toBe(true)
  restored = 7
  expect(cache.get(7)?.value).toBe(70)
  for (let key = 10; key < 20; key += 1) put(1, key, key)
  expect(cache.hasAllFrom(10)).toBe(false)
  expect(cache.hasAllFrom(15)).toBe(true)
  for (let key = 10; key < 20; key += 1) expect(cache.get(key)?.value).toBe(key)
})

test('a cache of windows shows what is below when it cannot write an update', () => {
  const { cache, put } = setup<number, number>({
    key: serdes.int,
    value: serdes.int,
    windowed: { timeOf: (key) => key, newestBelow: () => -1 },
    unwritable: () => undefined,
  })
  put(1, 7, 70)
  cache.flush()
  put(2, 7, 7.5)
  cache.flush()
  expect(cache.get(7)?.value).toBe(70)
})

describe('a window that comes and goes within the cache', () => {
  const windowed = { timeOf: (key: number) => key, newestBelow: () => 5 }
  const given = { key: serdes.int, value: serdes.int, windowed }

  test('leaves no trace, unless there may be one below', () => {
    const heard: unknown[] = []
    const { cache, log, put } = setup({ ...given, listener: (...told) => heard.push(told) })
    put(1, 6, 60)
    put(2, 6, undefined)
    expect(cache.get(6)).toBe(undefined)
    expect(cache.cachedBytes()).toBe(0)
    cache.flush()
    expect([log, heard]).toEqual([[], []])
    put(6, 6, 61)
    cache.flush()
    put(7, 6, undefined)
    cache.flush()
    expect(log).toEqual(['6=61@6', '6=null@7'])
  })

  test('is not shown by a scan after another one', () => {
    const { cache, put } = setup({ ...given, listener: () => undefined })
    const rows = (): unknown[] => {
      using scan = cache.scan({})
      const shown: unknown[] = []
      for (let row = scan.next(); row !== undefined; row = scan.next()) shown.push(row.value)
      return shown
    }
    put(1, 6, 60)
    put(1, 7, 70)
    expect(rows()).toEqual([60, 70])
    put(2, 6, undefined)
    expect(rows()).toEqual([70])
  })

  test('is written and deleted when it goes on its way down', () => {
    const { cache, log, put } = setup({
      ...given,
      listener: (key) => {
        if (key === 6) put(3, 7, undefined)
      },
    })
    put(1, 6, 60)
    put(2, 7, 70)
    cache.flush()
    expect(cache.get(7)).toBe(undefined)
    expect(log).toEqual(['6=60@1', '7=70@2', '7=null@3'])
  })
})

describe('an update that the serdes refuse', () => {
  const picky: Serde<number> = {
    ...serdes.int,
    serialize(value) {
      if (value === 13) throw new RangeError('it brings bad luck')
      return serdes.int.serialize(value)
    },
  }

  test('fails the flush when nobody decides', () => {
    const { cache, put } = setup({ key: serdes.string, value: picky })
    put(1, 'a', 13)
    expect(() => cache.flush()).toThrow('it brings bad luck')
  })

  test('is forgotten when it is decided so, and what was there before shows again', () => {
    const refused: unknown[] = []
    const heard: string[] = []
    const { cache, put, log, record } = setup({
      key: serdes.string,
      value: picky,
      listener: (key, value) => heard.push(`${key}=${value}`),
      unwritable: (row, error) => refused.push([row, (error as Error).message, record.offset]),
    })
    put(1, 'a', 1)
    cache.flush()
    put(2, 'a', 13)
    put(3, 'b', 13)
    put(4, 'c', 3)
    expect(cache.get('a')?.value).toBe(13)
    cache.flush()
    expect(refused).toEqual([
      [{ key: 'a', value: 13 }, expect.stringContaining('it brings bad luck'), 20],
      [{ key: 'b', value: 13 }, expect.stringContaining('it brings bad luck'), 30],
    ])
    expect(heard).toEqual(['a=1', 'c=3'])
    expect(log).toEqual(['a=1@1', 'c=3@4'])
    expect([cache.get('a')?.value, cache.get('b')?.value]).toEqual([1, undefined])
    put(5, 'b', 5)
    cache.flush()
    expect(log.at(-1)).toBe('b=5@5')
  })

  test('may be one that has to make room, and the record is the present one afterwards', () => {
    const refused: string[] = []
    const { cache, put, record } = setup({
      key: serdes.string,
      value: picky,
      budget: { bytesMax: 2 * 340, bytes: 0 },
      unwritable: ({ key }) => refused.push(key),
    })
    put(1, 'a', 13)
    put(2, 'b', 2)
    const source = { key: Buffer.from('k'), value: null }
    record.source = source
    put(3, 'c', 3)
    expect(refused).toEqual(['a'])
    expect(record).toMatchObject({ offset: 30, source })
    expect(cache.get('a')).toBe(undefined)
  })
})
