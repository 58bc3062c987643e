import { expect, test } from 'vitest'
import { MergedMetrics, readMetrics } from './merged-metrics.ts'
import { renderPrometheus } from './prometheus.ts'
import { MetricsRegistry } from './registry.ts'

/** A registry as a worker has one. */
function worker(): MetricsRegistry {
  const registry = new MetricsRegistry()
  registry.counter('records_total', 'Records.')
  registry.gauge('tasks', 'Tasks.')
  registry.histogram('seconds', 'Time.', [1, 10])
  return registry
}

function setup() {
  const registry = new MetricsRegistry()
  const merged = new MergedMetrics(registry)
  const [one, two] = [worker(), worker()]
  const collect = (): string => {
    merged.update('one', readMetrics(one))
    merged.update('two', readMetrics(two))
    return renderPrometheus(registry.families())
  }
  return { registry, merged, one, two, collect }
}

test('counters, gauges and histograms of all sources are added up', () => {
  const { one, two, collect } = setup()
  one.counter('records_total', '').add(3)
  two.counter('records_total', '').add(4)
  one.gauge('tasks', '').set(2)
  two.gauge('tasks', '').set(5)
  one.histogram('seconds', '', []).observe(0.5)
  two.histogram('seconds', '', []).observe(20)
  collect()
  one.counter('records_total', '').add(1)
  one.gauge('tasks', '').set(1)
  two.histogram('seconds', '', []).observe(2)

  expect(collect()).toBe(
    `# HELP records_total Records.
# TYPE records_total counter
records_total 8
# HELP tasks Tasks.
# TYPE tasks gauge
tasks 6
# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{le="1"} 1
seconds_bucket{le="10"} 2
seconds_bucket{le="+Inf"} 3
seconds_sum 22.5
seconds_count 3
`,
  )
})

test('what a source has counted stays when it is gone, and its gauges go', () => {
  const { registry, merged, one, collect } = setup()
  one.counter('records_total', '').add(3)
  one.gauge('tasks', '').set(2)
  one.gauge('engine_bytes', 'Bytes.', { task: '0_1' }).set(7)
  collect()

  merged.remove('one')

  expect(registry.counter('records_total', '').value).toBe(3)
  expect(registry.gauge('tasks', '').value).toBe(0)
  expect(registry.families().map(({ name }) => name)).not.toContain('engine_bytes')
})

test('a successor under the same name begins to count at nothing', () => {
  const { registry, merged, one, collect } = setup()
  one.counter('records_total', '').add(3)
  collect()
  merged.remove('one')
  const successor = worker()
  successor.counter('records_total', '').add(2)

  merged.update('one', readMetrics(successor))

  expect(registry.counter('records_total', '').value).toBe(5)
})

test('a series that a source does not have any more is gone', () => {
  const { registry, merged, one, two } = setup()
  one.gauge('engine_bytes', 'Bytes.', { task: '0_1' }).set(7)
  merged.update('one', readMetrics(one))
  one.remove('engine_bytes', { task: '0_1' })
  two.gauge('engine_bytes', 'Bytes.', { task: '0_1' }).set(9)
  merged.update('one', readMetrics(one))
  expect(registry.families().map(({ name }) => name)).not.toContain('engine_bytes')

  merged.update('two', readMetrics(two))

  expect(registry.gauge('engine_bytes', '', { task: '0_1' }).value).toBe(9)
})
