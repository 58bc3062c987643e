/** The stores of processors as a test sees them. */
import { expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { isStreamsError } from '../errors.ts'
import { timestamped } from '../processor/local-store.ts'
import type { StreamRecord } from '../processor/stream-record.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, sessionStore, versionedStore, windowStore } from '../store/descriptor.ts'
import type { Topology } from '../topology/topology.ts'
import { TopologyTestDriver } from './topology-test-driver.ts'

const { string } = serdes
const both = { key: string, value: string }
const input = topic('in', both)
const latest = keyValueStore('latest', both)
const dated = keyValueStore('dated', both)
const windows = windowStore('windows', { ...both, windowSize: 10, retention: 100 })
const sessions = sessionStore('sessions', { ...both, retention: 100 })
const versions = versionedStore('versions', { ...both, historyRetention: 100 })
const stores = { latest, dated: timestamped(dated), windows, sessions, versions }

/** Puts each record into a store of each kind. */
function keeping(): Topology {
  const builder = new StreamsBuilder()
  builder.stream(input).process(
    (context) =>
      ({ key, value, timestamp }: StreamRecord<string, string>) => {
        context.stores.latest.put(key, value)
        context.stores.dated.put(key, value, timestamp)
        context.stores.windows.put(key, value, timestamp - (timestamp % 10))
        context.stores.sessions.put({ key, window: { start: timestamp, end: timestamp } }, value)
        context.stores.versions.put(key, value, timestamp)
      },
    { stores },
  )
  return builder.build()
}

test('a test reads every kind of store', () => {
  using driver = new TopologyTestDriver(keeping())
  driver.input(input).pipeKeyValues(
    [
      ['a', '1'],
      ['a', '2'],
    ],
    { start: 15, advance: 10 },
  )

  expect(driver.store(latest).get('a')).toBe('2')
  expect(driver.store(dated).get('a')).toBe('2')
  expect(driver.timestampedStore(dated).get('a')).toEqual({ value: '2', timestamp: 25 })
  expect(driver.windowStore(windows).fetch('a', 10)).toBe('1')
  expect(driver.windowStore(windows).fetch('a', 20)).toBe('2')
  expect([...driver.sessionStore(sessions).findSessions('a', 0, 100)]).toEqual([
    [{ key: 'a', window: { start: 15, end: 15 } }, '1'],
    [{ key: 'a', window: { start: 25, end: 25 } }, '2'],
  ])
  expect(driver.versionedStore(versions).get('a', 20)).toMatchObject({ value: '1', timestamp: 15 })
  expect(driver.versionedStore(versions).get('a')).toMatchObject({ value: '2', timestamp: 25 })
})

test('a store is asked for as what it is', () => {
  using driver = new TopologyTestDriver(keeping())
  const asWindows = windowStore('latest', { ...both, windowSize: 10, retention: 100 })
  const failure = (work: () => unknown): string => {
    try {
      work()
      return 'nothing was thrown'
    } catch (error) {
      return isStreamsError(error) ? error.code : String(error)
    }
  }

  expect(failure(() => driver.windowStore(asWindows))).toBe('STORE_UNKNOWN')
  expect(failure(() => driver.timestampedStore(latest))).toBe('STORE_UNKNOWN')
  expect(failure(() => driver.timestampedWindowStore(windows))).toBe('STORE_UNKNOWN')
})

test('no store is read or written once the driver is closed', () => {
  const driver = new TopologyTestDriver(keeping())
  driver.input(input).pipe({ key: 'a', value: '1', timestamp: 15 })
  const held = [
    driver.store(latest),
    driver.store(dated),
    driver.timestampedStore(dated),
    driver.windowStore(windows),
    driver.sessionStore(sessions),
    driver.versionedStore(versions),
  ] as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>[]
  driver.close()

  const closed = 'The test driver is closed.'
  let tried = 0
  for (const store of held) {
    for (const method of [
      'get',
      'put',
      'range',
      'fetch',
      'fetchRange',
      'findSessions',
      'versions',
    ]) {
      if (typeof store[method] !== 'function') continue
      expect(() => store[method]?.('a', 0, 100)).toThrow(closed)
      tried += 1
    }
  }
  expect(tried).toBeGreaterThan(12)
  expect(() => driver.store(latest)).toThrow(closed)
})
