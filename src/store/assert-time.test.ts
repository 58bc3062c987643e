/** Times that code of the user gives to stores, over the layers that a task has. */
import { describe, expect, test } from 'vitest'
import { memoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { serdes } from '../serde/serdes.ts'
import { sessionStore, versionedStore, windowStore, type AnyStore } from './descriptor.ts'
import type { SessionStore } from './session-store.ts'
import { noHeaders } from './state-store.ts'
import { buildStore } from './store-builder.ts'
import type { VersionedStore } from './versioned-store.ts'
import type { TimestampedWindowStore, WindowStore } from './window-store.ts'

const strings = { key: serdes.string, value: serdes.string }
const last = Number.MAX_SAFE_INTEGER

interface World<S> {
  readonly store: S
  /** Keys of what was written to the changelog. */
  readonly logged: string[]
}

function worldOf<S>(descriptor: AnyStore, timestamped: boolean): World<S> {
  const logged: string[] = []
  const engine = memoryEngine('')
  const store = buildStore(
    { descriptor, timestamped },
    {
      taskId: '0_0',
      partition: 0,
      record: { timestamp: 0, offset: 0, topic: 'in', partition: 0, headers: noHeaders },
      engine: () => engine,
      changelog: { write: (_store, key) => logged.push(key.toString('latin1')) },
      cacheBytesMax: 1_000_000,
      metrics: new StreamsMetrics(),
    },
  )
  return { store: store as unknown as S, logged }
}

const refused = (message: string): unknown =>
  expect.objectContaining({
    code: 'STORE_TIME_INVALID',
    message: expect.stringContaining(message),
    context: expect.objectContaining({ store: 's' }),
  })

const wrongTimes: readonly [time: unknown, shown: string][] = [
  [Number.NaN, 'NaN'],
  [-1, '-1'],
  [0.5, '0.5'],
  ['5', '"5"'],
  [5n, '5n'],
  [2 ** 53, '9007199254740992'],
  [Infinity, 'Infinity'],
  [undefined, 'undefined'],
  [null, 'null'],
]

describe.each(wrongTimes)('the time %s', (wrong, shown) => {
  const time = wrong as number
  const isGiven = `milliseconds from 0 to 2^53 - 1, it is ${shown}`

  test('is no start of a window', () => {
    const windows = windowStore('s', { ...strings, retention: 100, windowSize: 10 })
    const { store, logged } = worldOf<WindowStore<string, string>>(windows, false)
    expect(() => store.put('k', 'v', time)).toThrow(refused(`the start of a window must be`))
    expect(() => store.put('k', undefined, time)).toThrow(refused(isGiven))
    expect([logged, [...store.range()]]).toEqual([[], []])
  })

  test('is no start in the store of a windowed aggregation', () => {
    const windows = windowStore('s', { ...strings, retention: 100, windowSize: 10, caching: false })
    const { store, logged } = worldOf<TimestampedWindowStore<string, string>>(windows, true)
    expect(() => store.put('k', 'v', 5, time)).toThrow(refused(`the start of a window must be`))
    expect([logged, [...store.range()]]).toEqual([[], []])
  })

  test('is no bound of a session', () => {
    const sessions = sessionStore('s', { ...strings, retention: 100 })
    const { store, logged } = worldOf<SessionStore<string, string>>(sessions, false)
    const from = { key: 'k', window: { start: time, end: 5 } }
    const to = { key: 'k', window: { start: 5, end: time } }
    expect(() => store.put(from, 'v')).toThrow(refused(`the start of a session must be`))
    expect(() => store.put(to, 'v')).toThrow(refused(`the end of a session must be`))
    expect(() => store.remove(from)).toThrow(refused(isGiven))
    expect(() => store.remove(to)).toThrow(refused(isGiven))
    expect([logged, [...store.range()]]).toEqual([[], []])
  })

  test('is no timestamp of a version, and does not touch how versions expire', () => {
    const versions = versionedStore('s', { ...strings, historyRetention: 100 })
    const { store, logged } = worldOf<VersionedStore<string, string>>(versions, true)
    expect(() => store.put('k', 'v', time)).toThrow(refused(`the timestamp of a version must be`))
    expect(() => store.delete('k', time)).toThrow(refused(isGiven))
    expect([logged, store.get('k')]).toEqual([[], undefined])
    store.put('k', 'new', 1000)
    expect(store.put('k', 'too late', 899)).toBe('not-put')
  })
})

// Not -1: what has no timestamp has it for one.
test.each(wrongTimes.filter(([time]) => time !== -1))('%s is no timestamp', (wrong, shown) => {
  const windows = windowStore('s', { ...strings, retention: 100, windowSize: 10, caching: false })
  const { store, logged } = worldOf<TimestampedWindowStore<string, string>>(windows, true)
  const message = `the timestamp of a value must be a whole number of milliseconds from 0 to 2^53 - 1, it is ${shown}`
  expect(() => store.put('k', 'v', wrong as number, 5)).toThrow(refused(message))
  expect([logged, [...store.range()]]).toEqual([[], []])
  store.put('k', 'v', -1, 5)
  expect(store.fetch('k', 5)).toEqual({ value: 'v', timestamp: -1 })
})

test('a session cannot end before it starts', () => {
  const sessions = sessionStore('s', { ...strings, retention: 100 })
  const { store } = worldOf<SessionStore<string, string>>(sessions, false)
  const session = { key: 'k', window: { start: 6, end: 5 } }
  expect(() => store.put(session, 'v')).toThrow(refused('cannot end at 5, before its start 6'))
  expect(() => store.remove(session)).toThrow(refused('cannot end at 5, before its start 6'))
})

test('the first and the last time are taken', () => {
  const retention = Infinity
  const windows = windowStore('s', { ...strings, retention, windowSize: 0 })
  const inWindows = worldOf<WindowStore<string, string>>(windows, false).store
  const sessions = sessionStore('s', { ...strings, retention })
  const inSessions = worldOf<SessionStore<string, string>>(sessions, false).store
  const versions = versionedStore('s', { ...strings, historyRetention: retention })
  const inVersions = worldOf<VersionedStore<string, string>>(versions, true).store
  for (const time of [0, last]) {
    inWindows.put('k', 'v', time)
    inSessions.put({ key: 'k', window: { start: time, end: time } }, 'v')
    inVersions.put('k', `v${time}`, time)
    expect(inWindows.fetch('k', time)).toBe('v')
    expect(inSessions.fetchSession('k', time, time)).toBe('v')
    expect(inVersions.get('k', time)).toEqual({ value: `v${time}`, timestamp: time })
  }
})
