import { expect, test } from 'vitest'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from './descriptor.ts'
import type { ReadView } from './read-view.ts'
import { noHeaders } from './state-store.ts'
import { buildStore } from './store-builder.ts'
import { TimestampedStore } from './timestamped-key-value-store.ts'

function setup(cacheBytesMax = 1_000_000): {
  store: TimestampedStore<unknown, unknown>
  view: ReadView<unknown, unknown>
  forwarded: unknown[]
} {
  const engine = new MemoryEngine()
  const descriptor = keyValueStore('ages', { key: serdes.string, value: serdes.int })
  const store = buildStore(
    { descriptor, timestamped: true },
    {
      taskId: '0_0',
      partition: 0,
      record: { timestamp: 0, offset: 0, topic: '', partition: 0, headers: noHeaders },
      engine: () => engine,
      changelog: { write: () => undefined },
      cacheBytesMax,
      metrics: new StreamsMetrics(),
    },
  )
  if (!(store instanceof TimestampedStore)) throw new Error('the store is timestamped')
  const forwarded: unknown[] = []
  store.setFlushListener((key) => forwarded.push(key), { sendOldValues: false })
  return { store, view: store.readView(), forwarded }
}

test('a view sees cached and flushed values alike, with their timestamps', () => {
  const { store, view } = setup()
  store.put('ann', 30, 5)
  store.flush()
  store.put('bob', 40, 6)
  expect(view.name).toBe('ages')
  expect(view.get('ann')).toBe(30)
  expect(view.getWithTimestamp('bob')).toEqual({ value: 40, timestamp: 6 })
  expect(view.getBytes(Buffer.from('bob'))).toEqual({ value: 40, timestamp: 6 })
  expect(view.get('eve')).toBeUndefined()
  expect(view.getWithTimestamp('eve')).toBeUndefined()
  expect([...view.range()]).toEqual([
    ['ann', 30],
    ['bob', 40],
  ])
  expect([...view.prefix(Buffer.from('b'))]).toEqual([['bob', 40]])
  expect([...view.rows({ from: 'b' })]).toEqual([
    { key: 'bob', keyBytes: Buffer.from('bob'), value: 40, timestamp: 6 },
  ])
  expect([...view.prefixRows(Buffer.from('a'), { reverse: true })]).toEqual([
    { key: 'ann', keyBytes: Buffer.from('ann'), value: 30, timestamp: 5 },
  ])
  const after = { from: Buffer.from('ann\0'), reverse: false }
  expect([...view.byteRows(after)].map(({ key }) => key)).toEqual(['bob'])
  expect(view.approximateEntryCount()).toBe(1)
})

test('what a view gave does not change with the store', () => {
  const { store, view } = setup()
  store.put('ann', 30, 5)
  const before = view.getWithTimestamp('ann')
  store.put('ann', 31, 6)
  expect(before).toEqual({ value: 30, timestamp: 5 })
})

test('reading through a view moves nothing in the cache', () => {
  // Room for two entries.
  const { store, view, forwarded } = setup(2 * 340)
  store.put('ann', 30, 5)
  store.put('bob', 40, 6)
  for (let read = 0; read < 10; read += 1) view.get('ann')
  store.put('eve', 50, 7)
  // The first to make room is the one that was written first, though it was read last.
  expect(forwarded[0]).toBe('ann')
  const count = forwarded.length
  for (const key of ['ann', 'bob', 'eve']) view.get(key)
  expect([...view.range()]).toHaveLength(3)
  expect(forwarded).toHaveLength(count)
})

test('a closed store is not available, also in the middle of a scan', () => {
  const { store, view } = setup()
  store.put('ann', 30, 5)
  store.put('bob', 40, 6)
  const scan = view.rows()
  scan.next()
  store.close()
  const unavailable = 'The store ages is not available yet: it is closed.'
  expect(() => scan.next()).toThrow(unavailable)
  expect(() => view.get('ann')).toThrow(unavailable)
  expect(() => view.range()).toThrow(unavailable)
  expect(() => view.approximateEntryCount()).toThrow(unavailable)
})

test('a key that is not of the serde is refused', () => {
  const { view } = setup()
  expect(() => view.get(7)).toThrow(
    'The serde string could not serialize a value: 7 is not a string.',
  )
})
