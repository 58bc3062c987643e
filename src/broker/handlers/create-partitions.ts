import { errorCode } from '../../protocol/error-codes.ts'
import type { createPartitions } from '../../protocol/messages/37-create-partitions.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import { nodeId, type RequestContext } from '../request-context.ts'

type Request = RequestOf<typeof createPartitions>

/** Raises the number of partitions of topics. */
export function handleCreatePartitions(
  { topics, validateOnly }: Request,
  context: RequestContext,
): ResponseInputOf<typeof createPartitions> {
  return {
    results: topics.map((requested) => {
      const outcome = orRefusal(() => extend(requested, context, validateOnly))
      return outcome instanceof Refusal
        ? { name: requested.name, errorCode: outcome.code, errorMessage: outcome.message }
        : { name: requested.name, errorCode: errorCode.NONE }
    }),
  }
}

function extend(
  { name, count, assignments }: Request['topics'][number],
  { broker }: RequestContext,
  validateOnly: boolean,
): void {
  const topic = broker.topics.get(name)
  if (topic === undefined)
    throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no topic ${name}.`)
  const problem = broker.topics.partitionsProblem(topic, count)
  if (problem !== undefined) throw problem
  const isAssigned =
    assignments === null ||
    (assignments.length === count - topic.partitions.length &&
      assignments.every(({ brokerIds }) => brokerIds.length === 1 && brokerIds[0] === nodeId))
  if (!isAssigned)
    throw new Refusal(
      'INVALID_REPLICA_ASSIGNMENT',
      `Each new partition must be on the one broker, ${nodeId}.`,
    )
  if (!validateOnly) broker.topics.addPartitions(topic, count)
}
