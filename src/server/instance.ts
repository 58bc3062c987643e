import type { KafkaStreams } from '../kafka-streams.ts'
import type { QueryTarget } from '../query/query-target.ts'
import type { QueryRouter } from '../query/router.ts'
import type { EventLoopWatch } from './event-loop-watch.ts'
import type { Exposure } from './exposure.ts'

/** What the routes read of a running instance. */
export interface Instance {
  readonly target: QueryTarget
  readonly router: QueryRouter
  readonly streams: Pick<KafkaStreams, 'state' | 'localTasks' | 'metrics'>
}

/**
 * What the HTTP service serves. The port opens before there is an instance, because the instance
 * tells the others its address when it joins.
 */
export interface HttpSubject {
  /** Undefined until the instance is made. */
  readonly instance: Instance | undefined
  readonly exposure: Exposure
  readonly loop: EventLoopWatch
  /** True once the service closes: no new traffic, please. */
  readonly isDraining: boolean
  /** Hears of faults of ours. */
  readonly onFault: (error: unknown) => void
}
