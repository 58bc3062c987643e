import { assert } from '../base/assert.ts'

/**
 * Metrics on plain numbers: an increment is an addition to a field, so that the record path can
 * afford one. Whoever counts holds the counter itself; the registry finds it again for reading.
 */

/** Names and values that tell one series of a metric from another. */
export type MetricLabels = Readonly<Record<string, string>>

export type MetricKind = 'counter' | 'gauge' | 'histogram'

/** Counts up. Public field: the hot path adds to it directly. */
export class Counter {
  value = 0

  add(count: number): void {
    this.value += count
  }
}

/** A value that goes up and down, set by its owner. */
export class Gauge {
  value = 0

  set(value: number): void {
    this.value = value
  }
}

/** Counts observations in buckets with fixed upper bounds, with their sum. */
export class Histogram {
  /** Ascending upper bounds, inclusive; what is above the last counts in `count` alone. */
  readonly bounds: readonly number[]
  /** Observations in each bucket alone, not cumulated. */
  readonly buckets: Float64Array
  count = 0
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.buckets = new Float64Array(bounds.length)
  }

  observe(value: number): void {
    this.count += 1
    this.sum += value
    const bounds = this.bounds
    for (let index = 0; index < bounds.length; index += 1) {
      if (value <= (bounds[index] as number)) {
        this.buckets[index] = (this.buckets[index] as number) + 1
        return
      }
    }
  }
}

export type Metric = Counter | Gauge | Histogram

/** One series: its labels, and where its value is. */
export interface MetricSeries {
  readonly labels: MetricLabels
  readonly metric: Metric
}

/** All series of one name. */
export interface MetricFamily {
  readonly name: string
  readonly kind: MetricKind
  readonly help: string
  readonly series: readonly MetricSeries[]
}

interface Family {
  readonly name: string
  readonly kind: MetricKind
  readonly help: string
  readonly series: MetricSeries[]
}

const namePattern = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const labelPattern = /^[a-zA-Z_][a-zA-Z0-9_]*$/

/** A guard against labels made of data (keys, offsets): each combination is kept for ever. */
const seriesPerFamilyMax = 100_000

/** All metrics of one instance, in the order in which they were first asked for. */
export class MetricsRegistry {
  readonly #families = new Map<string, Family>()
  readonly #collectors = new Set<() => void>()

  /** The counter of that name and labels: the same object each time. */
  counter(name: string, help: string, labels: MetricLabels = {}): Counter {
    return this.#find(name, 'counter', help, labels, () => new Counter())
  }

  /** The gauge of that name and labels: the same object each time. */
  gauge(name: string, help: string, labels: MetricLabels = {}): Gauge {
    return this.#find(name, 'gauge', help, labels, () => new Gauge())
  }

  /** The histogram of that name and labels: the same object each time. */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labels: MetricLabels = {},
  ): Histogram {
    return this.#find(name, 'histogram', help, labels, () => new Histogram(bounds))
  }

  /** Forgets the series of that name whose labels include all of these. */
  remove(name: string, labels: MetricLabels): void {
    const series = this.#families.get(name)?.series
    if (series === undefined) return
    const entries = Object.entries(labels)
    for (let index = series.length - 1; index >= 0; index -= 1) {
      const found = (series[index] as MetricSeries).labels
      if (entries.every(([label, value]) => found[label] === value)) series.splice(index, 1)
    }
  }

  /**
   * Calls back before each {@link families}: how a gauge that costs something is set only when
   * somebody reads it. Dispose to stop.
   */
  onCollect(collector: () => void): Disposable {
    this.#collectors.add(collector)
    return { [Symbol.dispose]: () => void this.#collectors.delete(collector) }
  }

  /** All families with at least one series. */
  families(): MetricFamily[] {
    for (const collector of this.#collectors) collector()
    return [...this.#families.values()].filter((family) => family.series.length > 0)
  }

  #find<M extends Metric>(
    name: string,
    kind: MetricKind,
    help: string,
    labels: MetricLabels,
    make: () => M,
  ): M {
    let family = this.#families.get(name)
    if (family === undefined) {
      assert(namePattern.test(name), `${name} is a metric name`)
      family = { name, kind, help, series: [] }
      this.#families.set(name, family)
    }
    assert(family.kind === kind, `${name} is one kind of metric`)
    const entries = Object.entries(labels)
    for (const { labels: found, metric } of family.series) {
      if (
        Object.keys(found).length === entries.length &&
        entries.every(([label, value]) => found[label] === value)
      ) {
        return metric as M
      }
    }
    for (const [label] of entries) assert(labelPattern.test(label), `${label} is a label name`)
    assert(family.series.length < seriesPerFamilyMax, `${name} has a bounded number of series`)
    const metric = make()
    family.series.push({ labels: { ...labels }, metric })
    return metric
  }
}
