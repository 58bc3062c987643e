import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Transport } from '../base/transport.ts'
import type { ClientSecurity } from './client-security.ts'
import type { CoordinatedKind } from './coordinators.ts'
import type { TopicPartition } from './topic-metadata.ts'

/** What a KafkaClient needs; `brokers` and the ports must be given. */
export interface KafkaClientOptions {
  /** `host:port` of some brokers, tried in turn until one tells the rest. */
  brokers: readonly string[]
  clock: Clock
  random: Random
  transport: Transport
  log: Log
  /** Names this client in the broker's logs and quotas. Default `millpond`. */
  clientId?: string
  /** How long one request may take on its connection. Default 30 s. */
  requestTimeoutMs?: number
  /** How long a connection may take to be made, TLS included. Default 10 s. */
  connectTimeoutMs?: number
  /** How long `request` goes on trying. Default 60 s. */
  deadlineMs?: number
  /** First wait before a broker is tried again; doubles, with jitter. Default 50 ms. */
  reconnectBackoffMs?: number
  /** Default 1 s. */
  reconnectBackoffMaxMs?: number
  /** First wait before a request is tried again; doubles, with jitter. Default 100 ms. */
  retryBackoffMs?: number
  /** Default 1 s. */
  retryBackoffMaxMs?: number
  /** Metadata older than this is refreshed in the background. Default 5 minutes. */
  metadataMaxAgeMs?: number
  /** TLS, and who we are. Default: neither. */
  security?: ClientSecurity
}

/**
 * Requests of one purpose share a connection to a broker, and a broker answers one connection in
 * order. What may be held back (long polls, joins) therefore has a purpose of its own:
 * `KafkaClient.uniquePurpose`.
 */
export type ConnectionPurpose =
  | 'control'
  | 'coordinator'
  | `produce:${number}`
  | `fetch:${string}`
  | `group:${number}`

/** Which broker is asked. */
export type RequestTarget =
  | 'any'
  | 'controller'
  | { readonly node: number }
  | { readonly leaderOf: TopicPartition }
  /** A group, or with the kind a transactional id. */
  | { readonly coordinatorOf: string; readonly kind?: CoordinatedKind }

/** How a request is made; all optional. */
export interface RequestOptions<Response> {
  /** Default `control`; `coordinator` when one is asked. */
  purpose?: ConnectionPurpose
  /** How long one try may take. Default `requestTimeoutMs` of the client. */
  timeoutMs?: number
  /** How long all tries may take together. Default `deadlineMs` of the client. */
  deadlineMs?: number
  /**
   * `none`: one try on whatever answers; its failure is the result. `retriable` (default): again
   * after a wait, at another broker if need be, while the failure can pass.
   */
  retry?: 'none' | 'retriable'
  /**
   * The Kafka error code of a response that decides about another try; 0: none. Default: its
   * `errorCode`, when it has one. The response is returned when its error cannot pass.
   */
  errorCodeOf?: (response: Response) => number
  /** First wait before another try; doubles, with jitter. Default: that of the client. */
  retryBackoffMs?: number
  /** What the request is about, for errors. */
  subject?: string
  /** The highest version to be used. Default: the highest that both sides know. */
  versionMax?: number
  /** About how large the request is, so that it is written without moving it. */
  bytesHint?: number
  signal?: AbortSignal
}

/** How topic metadata is asked for; all optional. */
export interface TopicMetadataOptions {
  /** True: asks the cluster even when the cache knows. Default false. */
  fresh?: boolean
  /** Default: `deadlineMs` of the client. */
  timeoutMs?: number
  signal?: AbortSignal
}
