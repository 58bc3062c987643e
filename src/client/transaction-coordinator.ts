import { StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import { initProducerId } from '../protocol/messages/22-init-producer-id.ts'
import { addPartitionsToTxn } from '../protocol/messages/24-add-partitions-to-txn.ts'
import { addOffsetsToTxn } from '../protocol/messages/25-add-offsets-to-txn.ts'
import { endTxn } from '../protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../protocol/messages/28-txn-offset-commit.ts'
import type { Api, ResponseOf } from '../protocol/schema.ts'
import type { RequestBody } from './broker-connection.ts'
import type { KafkaClient, RequestOptions } from './kafka-client.ts'
import { groupByTopic } from './list-offsets.ts'
import {
  commitFailure,
  offsetTopics,
  type CommittedOffset,
  type OffsetCommitIdentity,
} from './offsets.ts'
import type { ProducerIdentity } from './producer-session.ts'
import type { TopicPartition } from './topic-metadata.ts'
import { transactionFailure } from './transaction-failure.ts'

/** The end of one transaction is written in few milliseconds; the next one may have to wait for it. */
const retryBackoffMs = 20

/** A transaction that is given up is told so; who is away for longer notices by the timeout. */
const abandonMs = 5000

/**
 * The protocol of transactions. In the first, partitions and groups are added to a transaction by
 * requests of their own. In the second (KIP-890), the first write adds them, and each transaction has an
 * epoch of its own, so that nothing of an old one can come into a new one.
 */
export type TransactionVersion = 1 | 2

/** The highest versions of requests that speak the first protocol; those above speak the second. */
const firstProtocol = { produce: 11, endTxn: 4, txnOffsetCommit: 4 } as const

/** Above it AddPartitionsToTxn is for brokers alone. */
const addPartitionsVersionMax = 3

/** Name of the feature of a cluster that says which protocol is spoken. */
const featureName = 'transaction.version'

/** Options of one call. */
export interface TransactionRequestOptions {
  /** Tries end by then. Default 60 s. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** The highest version of Produce in that protocol; undefined: any. */
export function produceVersionMax(version: TransactionVersion): number | undefined {
  return version === 1 ? firstProtocol.produce : undefined
}

/**
 * The calls of the transaction protocols, to whichever broker is the coordinator of a transactional id.
 * Each is tried again while that can help; what is refused for good rejects as `transactionFailure` says.
 */
export class TransactionCoordinator {
  readonly transactionalId: string
  readonly #client: KafkaClient
  readonly #target: { readonly coordinatorOf: string; readonly kind: 'transaction' }

  constructor(client: KafkaClient, transactionalId: string) {
    this.#client = client
    this.transactionalId = transactionalId
    this.#target = { coordinatorOf: transactionalId, kind: 'transaction' }
  }

  /**
   * A new epoch: fences whoever had the id, and returns when what was open under it is aborted. Rejects
   * with `CONFIG_INVALID` for a timeout above the broker's limit.
   */
  async initProducerId(
    transactionTimeoutMs: number,
    options: TransactionRequestOptions,
  ): Promise<ProducerIdentity> {
    const { transactionalId } = this
    const asked = { transactionalId, transactionTimeoutMs }
    const response = await this.#ask(initProducerId, asked, options)
    const { errorCode: code, producerId, producerEpoch } = response
    if (code === errorCode.INVALID_TRANSACTION_TIMEOUT) {
      const detail = `${transactionTimeoutMs} ms are more than transaction.max.timeout.ms of the brokers`
      throw new StreamsError('CONFIG_INVALID', { option: 'transactionTimeout', detail })
    }
    this.#throwFor(initProducerId.name, code)
    return { producerId, producerEpoch }
  }

  /** Fences whoever has the id, mostly ourselves: returns once the coordinator has begun to abort what is open. */
  async abandon(transactionTimeoutMs: number, signal?: AbortSignal): Promise<void> {
    const { transactionalId } = this
    const asked = { transactionalId, transactionTimeoutMs }
    const { errorCode: code } = await this.#ask(initProducerId, asked, {
      timeoutMs: abandonMs,
      ...(signal && { signal }),
      errorCodeOf: (response) => abortedCode(response.errorCode),
    })
    this.#throwFor(initProducerId.name, abortedCode(code))
  }

  /** The protocol that the cluster has agreed on. */
  async version(options: TransactionRequestOptions): Promise<TransactionVersion> {
    const us = { clientSoftwareName: 'millpond', clientSoftwareVersion: '1' }
    const { finalizedFeatures, errorCode: code } = await this.#ask(apiVersions, us, options)
    this.#throwFor(apiVersions.name, code)
    const feature = finalizedFeatures.find(({ name }) => name === featureName)
    return (feature?.maxVersionLevel ?? 0) >= 2 ? 2 : 1
  }

  /** Adds partitions to the transaction: in the first protocol, before anything is written there. */
  async addPartitions(
    { producerId, producerEpoch }: ProducerIdentity,
    partitions: readonly TopicPartition[],
    options: TransactionRequestOptions,
  ): Promise<void> {
    const response = await this.#ask(
      addPartitionsToTxn,
      {
        v3AndBelowTransactionalId: this.transactionalId,
        v3AndBelowProducerId: producerId,
        v3AndBelowProducerEpoch: producerEpoch,
        v3AndBelowTopics: groupByTopic(partitions).map(([name, rows]) => ({
          name,
          partitions: rows.map(({ partition }) => partition),
        })),
      },
      {
        ...options,
        versionMax: addPartitionsVersionMax,
        errorCodeOf: (answer) => addFailure(answer)?.errorCode ?? errorCode.NONE,
      },
    )
    const failed = addFailure(response)
    if (failed) this.#throwFor(addPartitionsToTxn.name, failed.errorCode, failed.subject)
  }

  /** Adds the offsets of a group to the transaction: in the first protocol, before any is sent. */
  async addGroup(
    identity: ProducerIdentity,
    groupId: string,
    options: TransactionRequestOptions,
  ): Promise<void> {
    const asked = { transactionalId: this.transactionalId, ...identity, groupId }
    const { errorCode: code } = await this.#ask(addOffsetsToTxn, asked, options)
    this.#throwFor(addOffsetsToTxn.name, code)
  }

  /**
   * Gives offsets to the coordinator of the group, which keeps them for the end of the transaction, and
   * refuses a member that was replaced. Rejects at once with `KAFKA_ERROR` of
   * `UNKNOWN_TOPIC_OR_PARTITION` when a topic was deleted: the others are kept.
   */
  async commitOffsets(
    identity: ProducerIdentity,
    member: OffsetCommitIdentity,
    offsets: readonly CommittedOffset[],
    options: TransactionRequestOptions & { readonly version: TransactionVersion },
  ): Promise<void> {
    const { version, ...request } = options
    const { groupId, memberId, instanceId, generation } = member
    const response = await this.#ask(
      txnOffsetCommit,
      {
        transactionalId: this.transactionalId,
        groupId,
        ...identity,
        generationIdOrMemberEpoch: generation,
        memberId,
        groupInstanceId: instanceId,
        topics: offsetTopics(offsets),
      },
      {
        ...request,
        target: { coordinatorOf: groupId },
        versionMax: version === 1 ? firstProtocol.txnOffsetCommit : undefined,
        errorCodeOf: repeatedOffsetsFailure,
      },
    )
    const failed = commitFailure(response.topics)
    if (failed) this.#throwFor(txnOffsetCommit.name, failed.errorCode, failed.subject)
  }

  /**
   * Commits. The same may be asked again when the answer was lost. Returns who the producer is from then
   * on; in the first protocol the same as before.
   */
  async commit(
    identity: ProducerIdentity,
    options: TransactionRequestOptions & { readonly version: TransactionVersion },
  ): Promise<ProducerIdentity> {
    const { version, ...request } = options
    const { transactionalId } = this
    const versionMax = version === 1 ? firstProtocol.endTxn : undefined
    const asked = { transactionalId, ...identity, committed: true }
    const response = await this.#ask(endTxn, asked, { ...request, versionMax })
    this.#throwFor(endTxn.name, response.errorCode)
    const { producerId, producerEpoch } = response
    return version === 1 || producerId < 0 ? identity : { producerId, producerEpoch }
  }

  #throwFor(api: string, code: number, subject?: string): void {
    if (code === errorCode.NONE) return
    const { transactionalId } = this
    throw transactionFailure(api, code, { transactionalId, ...(subject && { subject }) })
  }

  #ask<In, Response>(
    api: Api<In, unknown, unknown, Response>,
    body: RequestBody<In>,
    options: TransactionRequestOptions & {
      readonly target?: { readonly coordinatorOf: string }
      readonly versionMax?: number | undefined
      readonly errorCodeOf?: (response: Response) => number
    },
  ): Promise<Response> {
    const { target = this.#target, timeoutMs, signal, versionMax, errorCodeOf } = options
    const request: RequestOptions<Response> = {
      retryBackoffMs,
      ...(signal && { signal }),
      ...(timeoutMs !== undefined && { deadlineMs: timeoutMs }),
      ...(versionMax !== undefined && { versionMax }),
      ...(errorCodeOf && { errorCodeOf }),
    }
    return this.#client.request(api, body, target, request)
  }
}

/** CONCURRENT_TRANSACTIONS: it is being aborted. */
function abortedCode(code: number): number {
  return code === errorCode.CONCURRENT_TRANSACTIONS ? errorCode.NONE : code
}

/** The failure of one partition; one that was not tried for another's sake says nothing. */
function addFailure(
  response: ResponseOf<typeof addPartitionsToTxn>,
): { errorCode: number; subject: string } | undefined {
  const failures = response.resultsByTopicV3AndBelow.flatMap(({ name, resultsByPartition }) =>
    resultsByPartition
      .filter((row) => row.partitionErrorCode !== errorCode.NONE)
      .map((row) => ({
        errorCode: row.partitionErrorCode,
        subject: `${name}-${row.partitionIndex}`,
      })),
  )
  const tried = failures.filter((row) => row.errorCode !== errorCode.OPERATION_NOT_ATTEMPTED)
  return tried.find((row) => !kafkaError(row.errorCode).retriable) ?? tried[0] ?? failures[0]
}

/** To ask again does not bring a topic back. */
function repeatedOffsetsFailure(response: ResponseOf<typeof txnOffsetCommit>): number {
  const code = commitFailure(response.topics)?.errorCode ?? errorCode.NONE
  return code === errorCode.UNKNOWN_TOPIC_OR_PARTITION ? errorCode.NONE : code
}
