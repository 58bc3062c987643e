import { expect, test } from 'vitest'
import { MetricsRegistry } from './registry.ts'
import { StreamsMetrics } from './streams-metrics.ts'

test('the same name and labels give the same counter', () => {
  const registry = new MetricsRegistry()
  const counter = registry.counter('c', 'C.', { a: '1', b: '2' })

  expect(registry.counter('c', 'C.', { b: '2', a: '1' })).toBe(counter)
  expect(registry.counter('c', 'C.', { a: '1' })).not.toBe(counter)
})

test('one name is one kind of metric', () => {
  const registry = new MetricsRegistry()
  registry.counter('c', 'C.')

  expect(() => registry.gauge('c', 'C.')).toThrow('c is one kind of metric')
})

test('names that Prometheus would not read are refused', () => {
  const registry = new MetricsRegistry()

  expect(() => registry.counter('records-total', 'C.')).toThrow('records-total is a metric name')
  expect(() => registry.counter('c', 'C.', { 'a-b': '1' })).toThrow('a-b is a label name')
})

test('removed series are not told any more, and their family neither when it was the last', () => {
  const registry = new MetricsRegistry()
  registry.gauge('lag', 'L.', { topic: 'a', partition: '0' })
  registry.gauge('lag', 'L.', { topic: 'a', partition: '1' })
  registry.gauge('lag', 'L.', { topic: 'b', partition: '0' })

  registry.remove('lag', { topic: 'a' })
  expect(registry.families()[0]?.series.map(({ labels }) => labels)).toEqual([
    { topic: 'b', partition: '0' },
  ])
  registry.remove('lag', { topic: 'b', partition: '0' })
  expect(registry.families()).toEqual([])
})

test('a collector sets its gauge when the metrics are read, until it is disposed', () => {
  const registry = new MetricsRegistry()
  const gauge = registry.gauge('g', 'G.')
  let reads = 0
  const collector = registry.onCollect(() => {
    reads += 1
    gauge.set(reads)
  })

  registry.families()
  expect(gauge.value).toBe(1)
  collector[Symbol.dispose]()
  registry.families()
  expect(gauge.value).toBe(1)
})

test('dropped records are counted by reason', () => {
  const metrics = new StreamsMetrics()
  metrics.dropped('null-key')
  metrics.dropped('late')
  metrics.dropped('null-key')

  expect(metrics.droppedRecords()).toEqual(
    new Map([
      ['null-key', 2],
      ['late', 1],
    ]),
  )
})
