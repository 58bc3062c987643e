import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { BrokerIdentity } from './broker-identity.ts'
import type { GroupCoordinator } from './group-coordinator.ts'
import type { ConfigValues } from './topic-configs.ts'
import type { Topics } from './topics.ts'

/** The only broker of its cluster has this id. */
export const nodeId = 1

/** What a broker is made of, for the handlers. */
export interface BrokerParts {
  readonly clock: Clock
  readonly log: Log
  readonly identity: BrokerIdentity
  readonly topics: Topics
  readonly groups: GroupCoordinator
  /** Of the broker, for settings that a topic does not have. */
  readonly topicDefaults: ConfigValues
  readonly autoCreateTopics: boolean
  readonly defaultPartitions: number
  /** Where clients find the broker. */
  readonly endpoint: { readonly host: string; readonly port: number }
  /** Key, first and last version of every API that is answered. */
  readonly apiRanges: readonly ApiRange[]
}

export interface ApiRange {
  readonly apiKey: number
  readonly minVersion: number
  readonly maxVersion: number
}

/** What a handler knows besides the request itself. */
export interface RequestContext {
  readonly broker: BrokerParts
  readonly apiVersion: number
  readonly clientId: string
  /** As Kafka shows it: `/127.0.0.1`. */
  readonly clientHost: string
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}
