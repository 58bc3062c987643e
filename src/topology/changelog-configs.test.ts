import { expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import {
  keyValueStore,
  sessionStore,
  versionedStore,
  windowStore,
  type AnyStore,
} from '../store/descriptor.ts'
import { changelogConfigs } from './changelog-configs.ts'

const both = { key: serdes.string, value: serdes.string }
const day = 86_400_000
const windows = { ...both, retention: 1_000, windowSize: 100 }

/** With a day more for windows, unless said otherwise. */
function configs(
  descriptor: AnyStore,
  topicConfigs: Record<string, string> = {},
  additionalRetention = day,
): Readonly<Record<string, string>> {
  return changelogConfigs({ descriptor, timestamped: false }, topicConfigs, additionalRetention)
}

// The expected values are what InternalTopicConfig of Kafka Streams 4.4.0 gives.
test('keys and values are compacted', () => {
  expect(configs(keyValueStore('s', both))).toEqual({ 'cleanup.policy': 'compact' })
})

test('windows and sessions are compacted, and deleted a day after the store forgot them', () => {
  const expected = { 'cleanup.policy': 'compact,delete', 'retention.ms': '86401000' }
  expect(configs(windowStore('s', windows))).toEqual(expected)
  expect(configs(sessionStore('s', { ...both, retention: 1_000 }))).toEqual(expected)
  expect(configs(windowStore('s', windows), {}, 5)['retention.ms']).toBe('1005')
})

test('unlimited windows are never deleted', () => {
  const store = windowStore('s', { ...windows, retention: Infinity })
  expect(configs(store)['retention.ms']).toBe('9223372036854775807')
})

test('duplicates are only deleted, whatever is said of all topics', () => {
  const store = windowStore('s', { ...windows, retainDuplicates: true })
  const expected = { 'cleanup.policy': 'delete', 'retention.ms': '86401000' }
  expect(configs(store)).toEqual(expected)
  expect(configs(store, { 'cleanup.policy': 'compact' })).toEqual(expected)
})

test('versions are not compacted before their history is over, and a day more', () => {
  expect(configs(versionedStore('s', { ...both, historyRetention: 2_000 }), {}, 5)).toEqual({
    'cleanup.policy': 'compact',
    'min.compaction.lag.ms': '86402000',
  })
})

test('configs of all topics win over the kind, but not over its times; those of the store win', () => {
  const general = { 'retention.ms': '7', 'cleanup.policy': 'delete', 'segment.ms': '9' }
  expect(configs(windowStore('s', windows), general)).toEqual({
    'cleanup.policy': 'delete',
    'retention.ms': '86401000',
    'segment.ms': '9',
  })
  const own = windowStore('s', { ...windows, changelog: { 'retention.ms': '8' } })
  expect(configs(own, general)).toEqual({
    'cleanup.policy': 'delete',
    'retention.ms': '8',
    'segment.ms': '9',
  })
})

test('a window store that does not state its retention is refused', () => {
  expect(() => configs(windowStore('s', both))).toThrow('the store s does not state its retention')
})
