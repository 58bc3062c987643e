import { errorCode } from '../protocol/error-codes.ts'
import { describeConfigs as describeConfigsApi } from '../protocol/messages/32-describe-configs.ts'
import { incrementalAlterConfigs as incrementalAlterConfigsApi } from '../protocol/messages/44-incremental-alter-configs.ts'
import { requestOptions, throwFailure, type AdminRequestOptions } from './admin-request.ts'
import type { KafkaClient, RequestTarget } from './kafka-client.ts'

const resourceTypes = { topic: 2, broker: 4, group: 32 }

/** Operations of IncrementalAlterConfigs. */
const setConfig = 0
const deleteConfig = 1

/** Sources of a setting that nobody made: the default of Kafka. */
const defaultConfigSource = 5

/** Sources of a setting that was made for the topic or group itself. */
const ownConfigSources: ReadonlySet<number> = new Set([1, 8])

/** One setting of a topic, broker or group. */
export interface ConfigEntry {
  readonly name: string
  /** Null: a secret, or not set. */
  readonly value: string | null
  /** True when nobody set it. */
  readonly isDefault: boolean
  /** True when it was set for this topic or group, and not for all. */
  readonly isOwn: boolean
  readonly isReadOnly: boolean
  readonly isSensitive: boolean
}

/** What has settings. */
export interface ConfigResource {
  readonly type: 'topic' | 'broker' | 'group'
  /** The topic, the node id, or the group. */
  readonly name: string
}

/** All settings of the resources, in their order. */
export async function describeConfigs(
  client: KafkaClient,
  resources: readonly ConfigResource[],
  options: AdminRequestOptions = {},
): Promise<ConfigEntry[][]> {
  const described: ConfigEntry[][] = []
  for (const resource of resources) {
    const response = await client.request(
      describeConfigsApi,
      {
        resources: [
          {
            resourceType: resourceTypes[resource.type],
            resourceName: resource.name,
            configurationKeys: null,
          },
        ],
      },
      targetOf(resource, 'any'),
      {
        ...requestOptions(options),
        errorCodeOf: (answer) => answer.results[0]?.errorCode ?? errorCode.UNKNOWN_SERVER_ERROR,
      },
    )
    const result = response.results[0]
    throwFailure(describeConfigsApi.name, resource.name, result)
    described.push(
      (result?.configs ?? []).map((row) => ({
        name: row.name,
        value: row.value,
        isDefault: row.configSource === defaultConfigSource,
        isOwn: ownConfigSources.has(row.configSource),
        isReadOnly: row.readOnly,
        isSensitive: row.isSensitive,
      })),
    )
  }
  return described
}

/** Sets these settings and leaves the others; null returns one to its default. */
export async function alterConfigs(
  client: KafkaClient,
  resource: ConfigResource,
  configs: Readonly<Record<string, string | null>>,
  options: AdminRequestOptions = {},
): Promise<void> {
  const response = await client.request(
    incrementalAlterConfigsApi,
    {
      resources: [
        {
          resourceType: resourceTypes[resource.type],
          resourceName: resource.name,
          configs: Object.entries(configs).map(([name, value]) => ({
            name,
            configOperation: value === null ? deleteConfig : setConfig,
            value,
          })),
        },
      ],
      validateOnly: false,
    },
    targetOf(resource, 'controller'),
    {
      ...requestOptions(options),
      errorCodeOf: (answer) => answer.responses[0]?.errorCode ?? errorCode.UNKNOWN_SERVER_ERROR,
    },
  )
  throwFailure(incrementalAlterConfigsApi.name, resource.name, response.responses[0])
}

/** A broker answers for itself; topics are everybody's. */
function targetOf(resource: ConfigResource, otherwise: 'any' | 'controller'): RequestTarget {
  return resource.type === 'broker' ? { node: Number(resource.name) } : otherwise
}
