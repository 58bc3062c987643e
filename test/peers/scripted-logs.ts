import { expect } from 'vitest'
import type { ManualClock } from '../../src/base/manual-clock.ts'
import {
  Fetcher,
  type FetchAssignment,
  type FetchedRecords,
  type FetcherOptions,
} from '../../src/client/fetcher.ts'
import type { KafkaClient } from '../../src/client/kafka-client.ts'
import type { AbortedTransaction } from '../../src/client/committed-runs.ts'
import { errorCode } from '../../src/protocol/error-codes.ts'
import { fetch } from '../../src/protocol/messages/1-fetch.ts'
import { listOffsets } from '../../src/protocol/messages/2-list-offsets.ts'
import { offsetForLeaderEpoch } from '../../src/protocol/messages/23-offset-for-leader-epoch.ts'
import { batchPosition } from '../../src/protocol/record-batch-layout.ts'
import { patchBaseOffset, patchLeaderEpoch } from '../../src/protocol/record-batch-patch.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { RecordBatchBuilder } from '../../src/protocol/record-builder.ts'
import { ScriptedCluster } from './scripted-cluster.ts'

const recordTimestamp = 1000

/** A log of batches of three records each, from offset 0 on. */
export class ScriptedLog {
  readonly batches: Buffer[] = []
  startOffset = 0

  get end(): number {
    return this.batches.length * 3
  }

  /** The last stable offset: there are no transactions. */
  get stableEnd(): number {
    return this.end
  }

  /** The leader epoch -1 is what a broker without any writes. */
  append(leaderEpoch = -1): void {
    const builder = new RecordBatchBuilder()
    const base = this.end
    for (let index = 0; index < 3; index += 1) {
      builder.append(
        Buffer.from(`k${base + index}`),
        Buffer.from(`v${base + index}`),
        recordTimestamp,
      )
    }
    const batch = builder.build({ producerId: -1, producerEpoch: -1, baseSequence: -1 })
    patchBaseOffset(batch, base)
    patchLeaderEpoch(batch, leaderEpoch)
    this.batches.push(batch)
  }

  /** Where the records of an epoch end, and the last epoch up to it of which there are any. */
  epochEnd(epoch: number): { leaderEpoch: number; endOffset: number } {
    const epochs = this.batches.map((batch) =>
      batch.readInt32BE(batchPosition.partitionLeaderEpoch),
    )
    const later = epochs.findIndex((one) => one > epoch)
    const last = later < 0 ? epochs.length : later
    const known = epochs[last - 1]
    return known === undefined
      ? { leaderEpoch: -1, endOffset: -1 }
      : { leaderEpoch: known, endOffset: last * 3 }
  }

  /** From the batch that holds the offset on, cut by bytes as a broker does. */
  read(offset: number, bytesMax: number, _isolation = 0): Buffer {
    const first = Math.floor(offset / 3)
    const bytes = Buffer.concat(this.batches.slice(first))
    return bytes.subarray(0, Math.max(bytesMax, this.batches[first]?.length ?? 0))
  }

  /** Aborted transactions of what was read from there. */
  aborted(_offset: number, _records: Buffer): AbortedTransaction[] {
    return []
  }
}

/** A cluster of scripted logs, and what a test does with it. */
export interface FetchingSetUp {
  readonly cluster: ScriptedCluster
  readonly clock: ManualClock
  readonly client: KafkaClient
  /** Of topic `t`, by partition. */
  readonly logs: readonly ScriptedLog[]
  /** Error codes that a node answers for a partition, by `node/partition`. */
  readonly faults: Map<string, number>
  /** A batch arrives; long polls return. */
  readonly append: (partition?: number) => void
  readonly fetcher: (options?: FetcherOptions) => Fetcher
  /** Closes all, and checks that nothing is left. */
  readonly end: (fetcher: Fetcher) => Promise<void>
}

/** A cluster whose brokers serve these logs; `errorOf` may refuse a partition at a node. */
export async function startFetching(
  options: { nodes?: number; partitions?: number; logs?: readonly ScriptedLog[] } = {},
): Promise<FetchingSetUp> {
  const { nodes = 1, partitions = options.logs?.length ?? 1 } = options
  const cluster = await ScriptedCluster.start({ nodes, topics: { t: partitions } })
  const logs = options.logs ?? Array.from({ length: partitions }, () => new ScriptedLog())
  const faults = new Map<string, number>()
  const held = new Set<() => void>()
  cluster.brokers.forEach((broker, index) => {
    const node = index + 1
    const errorOf = (partition: number, epoch: number): number => {
      const fault = faults.get(`${node}/${partition}`)
      if (fault !== undefined) return fault
      const leader = cluster.leaders.get('t')?.[partition]
      if (leader?.node !== node) return errorCode.NOT_LEADER_OR_FOLLOWER
      return epoch >= 0 && epoch < leader.epoch ? errorCode.FENCED_LEADER_EPOCH : 0
    }
    const endOf = (partition: number, isolation: number): number | undefined =>
      isolation === 0 ? logs[partition]?.end : logs[partition]?.stableEnd
    broker.on(fetch, async ({ body }) => {
      const rows = body.topics.flatMap((topic) => topic.partitions)
      const hasNews = rows.some(
        (row) =>
          errorOf(row.partition, row.currentLeaderEpoch) !== 0 ||
          row.fetchOffset < (logs[row.partition]?.startOffset ?? 0) ||
          row.fetchOffset !== endOf(row.partition, body.isolationLevel),
      )
      if (!hasNews && body.maxWaitMs > 0) {
        await new Promise<void>((resolve) => {
          const release = (): void => {
            timer.cancel()
            held.delete(release)
            resolve()
          }
          const timer = cluster.clock.setTimer(body.maxWaitMs, release)
          held.add(release)
        })
      }
      let room = body.maxBytes
      return {
        errorCode: 0,
        responses: [
          {
            topic: 't',
            partitions: rows.map((row) => {
              const log = logs[row.partition] ?? new ScriptedLog()
              const isOut = row.fetchOffset < log.startOffset || row.fetchOffset > log.end
              const code =
                errorOf(row.partition, row.currentLeaderEpoch) ||
                (isOut ? errorCode.OFFSET_OUT_OF_RANGE : 0)
              const records =
                code !== 0 ||
                row.fetchOffset === endOf(row.partition, body.isolationLevel) ||
                room <= 0
                  ? Buffer.alloc(0)
                  : log.read(
                      row.fetchOffset,
                      Math.min(room, row.partitionMaxBytes),
                      body.isolationLevel,
                    )
              room -= records.length
              return {
                partitionIndex: row.partition,
                errorCode: code,
                highWatermark: log.end,
                lastStableOffset: log.stableEnd,
                logStartOffset: log.startOffset,
                abortedTransactions:
                  body.isolationLevel === 0 ? null : log.aborted(row.fetchOffset, records),
                records,
              }
            }),
          },
        ],
      }
    })
    broker.on(offsetForLeaderEpoch, ({ body }) => ({
      topics: body.topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition, currentLeaderEpoch, leaderEpoch }) => {
          const code = errorOf(partition, currentLeaderEpoch)
          const log = logs[partition] ?? new ScriptedLog()
          return { partition, errorCode: code, ...(code === 0 && log.epochEnd(leaderEpoch)) }
        }),
      })),
    }))
    broker.on(listOffsets, ({ body }) => ({
      topics: [
        {
          name: 't',
          partitions: body.topics
            .flatMap((topic) => topic.partitions)
            .map(({ partitionIndex, timestamp }) => ({
              partitionIndex,
              errorCode: errorOf(partitionIndex, -1),
              offset: offsetAt(
                logs[partitionIndex] ?? new ScriptedLog(),
                timestamp,
                body.isolationLevel,
              ),
            })),
        },
      ],
    }))
  })
  const client = cluster.client()
  return {
    cluster,
    clock: cluster.clock,
    client,
    logs,
    faults,
    append: (partition = 0): void => {
      logs[partition]?.append()
      for (const release of held) release()
    },
    fetcher: (fetcherOptions: FetcherOptions = {}): Fetcher => new Fetcher(client, fetcherOptions),
    end: async (fetcher: Fetcher): Promise<void> => {
      await fetcher.close()
      await client.close()
      for (const release of held) release()
      await cluster.clock.settle()
      expect(cluster.network.openCount).toBe(0)
      expect(cluster.clock.timerCount).toBe(0)
    },
  }
}

/** All records have one timestamp; -1 and -2 stand for the ends. */
function offsetAt(log: ScriptedLog, timestamp: number, isolation: number): number {
  if (timestamp === -1) return isolation === 0 ? log.end : log.stableEnd
  return timestamp <= recordTimestamp ? log.startOffset : -1
}

/** Values of the records from `startOffset` on, those of markers left out. */
export function valuesOf(fetched: FetchedRecords): string[] {
  const reader = new RecordBatchReader()
  reader.reset(fetched.records)
  const values: string[] = []
  while (reader.nextBatch()) {
    if (reader.isControl) reader.skipBatch()
    while (reader.next()) {
      if (reader.offset >= fetched.startOffset) values.push(reader.valueString() ?? '(null)')
    }
  }
  return values
}

/** Offsets of the records from `startOffset` on, as a reader of them sees it. */
export function offsetsOf(fetched: FetchedRecords): number[] {
  const reader = new RecordBatchReader()
  reader.reset(fetched.records)
  const offsets: number[] = []
  while (reader.nextBatch()) {
    while (reader.next()) if (reader.offset >= fetched.startOffset) offsets.push(reader.offset)
  }
  return offsets
}

/** An assignment of `t`. */
export const at = (partition: number, offset: FetchAssignment['offset']): FetchAssignment => ({
  topic: 't',
  partition,
  offset,
})
