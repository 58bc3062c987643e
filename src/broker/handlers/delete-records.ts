import { errorCode } from '../../protocol/error-codes.ts'
import type { deleteRecords } from '../../protocol/messages/21-delete-records.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import { listWords } from '../topic-configs.ts'

/** Stands for the end of the log. */
const toTheEnd = -1

/** Deletes the records before an offset. */
export function handleDeleteRecords(
  { topics }: RequestOf<typeof deleteRecords>,
  context: RequestContext,
): ResponseInputOf<typeof deleteRecords> {
  return {
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex, offset }) => {
        const outcome = orRefusal(() => deleteBefore({ name, partitionIndex, offset }, context))
        return outcome instanceof Refusal
          ? { partitionIndex, lowWatermark: -1, errorCode: outcome.code }
          : { partitionIndex, lowWatermark: outcome, errorCode: errorCode.NONE }
      }),
    })),
  }
}

/** Returns the new start offset. */
function deleteBefore(
  { name, partitionIndex, offset }: { name: string; partitionIndex: number; offset: number },
  { broker }: RequestContext,
): number {
  const topic = broker.topics.get(name)
  const log = topic?.partitions[partitionIndex]
  if (topic === undefined || log === undefined)
    throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no topic ${name}.`)
  const policy = topic.configs.get('cleanup.policy') ?? broker.topicDefaults.get('cleanup.policy')
  if (policy !== undefined && !listWords(policy).includes('delete'))
    throw new Refusal('POLICY_VIOLATION', `The cleanup.policy of ${name} is ${policy}.`)
  const before = offset === toTheEnd ? log.endOffset : offset
  if (before < 0 || before > log.endOffset)
    throw new Refusal('OFFSET_OUT_OF_RANGE', `Offset ${offset} is not in the log.`)
  log.deleteBefore(before)
  return log.startOffset
}
