import { Counter, Histogram, type MetricFamily, type MetricsRegistry } from './registry.ts'

/** A series at one moment, as it can be sent to another thread. */
export interface SeriesReading {
  readonly labels: Readonly<Record<string, string>>
  /** Of a histogram its sum. */
  readonly value: number
  /** Of a histogram alone. */
  readonly histogram?: {
    readonly bounds: readonly number[]
    readonly buckets: Float64Array
    readonly count: number
  }
}

/** A family at one moment. */
export interface FamilyReading {
  readonly name: string
  readonly kind: MetricFamily['kind']
  readonly help: string
  readonly series: readonly SeriesReading[]
}

/** What all families of a registry say at this moment. */
export function readMetrics(registry: MetricsRegistry): FamilyReading[] {
  return registry.families().map(({ name, kind, help, series }) => ({
    name,
    kind,
    help,
    series: series.map(({ labels, metric }) => {
      if (!(metric instanceof Histogram)) return { labels, value: metric.value }
      const { bounds, buckets, count, sum } = metric
      return { labels, value: sum, histogram: { bounds, buckets: buckets.slice(), count } }
    }),
  }))
}

type Readings = Map<string, { readonly family: FamilyReading; readonly series: SeriesReading }>

/**
 * The metrics of several registries in one: series of the same name and labels are added up. What has been
 * counted stays counted when a source is gone; its gauges do not.
 */
export class MergedMetrics {
  readonly #registry: MetricsRegistry
  readonly #sources = new Map<unknown, Readings>()

  constructor(registry: MetricsRegistry) {
    this.#registry = registry
  }

  /** A source says how far it is. */
  update(source: unknown, families: readonly FamilyReading[]): void {
    const before = this.#sources.get(source)
    const now: Readings = new Map()
    for (const family of families) {
      for (const series of family.series) now.set(keyOf(family, series), { family, series })
    }
    this.#sources.set(source, now)
    for (const [key, { family, series }] of now) {
      if (family.kind === 'gauge') this.#sumGauge(key, family, series)
      else this.#addUp(family, series, before?.get(key)?.series)
    }
    this.#dropGauges(before, now)
  }

  /** The source is gone: it has no tasks and no memory any more. */
  remove(source: unknown): void {
    const before = this.#sources.get(source)
    this.#sources.delete(source)
    this.#dropGauges(before, new Map())
  }

  #addUp(
    { name, kind, help }: FamilyReading,
    { labels, value, histogram }: SeriesReading,
    before: SeriesReading | undefined,
  ): void {
    if (kind === 'counter') {
      const counter: Counter = this.#registry.counter(name, help, labels)
      counter.add(value - (before?.value ?? 0))
    } else if (histogram !== undefined) {
      const sum = this.#registry.histogram(name, help, histogram.bounds, labels)
      sum.sum += value - (before?.value ?? 0)
      sum.count += histogram.count - (before?.histogram?.count ?? 0)
      for (const [index, count] of histogram.buckets.entries()) {
        const added = count - (before?.histogram?.buckets[index] ?? 0)
        sum.buckets[index] = (sum.buckets[index] ?? 0) + added
      }
    }
  }

  #sumGauge(key: string, { name, help }: FamilyReading, { labels }: SeriesReading): void {
    let sum = 0
    for (const readings of this.#sources.values()) sum += readings.get(key)?.series.value ?? 0
    this.#registry.gauge(name, help, labels).set(sum)
  }

  /** Gauges that a source does not have any more. */
  #dropGauges(before: Readings | undefined, now: Readings): void {
    for (const [key, { family, series }] of before ?? []) {
      if (family.kind !== 'gauge' || now.has(key)) continue
      const isElsewhere = [...this.#sources.values()].some((readings) => readings.has(key))
      const hasLabels = Object.keys(series.labels).length > 0
      // One without labels is held by whoever asks for it: it is zero, not gone.
      if (isElsewhere || !hasLabels) this.#sumGauge(key, family, series)
      else this.#registry.remove(family.name, series.labels)
    }
  }
}

function keyOf({ name }: FamilyReading, { labels }: SeriesReading): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([name, sorted])
}
