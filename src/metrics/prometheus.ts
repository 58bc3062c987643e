import { Histogram, type MetricFamily, type MetricLabels } from './registry.ts'

/** The content type of {@link renderPrometheus}. */
export const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** The metrics in Prometheus' text exposition format, version 0.0.4. */
export function renderPrometheus(families: readonly MetricFamily[]): string {
  const lines: string[] = []
  for (const { name, kind, help, series } of families) {
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${kind}`)
    for (const { labels, metric } of series) {
      if (metric instanceof Histogram) renderHistogram(lines, name, labels, metric)
      else lines.push(`${name}${renderLabels(labels)} ${renderValue(metric.value)}`)
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

function renderHistogram(
  lines: string[],
  name: string,
  labels: MetricLabels,
  histogram: Histogram,
): void {
  let cumulated = 0
  for (const [index, bound] of histogram.bounds.entries()) {
    cumulated += histogram.buckets[index] as number
    const bucket = renderLabels({ ...labels, le: renderValue(bound) })
    lines.push(`${name}_bucket${bucket} ${renderValue(cumulated)}`)
  }
  lines.push(
    `${name}_bucket${renderLabels({ ...labels, le: '+Inf' })} ${renderValue(histogram.count)}`,
    `${name}_sum${renderLabels(labels)} ${renderValue(histogram.sum)}`,
    `${name}_count${renderLabels(labels)} ${renderValue(histogram.count)}`,
  )
}

function renderLabels(labels: MetricLabels): string {
  const entries = Object.entries(labels)
  if (entries.length === 0) return ''
  return `{${entries.map(([label, value]) => `${label}="${escapeLabel(value)}"`).join(',')}}`
}

function renderValue(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
