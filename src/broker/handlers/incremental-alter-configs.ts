import { errorCode } from '../../protocol/error-codes.ts'
import type { incrementalAlterConfigs } from '../../protocol/messages/44-incremental-alter-configs.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import {
  configProblem,
  configValue,
  listWords,
  topicConfigs,
  type TopicConfigName,
} from '../topic-configs.ts'
import { resourceType } from './describe-configs.ts'

type Request = RequestOf<typeof incrementalAlterConfigs>
type Resource = Request['resources'][number]

const operation = { set: 0, delete: 1, append: 2, subtract: 3 } as const

/** Changes settings of topics and groups; those of one together or not at all. */
export function handleIncrementalAlterConfigs(
  { resources, validateOnly }: Request,
  context: RequestContext,
): ResponseInputOf<typeof incrementalAlterConfigs> {
  return {
    responses: resources.map((resource) => {
      const outcome = orRefusal(() => alter(resource, context, validateOnly))
      return {
        errorCode: outcome instanceof Refusal ? outcome.code : errorCode.NONE,
        errorMessage: outcome instanceof Refusal ? outcome.message : null,
        resourceType: resource.resourceType,
        resourceName: resource.resourceName,
      }
    }),
  }
}

function alter(resource: Resource, context: RequestContext, validateOnly: boolean): void {
  switch (resource.resourceType) {
    case resourceType.topic:
      return alterTopic(resource, context, validateOnly)
    case resourceType.group:
      return alterGroup(resource, context, validateOnly)
    default:
      throw new Refusal(
        'INVALID_REQUEST',
        'Only settings of topics and groups change while the broker runs.',
      )
  }
}

function alterGroup(resource: Resource, { broker }: RequestContext, validateOnly: boolean): void {
  const { configs } = broker.groups.streams
  const groupId = resource.resourceName
  const values = new Map(configs.get(groupId))
  for (const { name, configOperation, value } of resource.configs) {
    if (configOperation === operation.delete) values.delete(name)
    else if (configOperation === operation.set && value !== null) values.set(name, value)
    else throw new Refusal('INVALID_CONFIG', `${name} is not a list.`)
  }
  configs.set(groupId, values, { validateOnly })
}

function alterTopic(resource: Resource, { broker }: RequestContext, validateOnly: boolean): void {
  const topic = broker.topics.get(resource.resourceName)
  if (topic === undefined)
    throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no topic ${resource.resourceName}.`)
  const names = new Set(resource.configs.map(({ name }) => name))
  if (names.size < resource.configs.length)
    throw new Refusal('INVALID_REQUEST', 'A setting is named twice.')
  const values = new Map(topic.configs)
  for (const { name, configOperation, value } of resource.configs) {
    const present = (): string[] =>
      listWords(configValue(name as TopicConfigName, values, broker.topicDefaults))
    const changed = apply({ name, configOperation, value }, present)
    if (changed === undefined) values.delete(name)
    else values.set(name, changed)
  }
  if (!validateOnly) broker.topics.setConfigs(topic, values)
}

/** The new value, undefined for the default. */
function apply(
  { name, configOperation, value }: Resource['configs'][number],
  present: () => string[],
): string | undefined {
  const definition = topicConfigs.get(name)
  if (definition === undefined)
    throw new Refusal('INVALID_CONFIG', `Unknown topic config name: ${name}`)
  switch (configOperation) {
    case operation.set:
      return checked(name, value)
    case operation.delete:
      return undefined
    case operation.append:
    case operation.subtract: {
      if (definition.kind !== 'list') throw new Refusal('INVALID_CONFIG', `${name} is not a list.`)
      const words = new Set(present())
      for (const word of listWords(value ?? '')) {
        if (configOperation === operation.append) words.add(word)
        else words.delete(word)
      }
      return checked(name, [...words].join(','))
    }
    default:
      throw new Refusal('INVALID_REQUEST', `There is no operation ${configOperation}.`)
  }
}

function checked(name: string, value: string | null): string {
  const problem = configProblem(name, value)
  if (problem !== undefined || value === null)
    throw new Refusal('INVALID_CONFIG', problem ?? `${name} has no value.`)
  return value
}
