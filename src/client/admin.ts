import type { KafkaClient } from './kafka-client.ts'
import type { TopicMetadata, TopicPartition } from './topic-metadata.ts'

/** Options of the calls here: they are tried again while that can help, until the timeout. */
export interface AdminRequestOptions {
  /** Default 60 s. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** A topic to be created. */
export interface NewTopic {
  readonly topic: string
  /** -1: the broker's default. */
  readonly partitions: number
  /** Default -1: the broker's default. */
  readonly replicationFactor?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** One setting of a topic or broker. */
export interface ConfigEntry {
  readonly name: string
  /** Null: a secret, or not set. */
  readonly value: string | null
  /** True when nobody set it. */
  readonly isDefault: boolean
  readonly isReadOnly: boolean
  readonly isSensitive: boolean
}

/** What has settings. */
export interface ConfigResource {
  readonly type: 'topic' | 'broker'
  /** The topic, or the node id. */
  readonly name: string
}

/** A group in a list. */
export interface GroupListing {
  readonly groupId: string
  readonly protocolType: string
  /** Empty when the broker is too old to tell. */
  readonly state: string
}

/** A group in detail. */
export interface GroupDescription {
  readonly groupId: string
  /** `Dead` for a group that does not exist. */
  readonly state: string
  readonly protocolType: string
  readonly protocolName: string
  readonly members: readonly {
    readonly memberId: string
    readonly instanceId: string | null
    readonly clientId: string
    readonly clientHost: string
    readonly metadata: Buffer
    readonly assignment: Buffer
  }[]
}

/** What became of one topic of a request. */
export type TopicOutcome = 'created' | 'exists'

/**
 * Topics, configurations and groups. A call with several subjects that fails for one rejects with
 * the `KAFKA_ERROR` of the first such; the others are done all the same.
 */
export class Admin {
  constructor(client: KafkaClient) {
    throw new Error('to come')
  }

  /**
   * Creates topics and waits until this client sees them. One that exists already is told apart
   * (`exists`) and left as it is; its partitions may be others than asked for.
   */
  createTopics(
    topics: readonly NewTopic[],
    options?: AdminRequestOptions,
  ): Promise<Map<string, TopicOutcome>> {
    throw new Error('to come')
  }

  /** Deletes topics; those that do not exist are ignored. */
  deleteTopics(topics: readonly string[], options?: AdminRequestOptions): Promise<void> {
    throw new Error('to come')
  }

  /** Grows a topic to `partitions` in total. */
  createPartitions(
    topic: string,
    partitions: number,
    options?: AdminRequestOptions,
  ): Promise<void> {
    throw new Error('to come')
  }

  /** Fresh from the cluster; topics that do not exist are absent. */
  describeTopics(
    topics: readonly string[],
    options?: AdminRequestOptions,
  ): Promise<ReadonlyMap<string, TopicMetadata>> {
    throw new Error('to come')
  }

  /** All topics of the cluster that this client may see. */
  listTopics(options?: AdminRequestOptions): Promise<ReadonlyMap<string, TopicMetadata>> {
    throw new Error('to come')
  }

  /** All settings of the resources, in their order. */
  describeConfigs(
    resources: readonly ConfigResource[],
    options?: AdminRequestOptions,
  ): Promise<ConfigEntry[][]> {
    throw new Error('to come')
  }

  /** Sets these settings and leaves the others; null returns one to its default. */
  alterConfigs(
    resource: ConfigResource,
    configs: Readonly<Record<string, string | null>>,
    options?: AdminRequestOptions,
  ): Promise<void> {
    throw new Error('to come')
  }

  /** Deletes records before these offsets; -1: all. Returns nothing of note when done. */
  deleteRecords(
    offsets: readonly (TopicPartition & { readonly offset: number })[],
    options?: AdminRequestOptions,
  ): Promise<void> {
    throw new Error('to come')
  }

  /** The groups of all brokers. */
  listGroups(options?: AdminRequestOptions): Promise<GroupListing[]> {
    throw new Error('to come')
  }

  /** The groups, in the order asked for. */
  describeGroups(
    groupIds: readonly string[],
    options?: AdminRequestOptions,
  ): Promise<GroupDescription[]> {
    throw new Error('to come')
  }

  /** Deletes groups without members; those that do not exist are ignored. */
  deleteGroups(groupIds: readonly string[], options?: AdminRequestOptions): Promise<void> {
    throw new Error('to come')
  }
}
