/**
 * The records of transactional ids, in the form in which Kafka keeps them in `__transaction_state`
 * (TransactionLogKey version 0, TransactionLogValue versions 0 and 1).
 */
import { array, int16, int32, int64, int8, string } from '../protocol/field.ts'
import { Reader } from '../protocol/reader.ts'
import { defineMessage } from '../protocol/schema.ts'
import { Writer } from '../protocol/writer.ts'
import { PartitionSet } from './partition-set.ts'
import { transactionStates } from './transaction-state.ts'
import type { TransactionFacts } from './transaction.ts'

const keyVersion = 0
const valueVersion = 1

const transactionLogKey = defineMessage({
  name: 'TransactionLogKey',
  versions: [0, 0],
  fields: { transactionalId: string() },
})

const transactionLogValue = defineMessage({
  name: 'TransactionLogValue',
  versions: [0, 1],
  flexible: 1,
  fields: {
    producerId: int64(),
    previousProducerId: int64({ since: 1, tag: 0, default: -1 }),
    nextProducerId: int64({ since: 1, tag: 1, default: -1 }),
    producerEpoch: int16(),
    transactionTimeoutMs: int32(),
    transactionStatus: int8(),
    transactionPartitions: array(
      { topic: string(), partitionIds: array(int32()) },
      { nullable: 0 },
    ),
    transactionLastUpdateTimestampMs: int64(),
    transactionStartTimestampMs: int64(),
    clientTransactionVersion: int16({ since: 1, tag: 2, default: 0 }),
  },
})

export function encodeTransactionKey(transactionalId: string): Buffer {
  const writer = new Writer(64)
  writer.int16(keyVersion)
  transactionLogKey.encode(keyVersion, { transactionalId }, writer)
  return writer.finish()
}

/** The transactional id; undefined for a record of another kind. */
export function decodeTransactionKey(bytes: Buffer): string | undefined {
  const reader = new Reader(bytes)
  if (reader.int16() !== keyVersion) return undefined
  return transactionLogKey.decode(keyVersion, reader).transactionalId
}

export function encodeTransactionValue(facts: TransactionFacts): Buffer {
  const writer = new Writer(128)
  writer.int16(valueVersion)
  const partitions = [...facts.partitions.byTopic].map(([topic, ids]) => ({
    topic,
    partitionIds: [...ids],
  }))
  const body = {
    producerId: facts.producerId,
    previousProducerId: facts.previousProducerId,
    nextProducerId: facts.nextProducerId,
    producerEpoch: facts.producerEpoch,
    transactionTimeoutMs: facts.timeoutMs,
    transactionStatus: transactionStates.indexOf(facts.state),
    // Kafka writes null before the first transaction.
    transactionPartitions: facts.state === 'Empty' ? null : partitions,
    transactionLastUpdateTimestampMs: facts.updatedAtMs,
    transactionStartTimestampMs: facts.startedAtMs,
    clientTransactionVersion: facts.clientVersion,
  }
  transactionLogValue.encode(valueVersion, body, writer)
  return writer.finish()
}

/** @throws StreamsError `PROTOCOL_MALFORMED`, `PROTOCOL_UNSUPPORTED_VERSION` */
export function decodeTransactionValue(bytes: Buffer): TransactionFacts {
  const reader = new Reader(bytes)
  const body = transactionLogValue.decode(reader.int16(), reader)
  const state = transactionStates[body.transactionStatus]
  if (state === undefined) return reader.fail(`the state ${body.transactionStatus} is unknown`)
  const partitions = (body.transactionPartitions ?? []).flatMap(({ topic, partitionIds }) =>
    partitionIds.map((partition) => ({ topic, partition })),
  )
  return {
    producerId: body.producerId,
    previousProducerId: body.previousProducerId,
    nextProducerId: body.nextProducerId,
    producerEpoch: body.producerEpoch,
    lastProducerEpoch: -1,
    timeoutMs: body.transactionTimeoutMs,
    state,
    partitions: PartitionSet.empty.with(partitions),
    startedAtMs: body.transactionStartTimestampMs,
    updatedAtMs: body.transactionLastUpdateTimestampMs,
    clientVersion: body.clientTransactionVersion,
  }
}
