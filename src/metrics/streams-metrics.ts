import { MetricsRegistry, type Counter, type Gauge, type Histogram } from './registry.ts'

/** Upper bounds in seconds for what takes from a millisecond to half a minute. */
const latencyBoundsSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

/**
 * What an instance tells about its work. Java's names are kept where the thing is the same
 * (dropped-records, commit, restore), in Prometheus' spelling.
 */
export class StreamsMetrics {
  readonly registry: MetricsRegistry
  /** Records that tasks have taken from their input partitions. */
  readonly recordsProcessed: Counter
  readonly recordsProduced: Counter
  readonly commits: Counter
  readonly commitSeconds: Histogram
  /** Records that active tasks have applied from changelogs, to begin. */
  readonly recordsRestored: Counter
  /** Records that standby tasks have applied from changelogs. */
  readonly standbyRecords: Counter
  /** Changelog records that are still to be restored, over all tasks. */
  readonly restoreRemaining: Gauge
  readonly tasksRunning: Gauge
  readonly tasksRestoring: Gauge
  readonly tasksStandby: Gauge
  /** Changelog records that standby tasks are behind, over all of them. */
  readonly standbyLag: Gauge
  /** Bytes of state that are not in the engines yet. */
  readonly dirtyBytes: Gauge
  /** Bytes in record caches and write-behind buffers. */
  readonly stateMemoryBytes: Gauge
  /** Iterators over stores that were begun and are not at their end, nor closed. Java's num-open-iterators. */
  readonly openIterators: Gauge
  readonly #dropped = new Map<string, Counter>()

  constructor(registry: MetricsRegistry = new MetricsRegistry()) {
    this.registry = registry
    this.recordsProcessed = registry.counter(
      'millpond_records_processed_total',
      'Records taken from input partitions.',
    )
    this.recordsProduced = registry.counter(
      'millpond_records_produced_total',
      'Records written to sink and changelog topics.',
    )
    this.commits = registry.counter('millpond_commits_total', 'Commits that succeeded.')
    this.commitSeconds = registry.histogram(
      'millpond_commit_seconds',
      'Time from the flush of the caches to the acknowledged commit.',
      latencyBoundsSeconds,
    )
    this.recordsRestored = registry.counter(
      'millpond_records_restored_total',
      'Changelog records applied to stores of active tasks.',
    )
    this.standbyRecords = registry.counter(
      'millpond_standby_records_total',
      'Changelog records applied to stores of standby tasks.',
    )
    this.restoreRemaining = registry.gauge(
      'millpond_restore_remaining_records',
      'Changelog records that are still to be restored.',
    )
    this.tasksRunning = registry.gauge('millpond_tasks_running', 'Active tasks that process.')
    this.tasksRestoring = registry.gauge(
      'millpond_tasks_restoring',
      'Active tasks that restore their state.',
    )
    this.tasksStandby = registry.gauge(
      'millpond_tasks_standby',
      'Standby tasks, which follow the state of tasks of other instances.',
    )
    this.standbyLag = registry.gauge(
      'millpond_standby_lag_records',
      'Changelog records that standby tasks have not applied yet.',
    )
    this.dirtyBytes = registry.gauge(
      'millpond_state_dirty_bytes',
      'Bytes of state that are not in the engines yet.',
    )
    this.openIterators = registry.gauge(
      'millpond_store_iterators_open',
      'Iterators over stores that are open.',
    )
    this.stateMemoryBytes = registry.gauge(
      'millpond_state_memory_bytes',
      'Bytes in record caches and write-behind buffers.',
    )
  }

  /** Counts a record that was dropped. Reasons are a small fixed set, such as `null-key`. */
  dropped(reason: string): void {
    let counter = this.#dropped.get(reason)
    if (counter === undefined) {
      counter = this.registry.counter(
        'millpond_records_dropped_total',
        'Records that were dropped, by reason.',
        { reason },
      )
      this.#dropped.set(reason, counter)
    }
    counter.value += 1
  }

  /** Dropped records, by reason. */
  droppedRecords(): ReadonlyMap<string, number> {
    return new Map([...this.#dropped].map(([reason, counter]) => [reason, counter.value]))
  }
}
