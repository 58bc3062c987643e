import { expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, type StoreOptions } from '../store/descriptor.ts'
import { topic } from '../dsl/topic.ts'
import type { Topology } from './topology.ts'
import { fingerprintDifference, topologyFingerprint } from './topology-fingerprint.ts'

const words = { key: serdes.string, value: serdes.string }

function counts(options: StoreOptions = {}, input = 'words'): Topology {
  const store = keyValueStore('counts', { key: serdes.string, value: serdes.long, ...options })
  const builder = new StreamsBuilder()
  builder
    .stream(topic(input, words))
    .filter((word) => word !== '')
    .groupByKey()
    .count({ store })
  return builder.build()
}

function differenceOf(one: Topology, other: Topology): unknown {
  return fingerprintDifference(topologyFingerprint(one), topologyFingerprint(other))
}

test('the same program makes the same fingerprint', () => {
  expect(differenceOf(counts(), counts())).toBeUndefined()
})

test('another topic is a difference', () => {
  expect(differenceOf(counts(), counts({}, 'others'))).toEqual({
    one: 'Source: KSTREAM-SOURCE-0000000000 (topics: [words])',
    other: 'Source: KSTREAM-SOURCE-0000000000 (topics: [others])',
  })
})

test.each<[string, StoreOptions]>([
  ['in memory', { persistent: false }],
  ['without a changelog', { changelog: false }],
  ['whose changelog has another config', { changelog: { 'segment.bytes': '1' } }],
])('a store %s is a difference, which a description does not show', (_name, options) => {
  expect(counts().describe()).toBe(counts(options).describe())
  expect(differenceOf(counts(), counts(options))).toBeDefined()
})

test('a step more is a difference where the other has nothing', () => {
  expect(fingerprintDifference('a', 'a\n  b')).toEqual({ one: 'nothing', other: 'b' })
})
