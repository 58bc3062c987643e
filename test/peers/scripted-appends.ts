import { expect } from 'vitest'
import type { ManualClock } from '../../src/base/manual-clock.ts'
import type { KafkaClient } from '../../src/client/kafka-client.ts'
import { Producer, type ProducerOptions } from '../../src/client/producer.ts'
import type { ProducerSession } from '../../src/client/producer-session.ts'
import { errorCode } from '../../src/protocol/error-codes.ts'
import { produce } from '../../src/protocol/messages/0-produce.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { ScriptedCluster } from './scripted-cluster.ts'

/** The log of one partition, which checks sequence numbers as Kafka does. */
export class ScriptedLog {
  readonly values: string[] = []
  readonly batches: { epoch: number; sequence: number; count: number; offset: number }[] = []

  /** The offset of the batch, or an error code as a negative number. */
  append(bytes: Buffer): { code: number; offset: number } {
    const reader = new RecordBatchReader()
    reader.reset(bytes)
    if (!reader.nextBatch()) return { code: errorCode.CORRUPT_MESSAGE, offset: -1 }
    const { producerEpoch: epoch, baseSequence: sequence, recordCount: count } = reader
    const known = this.batches
      .slice(-5)
      .find((batch) => batch.epoch === epoch && batch.sequence === sequence)
    if (known !== undefined) return { code: 0, offset: known.offset }
    const last = this.batches.at(-1)
    // Where a broker remembers nothing of a producer, it takes any number.
    const follows = last?.epoch === epoch ? (last.sequence + last.count) % 2 ** 31 : 0
    if (last !== undefined && sequence !== follows)
      return { code: errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, offset: -1 }
    const offset = this.values.length
    while (reader.next()) this.values.push(reader.valueString() ?? '(null)')
    this.batches.push({ epoch, sequence, count, offset })
    return { code: 0, offset }
  }
}

/** What the next Produce requests meet: answered as usual when there is nothing. */
export type Fault =
  | 'lose the request'
  | 'lose the answer'
  | 'hang'
  | { readonly code: number; readonly isAppended?: boolean }

/** A cluster of scripted logs, and what a test does with it. */
export interface ProducingSetUp {
  readonly cluster: ScriptedCluster
  readonly clock: ManualClock
  readonly client: KafkaClient
  readonly producer: Producer
  /** Of topic `t`, by partition. */
  readonly logs: readonly ScriptedLog[]
  /** What the next Produce requests meet, in turn. */
  readonly faults: Fault[]
  /** Batches with more records are refused as too large. */
  readonly setRecordsMax: (max: number) => void
  /** Batches with such a value are refused; code 0: taken. */
  readonly setRefusal: (codeOf: (value: string) => number) => void
  readonly send: (value: string, partition?: number) => void
  /** Closes all, and checks that nothing is left. */
  readonly end: () => Promise<void>
}

/** Starts a producer against brokers that append to these logs. */
export async function startProducing(
  options: {
    nodes?: number
    partitions?: number
    producer?: ProducerOptions
    session?: (client: KafkaClient) => ProducerSession
    onWritten?: () => void
  } = {},
): Promise<ProducingSetUp> {
  const { nodes = 1, partitions = 1 } = options
  const cluster = await ScriptedCluster.start({ nodes, topics: { t: partitions } })
  const logs = Array.from({ length: partitions }, () => new ScriptedLog())
  const faults: Fault[] = []
  let recordsMax = Infinity
  let refusalOf = (_value: string): number => errorCode.NONE
  cluster.brokers.forEach((broker, index) => {
    broker.on(produce, ({ body, connection }) => {
      const fault = faults.shift()
      if (fault === 'hang') return 'silence'
      if (fault === 'lose the request') {
        connection.destroy()
        return 'silence'
      }
      const partitionResponses = body.topicData
        .flatMap((topic) => topic.partitionData)
        .map((row) => {
          const isLeader = cluster.leaders.get('t')?.[row.index]?.node === index + 1
          const injected = typeof fault === 'object' ? fault : undefined
          if (!isLeader) return answer(row.index, errorCode.NOT_LEADER_OR_FOLLOWER)
          if (injected !== undefined && injected.isAppended !== true)
            return answer(row.index, injected.code)
          const bytes = row.records ?? Buffer.alloc(0)
          if (bytes.readInt32BE(57) > recordsMax)
            return answer(row.index, errorCode.MESSAGE_TOO_LARGE)
          const refusal = valuesOf(bytes).map(refusalOf).find(Boolean)
          if (refusal !== undefined) return answer(row.index, refusal)
          const { code, offset } = logs[row.index]?.append(bytes) ?? { code: -1, offset: -1 }
          options.onWritten?.()
          return answer(row.index, injected?.code ?? code, offset)
        })
      if (fault === 'lose the answer') {
        connection.destroy()
        return 'silence'
      }
      return { responses: [{ name: 't', partitionResponses }] }
    })
  })
  const client = cluster.client()
  await client.topicMetadata(['t'])
  const session = options.session?.(client)
  const producer = new Producer(client, { ...options.producer, ...(session && { session }) })
  return {
    cluster,
    clock: cluster.clock,
    client,
    producer,
    logs,
    faults,
    setRecordsMax: (max: number): void => {
      recordsMax = max
    },
    setRefusal: (codeOf) => {
      refusalOf = codeOf
    },
    send: (value: string, partition = 0): void =>
      producer.send('t', partition, null, Buffer.from(value), 1000, []),
    end: async (): Promise<void> => {
      await producer.close()
      await client.close()
      await cluster.clock.settle()
      expect(cluster.network.openCount).toBe(0)
      expect(cluster.clock.timerCount).toBe(0)
    },
  }
}

function valuesOf(bytes: Buffer): string[] {
  const reader = new RecordBatchReader()
  reader.reset(bytes)
  const values: string[] = []
  if (reader.nextBatch()) while (reader.next()) values.push(reader.valueString() ?? '(null)')
  return values
}

function answer(index: number, code: number, baseOffset = -1) {
  return { index, errorCode: code, baseOffset }
}

/** Runs the clock until the promise settles; fails when it does not within the time. */
export async function settled<T>(
  clock: ManualClock,
  promise: Promise<T>,
  ms = 200_000,
): Promise<T> {
  const progress = { isDone: false }
  const watched = promise.finally(() => {
    progress.isDone = true
  })
  watched.catch(() => undefined)
  for (let spent = 0; !progress.isDone && spent < ms; spent += 50) await clock.run(50)
  if (!progress.isDone) throw new Error(`not settled within ${ms} ms`)
  return watched
}
