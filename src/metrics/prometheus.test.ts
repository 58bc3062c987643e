import { expect, test } from 'vitest'
import { renderPrometheus } from './prometheus.ts'
import { MetricsRegistry } from './registry.ts'

test('counters, gauges and histograms stand in the exposition format', () => {
  const registry = new MetricsRegistry()
  registry.counter('records_total', 'Records.').add(3)
  registry.counter('dropped_total', 'Dropped.', { reason: 'null-key' }).add(1)
  registry.counter('dropped_total', 'Dropped.', { reason: 'late' }).add(2)
  registry.gauge('dirty_bytes', 'Bytes.').set(1.5)
  const histogram = registry.histogram('commit_seconds', 'Commits.', [0.1, 1], { task: '0_1' })
  for (const seconds of [0.05, 0.1, 0.5, 2]) histogram.observe(seconds)

  expect(renderPrometheus(registry.families())).toBe(
    `# HELP records_total Records.
# TYPE records_total counter
records_total 3
# HELP dropped_total Dropped.
# TYPE dropped_total counter
dropped_total{reason="null-key"} 1
dropped_total{reason="late"} 2
# HELP dirty_bytes Bytes.
# TYPE dirty_bytes gauge
dirty_bytes 1.5
# HELP commit_seconds Commits.
# TYPE commit_seconds histogram
commit_seconds_bucket{task="0_1",le="0.1"} 2
commit_seconds_bucket{task="0_1",le="1"} 3
commit_seconds_bucket{task="0_1",le="+Inf"} 4
commit_seconds_sum{task="0_1"} 2.65
commit_seconds_count{task="0_1"} 4
`,
  )
})

test('what would break a line is escaped', () => {
  const registry = new MetricsRegistry()
  registry.gauge('g', 'a \\ b\nc', { topic: 'say "hi"\\\n' }).set(1)

  expect(renderPrometheus(registry.families())).toBe(
    '# HELP g a \\\\ b\\nc\n# TYPE g gauge\ng{topic="say \\"hi\\"\\\\\\n"} 1\n',
  )
})

test('values without a decimal form have names', () => {
  const registry = new MetricsRegistry()
  registry.gauge('g', 'G.', { of: 'a' }).set(Infinity)
  registry.gauge('g', 'G.', { of: 'b' }).set(-Infinity)
  registry.gauge('g', 'G.', { of: 'c' }).set(Number.NaN)

  expect(renderPrometheus(registry.families())).toBe(
    '# HELP g G.\n# TYPE g gauge\ng{of="a"} +Inf\ng{of="b"} -Inf\ng{of="c"} NaN\n',
  )
})

test('no metrics are no text', () => {
  expect(renderPrometheus(new MetricsRegistry().families())).toBe('')
})
