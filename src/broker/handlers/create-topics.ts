import { errorCode } from '../../protocol/error-codes.ts'
import type { createTopics } from '../../protocol/messages/19-create-topics.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal } from '../refusal.ts'
import { nodeId, type RequestContext } from '../request-context.ts'
import type { Topic, TopicSpecification } from '../topics.ts'
import { describeTopicConfigs } from './describe-configs.ts'

type Request = RequestOf<typeof createTopics>
type RequestedTopic = Request['topics'][number]
type Result = ResponseInputOf<typeof createTopics>['topics'][number]

/** Creates topics; each succeeds or fails for itself. */
export function handleCreateTopics(
  { topics, validateOnly }: Request,
  context: RequestContext,
): ResponseInputOf<typeof createTopics> {
  const { broker } = context
  const specifications = topics.map((topic) => specify(topic, topics, context))
  const accepted = specifications.filter(
    (one): one is TopicSpecification => !(one instanceof Refusal),
  )
  const outcomes = validateOnly
    ? accepted.map((one) => broker.topics.problem(one) ?? one)
    : broker.topics.create(accepted)
  const byName = new Map(accepted.map((one, index) => [one.name, outcomes[index]]))
  return {
    topics: topics.map(({ name }, index) => {
      const specification = specifications[index]
      const outcome = specification instanceof Refusal ? specification : byName.get(name)
      return describe(name, outcome, context)
    }),
  }
}

function specify(
  requested: RequestedTopic,
  all: readonly RequestedTopic[],
  { broker }: RequestContext,
): TopicSpecification | Refusal {
  const { name, numPartitions, replicationFactor, assignments, configs } = requested
  if (all.some((other) => other !== requested && other.name === name))
    return new Refusal('INVALID_REQUEST', `The topic ${name} is named twice.`)
  const settings = new Map(configs.map((config) => [config.name, config.value]))
  if (assignments.length > 0) {
    const problem = assignmentsProblem(requested)
    return problem ?? { name, partitionCount: assignments.length, configs: settings }
  }
  if (replicationFactor !== 1 && replicationFactor !== -1)
    return new Refusal(
      'INVALID_REPLICATION_FACTOR',
      `The replication factor ${replicationFactor} cannot be reached: there is one broker.`,
    )
  const partitionCount = numPartitions === -1 ? broker.defaultPartitions : numPartitions
  return { name, partitionCount, configs: settings }
}

function assignmentsProblem(requested: RequestedTopic): Refusal | undefined {
  const { numPartitions, replicationFactor, assignments } = requested
  if (numPartitions !== -1 || replicationFactor !== -1)
    return new Refusal(
      'INVALID_REQUEST',
      'With an assignment of replicas, partitions and replication factor must be -1.',
    )
  const indexes = new Set(assignments.map(({ partitionIndex }) => partitionIndex))
  const areIndexesGood =
    indexes.size === assignments.length &&
    [...indexes].every((index) => index >= 0 && index < assignments.length)
  const areBrokersGood = assignments.every(
    ({ brokerIds }) => brokerIds.length === 1 && brokerIds[0] === nodeId,
  )
  if (areIndexesGood && areBrokersGood) return undefined
  return new Refusal(
    'INVALID_REPLICA_ASSIGNMENT',
    `Partitions must be numbered from 0, each on the one broker, ${nodeId}.`,
  )
}

function describe(
  name: string,
  outcome: Topic | TopicSpecification | Refusal | undefined,
  context: RequestContext,
): Result {
  if (outcome instanceof Refusal || outcome === undefined)
    return {
      name,
      errorCode: outcome?.code ?? errorCode.UNKNOWN_SERVER_ERROR,
      errorMessage: outcome?.message ?? null,
      configs: [],
    }
  const isCreated = 'id' in outcome
  const values = new Map<string, string>()
  for (const [key, value] of outcome.configs) if (value !== null) values.set(key, value)
  return {
    name,
    ...(isCreated ? { topicId: outcome.id } : {}),
    errorCode: errorCode.NONE,
    errorMessage: null,
    numPartitions: isCreated ? outcome.partitions.length : outcome.partitionCount,
    replicationFactor: 1,
    configs: describeTopicConfigs(values, context.broker.topicDefaults),
  }
}
