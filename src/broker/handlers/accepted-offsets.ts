import { errorCode, type KafkaErrorName } from '../../protocol/error-codes.ts'
import type { OffsetEntry } from '../offset-store.ts'
import type { RequestContext } from '../request-context.ts'

/** Kafka's `offset.metadata.max.bytes`, counted in characters as Kafka does. */
const metadataLengthMax = 4096

/** The topics of a commit, as OffsetCommit and TxnOffsetCommit have them. */
export type CommittedTopics = readonly {
  readonly name: string
  readonly partitions: readonly {
    readonly partitionIndex: number
    readonly committedOffset: number
    readonly committedLeaderEpoch: number
    readonly committedMetadata: string | null
  }[]
}[]

type TopicResults = {
  name: string
  partitions: { partitionIndex: number; errorCode: number }[]
}[]

/** The part of a commit that can be stored. What is wrong with one partition holds up no other. */
export class AcceptedOffsets {
  readonly entries: readonly OffsetEntry[]
  readonly #topics: CommittedTopics
  /** By topic and partition, in the order of the request. */
  readonly #problems: readonly (readonly (KafkaErrorName | undefined)[])[]

  constructor(topics: CommittedTopics, { broker }: RequestContext) {
    const entries: OffsetEntry[] = []
    this.#topics = topics
    this.#problems = topics.map(({ name, partitions }) =>
      partitions.map((partition): KafkaErrorName | undefined => {
        const { partitionIndex, committedMetadata } = partition
        const metadata = committedMetadata ?? ''
        if (broker.topics.partition(name, partitionIndex) === undefined)
          return 'UNKNOWN_TOPIC_OR_PARTITION'
        if (metadata.length > metadataLengthMax) return 'OFFSET_METADATA_TOO_LARGE'
        entries.push({
          topic: name,
          partition: partitionIndex,
          offset: partition.committedOffset,
          leaderEpoch: partition.committedLeaderEpoch,
          metadata,
        })
        return undefined
      }),
    )
    this.entries = entries
  }

  /** The answer, when the accepted entries came to this. */
  results(error: KafkaErrorName): TopicResults {
    return this.#topics.map(({ name, partitions }, topic) => ({
      name,
      partitions: partitions.map(({ partitionIndex }, index) => ({
        partitionIndex,
        errorCode: errorCode[this.#problems[topic]?.[index] ?? error],
      })),
    }))
  }
}
