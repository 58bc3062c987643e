/** A broker of the cluster, as Metadata or FindCoordinator tells it. */
export interface BrokerNode {
  readonly nodeId: number
  readonly host: string
  readonly port: number
  /** Null: the broker states none. */
  readonly rack: string | null
}

/** A partition number of a topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** What the cluster says about one partition. */
export interface PartitionMetadata {
  readonly partition: number
  /** Node id of the leader; -1: the partition has none at present. */
  readonly leader: number
  /** Grows with each change of the leader; -1: the broker is too old to tell. */
  readonly leaderEpoch: number
  /** Node ids that hold the partition, whether they are up or not. */
  readonly replicas: readonly number[]
  readonly inSyncReplicas: readonly number[]
}

/** What the cluster says about one topic. */
export interface TopicMetadata {
  readonly topic: string
  /** Undefined when the broker is older than topic ids (KIP-516). */
  readonly topicId: string | undefined
  readonly internal: boolean
  /** Indexed by partition number, without holes. */
  readonly partitions: readonly PartitionMetadata[]
}
