import { errorCode } from '../protocol/error-codes.ts'
import type { metadata } from '../protocol/messages/3-metadata.ts'
import { zeroUuid } from '../protocol/reader.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import type { BrokerNode, PartitionMetadata, TopicMetadata } from './topic-metadata.ts'

type MetadataResponse = ResponseOf<typeof metadata>
type TopicAnswer = MetadataResponse['topics'][number]

/** Where a partition is led. */
export interface PartitionLeader {
  readonly node: BrokerNode
  /** -1: the broker is too old to tell. */
  readonly leaderEpoch: number
}

/** What this client believes about the cluster: the answers to Metadata, joined. */
export class ClusterView {
  #nodes = new Map<number, BrokerNode>()
  #controllerId = -1
  readonly #topics = new Map<string, TopicMetadata>()
  /** Topics whose last answer was an error. */
  readonly #errors = new Map<string, number>()

  /** All brokers; empty before the first answer. */
  get nodes(): ReadonlyMap<number, BrokerNode> {
    return this.#nodes
  }

  get controller(): BrokerNode | undefined {
    return this.#nodes.get(this.#controllerId)
  }

  /** All topics that are known. */
  get topics(): ReadonlyMap<string, TopicMetadata> {
    return this.#topics
  }

  topic(topic: string): TopicMetadata | undefined {
    return this.#topics.get(topic)
  }

  /** The Kafka error code of the last answer about a topic; 0: none, or nothing is known. */
  errorOf(topic: string): number {
    return this.#errors.get(topic) ?? errorCode.NONE
  }

  /** Undefined: no leader is known. */
  leader(topic: string, partition: number): PartitionLeader | undefined {
    const found = this.#topics.get(topic)?.partitions[partition]
    const node = found && this.#nodes.get(found.leader)
    return found && node && { node, leaderEpoch: found.leaderEpoch }
  }

  /** Forgets a topic. */
  forget(topic: string): void {
    this.#topics.delete(topic)
    this.#errors.delete(topic)
  }

  /** Takes over an answer; topics that it does not mention stay as they were. */
  apply(response: MetadataResponse): void {
    // An answer without brokers comes from one that is starting; what was known is worth more.
    if (response.brokers.length > 0) {
      this.#nodes = new Map(response.brokers.map((node) => [node.nodeId, node]))
    }
    this.#controllerId = response.controllerId
    for (const answer of response.topics) {
      if (answer.name === null) continue
      if (answer.errorCode === errorCode.NONE) {
        this.#errors.delete(answer.name)
        this.#topics.set(answer.name, merge(this.#topics.get(answer.name), answer, answer.name))
      } else {
        this.#errors.set(answer.name, answer.errorCode)
        if (answer.errorCode === errorCode.UNKNOWN_TOPIC_OR_PARTITION) {
          this.#topics.delete(answer.name)
        }
      }
    }
  }
}

/**
 * Brokers learn of a new leader at different times. An answer from one that lags behind must not take
 * us back to the old leader, so a partition is replaced only by one of at least its leader epoch;
 * unless the topic is another one of the same name.
 */
function merge(
  known: TopicMetadata | undefined,
  answer: TopicAnswer,
  topic: string,
): TopicMetadata {
  const topicId = answer.topicId === zeroUuid ? undefined : answer.topicId
  const isSame = known !== undefined && known.topicId === topicId
  const partitions: PartitionMetadata[] = []
  const answers = answer.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex)
  for (const { partitionIndex, leaderId, leaderEpoch, replicaNodes, isrNodes } of answers) {
    // Partition numbers have no holes; one that is missing in an answer ends what can be trusted.
    if (partitionIndex !== partitions.length) break
    const before = isSame ? known.partitions[partitionIndex] : undefined
    const isStale = before !== undefined && leaderEpoch >= 0 && leaderEpoch < before.leaderEpoch
    partitions.push(
      isStale
        ? before
        : {
            partition: partitionIndex,
            leader: leaderId,
            leaderEpoch,
            replicas: replicaNodes,
            inSyncReplicas: isrNodes,
          },
    )
  }
  return { topic, topicId, internal: answer.isInternal, partitions }
}
