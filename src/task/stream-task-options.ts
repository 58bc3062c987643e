import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ErrorHandling } from '../error-handlers.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { RestoreBudget } from '../store/restore-budget.ts'
import type { Subtopology } from '../topology/topology.ts'
import type { RecordSink } from './record-sink.ts'
import type { StateManager, TaskEngines } from './state-manager.ts'

/** What a StreamTask is made of. */
export interface StreamTaskOptions extends ErrorHandling {
  readonly id: TaskId
  readonly subtopology: Subtopology
  readonly applicationId: string
  readonly clock: Clock
  readonly sink: RecordSink
  readonly metrics: StreamsMetrics
  /** The task closes them. */
  readonly engines: TaskEngines
  /** Of a standby that becomes this task: in place of what would be opened with `engines`. */
  readonly state?: StateManager | undefined
  /** Bytes that the record caches of this task may hold together; 0: no caching. */
  readonly cacheBytesMax: number
  /** See StoreContext. */
  readonly restoreBudget?: RestoreBudget | undefined
  /** Partitions of a source topic: the task reads those topics that have its partition number. */
  readonly partitionCount: (topic: string) => number
  /** See PartitionGroup. Default: nothing is known to lag, nothing waits. */
  readonly lag?: (topic: string, partition: number) => number | undefined
  /** Milliseconds; negative: never wait for empty partitions. Default 0. */
  readonly maxTaskIdleMs?: number
  /** Finds a global store for a processor to read. Default: there are none. */
  readonly globalStore?: (name: string) => object | undefined
  /** See NodeContext. Default 1000, as in Java. */
  readonly emitIntervalMs?: number
  /** Called when a step whose code answers later has a result for {@link StreamTask.process}. */
  readonly wake?: () => void
  /** Default: nothing is logged. */
  readonly log?: Log
}
