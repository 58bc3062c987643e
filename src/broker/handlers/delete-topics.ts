import { errorCode } from '../../protocol/error-codes.ts'
import type { deleteTopics } from '../../protocol/messages/20-delete-topics.ts'
import { zeroUuid } from '../../protocol/reader.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'

type Result = ResponseInputOf<typeof deleteTopics>['responses'][number]

/** Deletes topics by name or id, with their records and what groups have committed for them. */
export function handleDeleteTopics(
  request: RequestOf<typeof deleteTopics>,
  context: RequestContext,
): ResponseInputOf<typeof deleteTopics> {
  const wanted =
    context.apiVersion >= 6
      ? request.topics
      : request.topicNames.map((name) => ({ name, topicId: zeroUuid }))
  return { responses: wanted.map((one) => deleteTopic(one, context)) }
}

function deleteTopic(
  { name, topicId }: { name: string | null; topicId: string },
  { broker }: RequestContext,
): Result {
  const topic = name === null ? broker.topics.getById(topicId) : broker.topics.get(name)
  if (topic === undefined) {
    const code = name === null ? 'UNKNOWN_TOPIC_ID' : 'UNKNOWN_TOPIC_OR_PARTITION'
    return { name, topicId, errorCode: errorCode[code], errorMessage: 'There is no such topic.' }
  }
  const outcome = orRefusal(() => {
    broker.topics.delete(topic)
    broker.groups.offsets.deleteTopic(topic.name)
  })
  return {
    name: topic.name,
    topicId: topic.id,
    errorCode: outcome instanceof Refusal ? outcome.code : errorCode.NONE,
    errorMessage: outcome instanceof Refusal ? outcome.message : null,
  }
}
