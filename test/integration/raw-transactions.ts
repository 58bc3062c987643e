import { produce } from '../../src/protocol/messages/0-produce.ts'
import { fetch } from '../../src/protocol/messages/1-fetch.ts'
import { offsetFetch } from '../../src/protocol/messages/9-offset-fetch.ts'
import { findCoordinator } from '../../src/protocol/messages/10-find-coordinator.ts'
import { initProducerId } from '../../src/protocol/messages/22-init-producer-id.ts'
import { addPartitionsToTxn } from '../../src/protocol/messages/24-add-partitions-to-txn.ts'
import { addOffsetsToTxn } from '../../src/protocol/messages/25-add-offsets-to-txn.ts'
import { endTxn } from '../../src/protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../../src/protocol/messages/28-txn-offset-commit.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { RecordBatchBuilder } from '../../src/protocol/record-builder.ts'
import { readMarker } from '../../src/protocol/record-control.ts'
import { fetchBody, nameOf, type RawClient } from './raw-client.ts'
import { until } from './until.ts'

/** What a coordinator says that has just come up, or has the end of a transaction under way. */
const forLater = [
  'COORDINATOR_NOT_AVAILABLE',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'NOT_COORDINATOR',
  'CONCURRENT_TRANSACTIONS',
]

/** The answer to InitProducerId and EndTxn. */
export interface IdentityAnswer {
  readonly error: string
  readonly producerId: number
  readonly producerEpoch: number
}

interface ProduceOptions {
  /** Default 12: the batch adds its partition to the transaction. */
  readonly version?: number
  readonly epoch?: number
  readonly sequence?: number
  readonly partition?: number
  readonly isTransactional?: boolean
  readonly transactionalId?: string | null
  /** Default now. */
  readonly timestamp?: number
}

interface OffsetsOptions {
  /** Default 5: the commit adds the offsets to the transaction. */
  readonly version?: number
  readonly memberId?: string
  readonly generation?: number
  readonly instanceId?: string | null
}

/** A transactional producer that sends single requests, right ones and wrong ones. */
export class RawProducer {
  readonly #client: RawClient
  readonly transactionalId: string
  producerId = -1
  epoch = -1
  /** The next sequence by topic and partition; 0 again after a change of the epoch. */
  readonly #sequences = new Map<string, number>()

  constructor(client: RawClient, transactionalId: string) {
    this.#client = client
    this.transactionalId = transactionalId
  }

  /** One InitProducerId. What it answers is taken over when it is no error. */
  async initOnce(
    options: { version?: number; timeoutMs?: number; expected?: readonly [number, number] } = {},
  ): Promise<IdentityAnswer> {
    const [expectedId, expectedEpoch] = options.expected ?? [-1, -1]
    const answer = await this.#client.request(initProducerId, options.version ?? 5, {
      transactionalId: this.transactionalId,
      transactionTimeoutMs: options.timeoutMs ?? 60_000,
      producerId: expectedId,
      producerEpoch: expectedEpoch,
    })
    return this.#take(answer)
  }

  /** InitProducerId until the coordinator, which comes up when it is looked for, is ready. */
  init(options: Parameters<RawProducer['initOnce']>[0] = {}): Promise<IdentityAnswer> {
    return until(async () => {
      const wanted = { key: this.transactionalId, keyType: 1 }
      const { errorCode } = await this.#client.request(findCoordinator, 3, wanted)
      if (nameOf(errorCode) !== 'NONE') return undefined
      const answer = await this.initOnce(options)
      return forLater.includes(answer.error) ? undefined : answer
    })
  }

  /** One AddPartitionsToTxn; `topic-partition` for each. The errors. */
  async add(partitions: readonly string[], version = 3): Promise<string> {
    const topics = partitions.map((text) => {
      const [, name = '', partition] = /^(.+)-(\d+)$/.exec(text) ?? []
      return { name, partitions: [Number(partition)] }
    })
    const answer = await this.#client.request(addPartitionsToTxn, version, {
      v3AndBelowTransactionalId: this.transactionalId,
      v3AndBelowProducerId: this.producerId,
      v3AndBelowProducerEpoch: this.epoch,
      v3AndBelowTopics: topics,
    })
    // Kafka answers in no particular order.
    return answer.resultsByTopicV3AndBelow
      .flatMap(({ resultsByPartition }) => resultsByPartition)
      .map(({ partitionErrorCode }) => nameOf(partitionErrorCode))
      .sort()
      .join(', ')
  }

  async addOffsets(groupId: string, version = 3): Promise<string> {
    const { transactionalId, producerId, epoch } = this
    const answer = await this.#client.request(addOffsetsToTxn, version, {
      transactionalId,
      producerId,
      producerEpoch: epoch,
      groupId,
    })
    return nameOf(answer.errorCode)
  }

  /** Sends one batch; the error. Sequences go on after those that were accepted. */
  async produce(
    topic: string,
    values: readonly string[],
    options: ProduceOptions = {},
  ): Promise<string> {
    const { partition = 0, isTransactional = true, timestamp = Date.now() } = options
    const key = `${topic}-${partition}`
    const baseSequence = options.sequence ?? this.#sequences.get(key) ?? 0
    const builder = new RecordBatchBuilder()
    for (const value of values) builder.append(Buffer.from(value), Buffer.from(value), timestamp)
    const records = builder.build({
      producerId: this.producerId,
      producerEpoch: options.epoch ?? this.epoch,
      baseSequence,
      isTransactional,
    })
    const { transactionalId = isTransactional ? this.transactionalId : null } = options
    const answer = await this.#client.request(produce, options.version ?? 12, {
      transactionalId,
      acks: -1,
      timeoutMs: 5_000,
      topicData: [{ name: topic, partitionData: [{ index: partition, records }] }],
    })
    const error = nameOf(answer.responses[0]?.partitionResponses[0]?.errorCode)
    if (error === 'NONE') this.#sequences.set(key, baseSequence + values.length)
    return error
  }

  /** One TxnOffsetCommit for a partition 0. */
  async commitOffset(
    groupId: string,
    topic: string,
    offset: number,
    options: OffsetsOptions = {},
  ): Promise<string> {
    const { transactionalId, producerId, epoch: producerEpoch } = this
    const { version = 5, memberId, generation, instanceId } = options
    const answer = await this.#client.request(txnOffsetCommit, version, {
      transactionalId,
      groupId,
      producerId,
      producerEpoch,
      ...(version < 3
        ? {}
        : {
            memberId: memberId ?? '',
            generationIdOrMemberEpoch: generation ?? -1,
            groupInstanceId: instanceId ?? null,
          }),
      topics: [
        {
          name: topic,
          partitions: [{ partitionIndex: 0, committedOffset: offset, committedMetadata: '' }],
        },
      ],
    })
    return nameOf(answer.topics[0]?.partitions[0]?.errorCode)
  }

  /** One EndTxn. From version 5 on its answer has the epoch with which the producer goes on. */
  async end(
    type: 'commit' | 'abort',
    options: { version?: number; epoch?: number } = {},
  ): Promise<IdentityAnswer> {
    const answer = await this.#client.request(endTxn, options.version ?? 5, {
      transactionalId: this.transactionalId,
      producerId: this.producerId,
      producerEpoch: options.epoch ?? this.epoch,
      committed: type === 'commit',
    })
    return this.#take(answer)
  }

  #take(answer: { errorCode: number; producerId: number; producerEpoch: number }): IdentityAnswer {
    const { producerId, producerEpoch } = answer
    const error = nameOf(answer.errorCode)
    if (error === 'NONE' && producerId >= 0) {
      if (producerId !== this.producerId || producerEpoch !== this.epoch) this.#sequences.clear()
      this.producerId = producerId
      this.epoch = producerEpoch
    }
    return { error, producerId, producerEpoch }
  }
}

/** What a reader of partition 0 is given. */
export interface TransactionalRead {
  readonly error: string
  /** Values, and markers as `commit` and `abort`, with their offsets: `3:a`, `4:commit`. */
  readonly log: string[]
  /** `producer id from offset` of each aborted transaction; null for who reads everything. */
  readonly aborted: string[] | null
  readonly lastStableOffset: number
  readonly highWatermark: number
}

export async function readTransactions(
  client: RawClient,
  topic: string,
  options: { isolation?: 'committed' | 'uncommitted'; offset?: number; maxWaitMs?: number } = {},
): Promise<TransactionalRead> {
  const { isolation = 'committed', ...rest } = options
  const { responses } = await client.request(fetch, 11, {
    ...fetchBody(topic, rest),
    isolationLevel: isolation === 'committed' ? 1 : 0,
  })
  const partition = responses[0]?.partitions[0]
  if (partition === undefined) throw new Error('the partition is missing in the answer')
  return {
    error: nameOf(partition.errorCode),
    log: describeLog(partition.records ?? Buffer.alloc(0)),
    aborted:
      partition.abortedTransactions?.map(
        ({ producerId, firstOffset }) => `${producerId} from ${firstOffset}`,
      ) ?? null,
    lastStableOffset: partition.lastStableOffset,
    highWatermark: partition.highWatermark,
  }
}

function describeLog(records: Buffer): string[] {
  const lines: string[] = []
  const reader = new RecordBatchReader()
  reader.reset(records)
  while (reader.nextBatch()) {
    if (reader.isControl) {
      lines.push(`${reader.baseOffset}:${readMarker(reader.batchBytes())?.type}`)
      continue
    }
    while (reader.next()) lines.push(`${reader.offset}:${reader.valueString()}`)
  }
  return lines
}

/** All values of partition 0 that are committed, up to the last stable offset. */
export async function committedValues(client: RawClient, topic: string): Promise<string[]> {
  const values: string[] = []
  const reader = new RecordBatchReader()
  for (let offset = 0; ;) {
    const { responses } = await client.request(fetch, 11, {
      ...fetchBody(topic, { offset }),
      isolationLevel: 1,
    })
    const { records, abortedTransactions } = responses[0]?.partitions[0] ?? {}
    if (records === undefined || records === null || records.length === 0) return values
    const begins = (abortedTransactions ?? []).toSorted((a, b) => a.firstOffset - b.firstOffset)
    const aborted = new Set<number>()
    reader.reset(records)
    while (reader.nextBatch()) {
      while ((begins[0]?.firstOffset ?? Number.POSITIVE_INFINITY) <= reader.baseOffset)
        aborted.add(begins.shift()?.producerId ?? -1)
      offset = reader.nextOffset
      if (reader.isControl) aborted.delete(reader.producerId)
      else if (!aborted.has(reader.producerId))
        while (reader.next()) values.push(reader.valueString() ?? '')
    }
  }
}

/** The offset that a group has committed for partition 0, or the error. */
export async function committedOffset(
  client: RawClient,
  groupId: string,
  topic: string,
  options: { requireStable?: boolean } = {},
): Promise<number | string> {
  const { groups } = await client.request(offsetFetch, 8, {
    groups: [{ groupId, topics: [{ name: topic, partitionIndexes: [0] }] }],
    requireStable: options.requireStable ?? false,
  })
  const partition = groups[0]?.topics[0]?.partitions[0]
  const error = nameOf(partition?.errorCode)
  return error === 'NONE' && partition !== undefined ? partition.committedOffset : error
}
