import { errorCode } from '../../protocol/error-codes.ts'
import type { describeConfigs } from '../../protocol/messages/32-describe-configs.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { groupConfigs } from '../group-configs.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import { nodeId, type RequestContext } from '../request-context.ts'
import {
  topicConfigs,
  type ConfigDefinition,
  type ConfigKind,
  type ConfigValues,
} from '../topic-configs.ts'

type Request = RequestOf<typeof describeConfigs>
type Resource = Request['resources'][number]
type Config = ResponseInputOf<typeof describeConfigs>['results'][number]['configs'][number]

/** The numbers that Kafka gives to kinds of resources. */
export const resourceType = { topic: 2, broker: 4, group: 32 } as const

const configType: Readonly<Record<ConfigKind, number>> = {
  boolean: 1,
  string: 2,
  int: 3,
  long: 5,
  double: 6,
  list: 7,
}

const source = { topic: 1, staticBroker: 4, default: 5, group: 8 } as const

/** Tells the settings of topics, groups and the broker. */
export function handleDescribeConfigs(
  { resources, includeSynonyms, includeDocumentation }: Request,
  context: RequestContext,
): ResponseInputOf<typeof describeConfigs> {
  return {
    results: resources.map((resource) => {
      const { resourceType: type, resourceName } = resource
      const outcome = orRefusal(() => describe(resource, context))
      if (outcome instanceof Refusal)
        return {
          errorCode: outcome.code,
          errorMessage: outcome.message,
          resourceType: type,
          resourceName,
          configs: [],
        }
      const wanted = resource.configurationKeys
      const configs = outcome
        .filter(({ name }) => wanted === null || wanted.includes(name))
        .map((config) => ({
          ...config,
          synonyms: includeSynonyms ? config.synonyms : [],
          documentation: includeDocumentation ? (config.documentation ?? null) : null,
        }))
      const errors = { errorCode: errorCode.NONE, errorMessage: null }
      return { ...errors, resourceType: type, resourceName, configs }
    }),
  }
}

/** All settings of a topic, with where their values come from. */
export function describeTopicConfigs(values: ConfigValues, defaults: ConfigValues): Config[] {
  return describeDefined(topicConfigs, { values, defaults, ownSource: source.topic })
}

function describeDefined(
  definitions: ReadonlyMap<string, ConfigDefinition>,
  set: { values: ConfigValues; defaults: ConfigValues; ownSource: number },
): Config[] {
  const { values, defaults, ownSource } = set
  return [...definitions].map(([name, definition]) => {
    const synonyms: { name: string; value: string; source: number }[] = []
    const add = (value: string | undefined, from: number): void => {
      if (value !== undefined) synonyms.push({ name, value, source: from })
    }
    add(values.get(name), ownSource)
    add(defaults.get(name), source.staticBroker)
    add(definition.default, source.default)
    const [first] = synonyms
    return {
      name,
      value: first?.value ?? null,
      readOnly: false,
      configSource: first?.source ?? source.default,
      isSensitive: false,
      synonyms,
      configType: configType[definition.kind],
      documentation: definition.documentation,
    }
  })
}

function describe(resource: Resource, context: RequestContext): Config[] {
  const { broker } = context
  const name = resource.resourceName
  switch (resource.resourceType) {
    case resourceType.topic: {
      const topic = broker.topics.get(name)
      if (topic === undefined)
        throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no topic ${name}.`)
      return describeTopicConfigs(topic.configs, broker.topicDefaults)
    }
    case resourceType.broker:
      // No name asks for what was changed on all brokers while they run: nothing.
      if (name === '') return []
      if (name !== String(nodeId))
        throw new Refusal('INVALID_REQUEST', `There is one broker, ${nodeId}, not ${name}.`)
      return describeBrokerConfigs(context)
    case resourceType.group: {
      const { configs } = broker.groups.streams
      const { defaults } = configs
      return describeDefined(groupConfigs, {
        values: configs.get(name),
        defaults,
        ownSource: source.group,
      })
    }
    default:
      throw new Refusal(
        'INVALID_REQUEST',
        `Resources of type ${resource.resourceType} have no settings here.`,
      )
  }
}

function describeBrokerConfigs({ broker }: RequestContext): Config[] {
  const { host, port } = broker.endpoint
  const settings: readonly (readonly [string, string, ConfigKind])[] = [
    ['advertised.listeners', `PLAINTEXT://${host}:${port}`, 'list'],
    ['auto.create.topics.enable', String(broker.autoCreateTopics), 'boolean'],
    ['default.replication.factor', '1', 'int'],
    ['node.id', String(nodeId), 'int'],
    ['num.partitions', String(broker.defaultPartitions), 'int'],
    ['process.roles', 'broker,controller', 'list'],
  ]
  return settings.map(([name, value, kind]) => ({
    name,
    value,
    readOnly: true,
    configSource: source.staticBroker,
    isSensitive: false,
    synonyms: [{ name, value, source: source.staticBroker }],
    configType: configType[kind],
  }))
}
