import { isStreamsError, StreamsError } from '../errors.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { offsetForLeaderEpoch } from '../protocol/messages/23-offset-for-leader-epoch.ts'
import type { FetchBuffer } from './fetch-buffer.ts'
import type { FetchPartition } from './fetch-partition.ts'
import type { FetchStart } from './fetched-records.ts'
import type { Isolation } from './isolation.ts'
import type { KafkaClient } from './kafka-client.ts'
import { groupByTopic, listOffsetsOf, type OffsetAt } from './list-offsets.ts'

/** A consumer, as against a follower of the leader. */
const consumerReplicaId = -1

/** A partition that a broker was asked about. */
export interface AskedPartition {
  readonly partition: FetchPartition
  /** A seek since then makes the answer void. */
  readonly generation: number
  /** In which its leader was asked; -1: not known. */
  readonly leaderEpoch: number
}

/** What {@link PositionQuestions} work with. */
export interface PositionQuestionsOptions {
  readonly client: KafkaClient
  readonly buffer: FetchBuffer
  readonly isolation: Isolation
  readonly signal: AbortSignal
  readonly onError: (partition: FetchPartition, api: string, code: number) => void
  readonly postpone: (partition: FetchPartition) => void
}

/** Asks leaders where to read: where a place in the log is, and whether one is still in it. */
export class PositionQuestions {
  readonly #options: PositionQuestionsOptions

  constructor(options: PositionQuestionsOptions) {
    this.#options = options
  }

  /** For partitions that look for an end of the log, or for a time. */
  async find(node: number, asked: readonly AskedPartition[]): Promise<void> {
    const { client, buffer, isolation, signal, onError, postpone } = this.#options
    const wanted = asked.map(({ partition }) => ({
      topic: partition.topic,
      partition: partition.partition,
      at: placeOf(partition.wanted ?? 'latest'),
    }))
    const listed = await listOffsetsOf(client, node, wanted, { isolation, signal })
    const open = new OpenQuestions(buffer, asked)
    for (const { topic, partition: number, errorCode: code, offset } of listed) {
      const partition = open.take(topic, number)?.partition
      if (partition === undefined) continue
      if (code !== errorCode.NONE) onError(partition, 'ListOffsets', code)
      else if (offset >= 0) partition.found(offset)
      else if (!partition.foundNone()) postpone(partition)
    }
    for (const partition of open.unanswered()) postpone(partition)
    buffer.wakeIfReady()
  }

  /**
   * For partitions that have a new leader: does it have the records that were read of the old one
   * (KIP-320)? A leader that was elected from outside of the in-sync replicas, or that has lost its
   * disk, may lack some, and has others at their offsets.
   */
  async check(node: number, asked: readonly AskedPartition[]): Promise<void> {
    const { client, buffer, signal, onError, postpone } = this.#options
    const rows = asked.map(({ partition, leaderEpoch }) => ({
      topic: partition.topic,
      partition: partition.partition,
      currentLeaderEpoch: leaderEpoch,
      leaderEpoch: partition.offsetEpoch,
    }))
    const topics = groupByTopic(rows).map(([topic, partitions]) => ({ topic, partitions }))
    const open = new OpenQuestions(buffer, asked)
    try {
      const body = { replicaId: consumerReplicaId, topics }
      const options = { retry: 'none', signal } as const
      const response = await client.request(offsetForLeaderEpoch, body, { node }, options)
      for (const { topic, partitions } of response.topics) {
        for (const { partition: number, errorCode: code, ...end } of partitions) {
          const question = open.take(topic, number)
          if (question === undefined) continue
          const { partition, leaderEpoch } = question
          if (code !== errorCode.NONE) onError(partition, offsetForLeaderEpoch.name, code)
          else if (partition.isInLog(end.endOffset)) partition.checkedBy(leaderEpoch)
          else this.#truncated(partition, end)
        }
      }
    } catch (error) {
      // A broker that cannot be asked has to be believed, as it was before there was the question.
      if (!isStreamsError(error, 'PROTOCOL_UNSUPPORTED_VERSION')) throw error
      for (const { partition, leaderEpoch } of asked) {
        open.take(partition.topic, partition.partition)?.partition.checkedBy(leaderEpoch)
      }
    }
    for (const partition of open.unanswered()) postpone(partition)
    buffer.wakeIfReady()
  }

  /** Goes on behind what is left of the records that were read, or says that there are none. */
  #truncated(
    partition: FetchPartition,
    { endOffset, leaderEpoch }: { readonly endOffset: number; readonly leaderEpoch: number },
  ): void {
    const { client, buffer } = this.#options
    const { topic, partition: number, fetchOffset: offset, offsetReset } = partition
    const facts = { topic, partition: number, offset, endOffset, offsetReset }
    client.log.warn(
      'The log was cut before the offset to be fetched when its leader changed',
      facts,
    )
    if (offsetReset === 'none') {
      const detail =
        endOffset < 0
          ? 'the new leader has none of the records that were read'
          : `the new leader has the records that were read only up to ${endOffset}`
      const context = { topic, partition: number, offset, detail }
      buffer.stop(partition, new StreamsError('OFFSET_OUT_OF_RANGE', context))
    } else if (endOffset >= 0) {
      // What is buffered and was not polled may be among what is gone.
      const polled = partition.position ?? offset
      const isCut = endOffset <= polled
      buffer.seek(partition, isCut ? endOffset : polled, isCut ? leaderEpoch : -1)
    } else {
      partition.resetByPolicy(client.clock.now())
    }
  }
}

/** Questions that wait for their answers; those that a seek made void have none. */
export class OpenQuestions {
  readonly #buffer: FetchBuffer
  readonly #open: Map<FetchPartition, AskedPartition>

  constructor(buffer: FetchBuffer, asked: readonly AskedPartition[]) {
    this.#buffer = buffer
    this.#open = new Map(asked.map((question) => [question.partition, question]))
  }

  /** The question that this answers; undefined when it is void, or was never asked. */
  take(topic: string, number: number): AskedPartition | undefined {
    const partition = this.#buffer.find(topic, number)
    const question = partition && this.#open.get(partition)
    if (question === undefined || question.generation !== question.partition.generation) {
      return undefined
    }
    this.#open.delete(question.partition)
    return question
  }

  /** Asked again at once they would be asked for ever. */
  unanswered(): FetchPartition[] {
    return [...this.#open.values()]
      .filter(({ partition, generation }) => partition.generation === generation)
      .map(({ partition }) => partition)
  }
}

function placeOf(wanted: FetchStart): OffsetAt {
  return typeof wanted === 'object' ? wanted.time : wanted
}
