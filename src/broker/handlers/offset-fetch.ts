import { errorCode } from '../../protocol/error-codes.ts'
import type { offsetFetch } from '../../protocol/messages/9-offset-fetch.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { OffsetStore } from '../offset-store.ts'
import type { RequestContext } from '../request-context.ts'

type Request = RequestOf<typeof offsetFetch>
type Response = ResponseInputOf<typeof offsetFetch>
type RequestedTopics = Request['topics']
type GroupResponse = NonNullable<Response['groups']>[number]

/** The first version that asks for many groups at once. */
const batchedVersion = 8

/** Tells what groups have committed; an offset of -1 where they have not. */
export function handleOffsetFetch(request: Request, context: RequestContext): Response {
  const { groups } = context.broker
  const { offsets } = groups
  const { requireStable } = request
  if (context.apiVersion < batchedVersion) return { topics: describe(offsets, request) }
  return {
    groups: request.groups.map(({ groupId, topics, ...member }) => {
      const problem = groups.fetchProblem(groupId, member)
      if (problem !== undefined) return { groupId, topics: [], errorCode: errorCode[problem] }
      return {
        groupId,
        topics: describe(offsets, { groupId, topics, requireStable }),
        errorCode: errorCode.NONE,
      }
    }),
  }
}

function describe(
  offsets: OffsetStore,
  {
    groupId,
    topics,
    requireStable,
  }: { groupId: string; topics: RequestedTopics; requireStable: boolean },
): GroupResponse['topics'] {
  return (topics ?? committedTopics(offsets, groupId)).map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((partitionIndex) => {
      const key = { topic: name, partition: partitionIndex }
      // A transaction is about to change it: who goes on from it would read twice.
      const isUnstable = requireStable && offsets.isPending(groupId, key)
      const committed = isUnstable ? undefined : offsets.get(groupId, key)
      return {
        partitionIndex,
        committedOffset: committed?.offset ?? -1,
        committedLeaderEpoch: committed?.leaderEpoch ?? -1,
        metadata: committed?.metadata ?? '',
        errorCode: isUnstable ? errorCode.UNSTABLE_OFFSET_COMMIT : errorCode.NONE,
      }
    }),
  }))
}

function committedTopics(offsets: OffsetStore, groupId: string): NonNullable<RequestedTopics> {
  const byTopic = new Map<string, number[]>()
  for (const { topic, partition } of offsets.keys(groupId)) {
    const partitions = byTopic.get(topic)
    if (partitions === undefined) byTopic.set(topic, [partition])
    else partitions.push(partition)
  }
  return [...byTopic].map(([name, partitionIndexes]) => ({ name, partitionIndexes }))
}
