import { describe, expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { PartitionSet } from './partition-set.ts'
import {
  decodeTransactionKey,
  decodeTransactionValue,
  encodeTransactionKey,
  encodeTransactionValue,
} from './transaction-record.ts'
import type { TransactionFacts } from './transaction.ts'

/** Made by conformance/java/TransactionLogVectors.java with Kafka 4.4.0. */
const vectors = {
  key: '000000027478',
  version0:
    '0000000000000000000700030000ea600200000002000174000000020000000000000002000175000000010000000100000000000007d000000000000003e8',
  version1:
    '0001000000000000000700030000ea600203027403000000000000000200027502000000010000000000000007d000000000000003e803000800000000000000070108000000000000000802020002',
  empty:
    '0001000000000000000700000000ea60000000000000000007d0ffffffffffffffff0100080000000000000007',
}

const facts: TransactionFacts = {
  producerId: 7,
  previousProducerId: 7,
  nextProducerId: 8,
  producerEpoch: 3,
  lastProducerEpoch: -1,
  timeoutMs: 60_000,
  state: 'PrepareCommit',
  partitions: PartitionSet.empty.with([
    { topic: 't', partition: 0 },
    { topic: 't', partition: 2 },
    { topic: 'u', partition: 1 },
  ]),
  startedAtMs: 1_000,
  updatedAtMs: 2_000,
  clientVersion: 2,
}

const empty: TransactionFacts = {
  ...facts,
  nextProducerId: -1,
  producerEpoch: 0,
  state: 'Empty',
  partitions: PartitionSet.empty,
  startedAtMs: -1,
  clientVersion: 0,
}

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** Facts with their partitions as a list. */
const shown = ({ partitions, ...rest }: TransactionFacts): unknown => ({
  ...rest,
  partitions: [...partitions],
})

describe('the records of transactional ids', () => {
  test('have the bytes that Kafka writes', () => {
    expect(encodeTransactionKey('tx').toString('hex')).toBe(vectors.key)
    expect(encodeTransactionValue(facts).toString('hex')).toBe(vectors.version1)
    expect(encodeTransactionValue(empty).toString('hex')).toBe(vectors.empty)
  })

  test('are read in both versions', () => {
    expect(decodeTransactionKey(bytes(vectors.key))).toBe('tx')
    expect(shown(decodeTransactionValue(bytes(vectors.version1)))).toEqual(shown(facts))
    expect(shown(decodeTransactionValue(bytes(vectors.empty)))).toEqual(shown(empty))
    expect(shown(decodeTransactionValue(bytes(vectors.version0)))).toEqual(
      shown({ ...facts, previousProducerId: -1, nextProducerId: -1, clientVersion: 0 }),
    )
  })

  test('of other kinds are passed over, and rubbish is told', () => {
    expect(decodeTransactionKey(Buffer.from([0, 1, 0, 0]))).toBe(undefined)
    const unknownState = bytes(vectors.version1)
    unknownState.writeInt8(9, 2 + 8 + 2 + 4)
    expect(() => decodeTransactionValue(unknownState)).toThrow(StreamsError)
    expect(() => decodeTransactionValue(bytes(vectors.version1).subarray(0, 12))).toThrow(
      StreamsError,
    )
  })
})
