import { errorCode } from '../../protocol/error-codes.ts'
import type { metadata } from '../../protocol/messages/3-metadata.ts'
import { zeroUuid } from '../../protocol/reader.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal } from '../refusal.ts'
import { nodeId, type RequestContext } from '../request-context.ts'
import type { Topic } from '../topics.ts'

type Response = ResponseInputOf<typeof metadata>
type TopicMetadata = Response['topics'][number]
type RequestedTopic = NonNullable<RequestOf<typeof metadata>['topics']>[number]

/** Describes the cluster and topics; a topic that is asked for by name may be created by that. */
export function handleMetadata(
  request: RequestOf<typeof metadata>,
  context: RequestContext,
): Response {
  const { broker, apiVersion } = context
  const { topics } = request
  const asksForAll = topics === null || (apiVersion === 0 && topics.length === 0)
  const mayCreate = broker.autoCreateTopics && request.allowAutoTopicCreation
  return {
    brokers: [{ nodeId, ...broker.endpoint }],
    clusterId: broker.identity.clusterId,
    controllerId: nodeId,
    topics: asksForAll
      ? broker.topics.all().map(describe)
      : topics.map((topic) => find(topic, context, mayCreate)),
  }
}

function find(
  { name, topicId }: RequestedTopic,
  { broker }: RequestContext,
  mayCreate: boolean,
): TopicMetadata {
  if (name === null || topicId !== zeroUuid) {
    const topic = broker.topics.getById(topicId)
    return topic === undefined
      ? failure({ name: null, topicId }, errorCode.UNKNOWN_TOPIC_ID)
      : describe(topic)
  }
  const known = broker.topics.get(name)
  if (known !== undefined) return describe(known)
  const specification = {
    name,
    partitionCount: broker.defaultPartitions,
    configs: new Map<string, string>(),
  }
  if (!mayCreate) {
    const isInvalid = broker.topics.problem(specification)?.error === 'INVALID_TOPIC_EXCEPTION'
    const code = isInvalid
      ? errorCode.INVALID_TOPIC_EXCEPTION
      : errorCode.UNKNOWN_TOPIC_OR_PARTITION
    return failure({ name, topicId }, code)
  }
  const [created] = broker.topics.create([specification])
  if (created === undefined || created instanceof Refusal)
    return failure({ name, topicId }, created?.code ?? errorCode.UNKNOWN_SERVER_ERROR)
  broker.log.info('created a topic that a client asked about', { topic: name })
  return describe(created)
}

function failure(
  { name, topicId }: { name: string | null; topicId: string },
  code: number,
): TopicMetadata {
  return { errorCode: code, name, topicId, partitions: [] }
}

function describe(topic: Topic): TopicMetadata {
  return {
    errorCode: errorCode.NONE,
    name: topic.name,
    topicId: topic.id,
    partitions: topic.partitions.map((log, partitionIndex) => ({
      errorCode: errorCode.NONE,
      partitionIndex,
      leaderId: nodeId,
      leaderEpoch: log.leaderEpoch,
      replicaNodes: [nodeId],
      isrNodes: [nodeId],
    })),
  }
}
