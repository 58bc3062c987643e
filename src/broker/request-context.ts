import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { BrokerIdentity } from './broker-identity.ts'
import type { Authenticator, ClientSession } from './client-session.ts'
import type { GroupCoordinator } from './group-coordinator.ts'
import type { ConfigValues } from './topic-configs.ts'
import type { Topics } from './topics.ts'
import type { TransactionCoordinator } from './transaction-coordinator.ts'

/** The only broker of its cluster has this id. */
export const nodeId = 1

/** What a broker is made of, for the handlers. */
export interface BrokerParts {
  readonly clock: Clock
  readonly log: Log
  readonly identity: BrokerIdentity
  readonly topics: Topics
  readonly groups: GroupCoordinator
  readonly transactions: TransactionCoordinator
  /** Undefined: clients need not say who they are. */
  readonly authenticator?: Authenticator | undefined
  /** Of the broker, for settings that a topic does not have. */
  readonly topicDefaults: ConfigValues
  readonly autoCreateTopics: boolean
  readonly defaultPartitions: number
  /** Where clients find the broker. */
  readonly endpoint: { readonly host: string; readonly port: number }
  /** What the cluster has agreed on, by name and level. */
  readonly features: ReadonlyMap<string, FeatureLevels>
  /** Key, first and last version of every API that is answered. */
  readonly apiRanges: readonly ApiRange[]
}

/** A feature of the cluster: the levels that the broker could have, and the one that is in force. */
export interface FeatureLevels {
  readonly min: number
  readonly max: number
  readonly level: number
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
  /** Who is at the other end. */
  readonly session: ClientSession
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}
