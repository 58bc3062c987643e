import { errorCode } from '../../protocol/error-codes.ts'
import type { listOffsets } from '../../protocol/messages/2-list-offsets.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { TimestampOffset } from '../log-segment.ts'
import type { PartitionLog } from '../partition-log.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import { leaderEpochProblem } from './leader-epoch.ts'

type Request = RequestOf<typeof listOffsets>
type Response = ResponseInputOf<typeof listOffsets>
type PartitionResponse = Response['topics'][number]['partitions'][number]

/** Timestamps with a meaning of their own. */
const special = { latest: -1, earliest: -2, maxTimestamp: -3, earliestLocal: -4 } as const

const none = -1

const readCommitted = 1

/**
 * Finds offsets by time, and the ends of the logs: for readers of committed records nothing at or
 * after the last stable offset.
 */
export function handleListOffsets(
  { topics, isolationLevel }: Request,
  context: RequestContext,
): Response {
  return {
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex, currentLeaderEpoch, timestamp }) => {
        const outcome = orRefusal(() => {
          const log = context.broker.topics.partition(name, partitionIndex)
          if (log === undefined)
            throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no topic ${name}.`)
          const problem = leaderEpochProblem(log, currentLeaderEpoch)
          if (problem !== undefined) throw problem
          const endOffset = isolationLevel === readCommitted ? log.lastStableOffset : log.endOffset
          return describe(log, find(log, timestamp, endOffset), context.apiVersion)
        })
        return outcome instanceof Refusal
          ? { partitionIndex, errorCode: outcome.code }
          : { partitionIndex, errorCode: errorCode.NONE, ...outcome }
      }),
    })),
  }
}

function find(
  log: PartitionLog,
  timestamp: number,
  endOffset: number,
): TimestampOffset | undefined {
  switch (timestamp) {
    case special.latest:
      return { timestamp: none, offset: endOffset }
    case special.earliest:
    case special.earliestLocal:
      return { timestamp: none, offset: log.startOffset }
    default: {
      const found =
        timestamp === special.maxTimestamp ? log.findMaxTimestamp() : log.findTimestamp(timestamp)
      return found !== undefined && found.offset < endOffset ? found : undefined
    }
  }
}

function describe(
  log: PartitionLog,
  found: TimestampOffset | undefined,
  apiVersion: number,
): Pick<PartitionResponse, 'timestamp' | 'offset' | 'leaderEpoch'> {
  if (found === undefined) return { timestamp: none, offset: none }
  return apiVersion >= 4 ? { ...found, leaderEpoch: log.epochOf(found.offset) } : found
}
