import { deleteRecords } from '../protocol/messages/21-delete-records.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import { requestOptions, type AdminRequestOptions } from './admin-request.ts'
import { ClusterView } from './cluster-view.ts'
import {
  alterConfigs,
  describeConfigs,
  type ConfigEntry,
  type ConfigResource,
} from './config-admin.ts'
import {
  deleteGroups,
  describeGroups,
  listGroups,
  type GroupDescription,
  type GroupListing,
} from './group-admin.ts'
import type { KafkaClient } from './kafka-client.ts'
import { askLeaders } from './leader-requests.ts'
import { groupByTopic } from './list-offsets.ts'
import {
  createPartitions,
  createTopics,
  deleteTopics,
  type NewTopic,
  type TopicOutcome,
} from './topic-admin.ts'
import type { TopicMetadata, TopicPartition } from './topic-metadata.ts'

export type { AdminRequestOptions } from './admin-request.ts'
export type { ConfigEntry, ConfigResource } from './config-admin.ts'
export type { GroupDescription, GroupListing } from './group-admin.ts'
export type { NewTopic, TopicOutcome } from './topic-admin.ts'

/**
 * Topics, configurations and groups. A call with several subjects that fails for one rejects with
 * the `KAFKA_ERROR` of the first such; the others are done all the same.
 */
export class Admin {
  readonly #client: KafkaClient

  constructor(client: KafkaClient) {
    this.#client = client
  }

  /**
   * Creates topics and waits until this client sees them. One that exists already is told apart
   * (`exists`) and left as it is; its partitions may be others than asked for.
   */
  createTopics(
    topics: readonly NewTopic[],
    options?: AdminRequestOptions,
  ): Promise<Map<string, TopicOutcome>> {
    return createTopics(this.#client, topics, options)
  }

  /**
   * Deletes topics and waits until this client does not see them any more; those that do not exist are
   * ignored.
   */
  deleteTopics(topics: readonly string[], options?: AdminRequestOptions): Promise<void> {
    return deleteTopics(this.#client, topics, options)
  }

  /** Grows a topic to `partitions` in total, and waits until this client sees them. */
  createPartitions(
    topic: string,
    partitions: number,
    options?: AdminRequestOptions,
  ): Promise<void> {
    return createPartitions(this.#client, topic, partitions, options)
  }

  /** Fresh from the cluster; topics that do not exist are absent. */
  describeTopics(
    topics: readonly string[],
    options: AdminRequestOptions = {},
  ): Promise<ReadonlyMap<string, TopicMetadata>> {
    return this.#client.topicMetadata(topics, { ...options, fresh: true })
  }

  /** All topics of the cluster that this client may see. */
  async listTopics(options: AdminRequestOptions = {}): Promise<ReadonlyMap<string, TopicMetadata>> {
    const response = await this.#client.request(
      metadata,
      (version) => ({
        topics: null,
        ...(version >= 4 && { allowAutoTopicCreation: false }),
      }),
      'any',
      requestOptions(options),
    )
    const view = new ClusterView()
    view.apply(response)
    return view.topics
  }

  /** All settings of the resources, in their order. */
  describeConfigs(
    resources: readonly ConfigResource[],
    options?: AdminRequestOptions,
  ): Promise<ConfigEntry[][]> {
    return describeConfigs(this.#client, resources, options)
  }

  /** Sets these settings and leaves the others; null returns one to its default. */
  alterConfigs(
    resource: ConfigResource,
    configs: Readonly<Record<string, string | null>>,
    options?: AdminRequestOptions,
  ): Promise<void> {
    return alterConfigs(this.#client, resource, configs, options)
  }

  /** Deletes the records before these offsets; -1: all that are there. */
  async deleteRecords(
    offsets: readonly (TopicPartition & { readonly offset: number })[],
    options: AdminRequestOptions = {},
  ): Promise<void> {
    await askLeaders(this.#client, {
      api: deleteRecords.name,
      rows: offsets,
      deadlineMs: options.timeoutMs,
      signal: options.signal,
      ask: async (leader, rows, timeoutMs) => {
        const topics = groupByTopic(rows).map(([name, ofTopic]) => ({
          name,
          partitions: ofTopic.map(({ partition, offset }) => ({
            partitionIndex: partition,
            offset,
          })),
        }))
        const response = await this.#client.request(
          deleteRecords,
          { topics, timeoutMs: Math.floor(timeoutMs) },
          { node: leader },
          { ...requestOptions(options, timeoutMs), retry: 'none' },
        )
        return response.topics.flatMap(({ name, partitions }) =>
          partitions.map((row) => ({
            topic: name,
            partition: row.partitionIndex,
            errorCode: row.errorCode,
          })),
        )
      },
    })
  }

  /** The groups of all brokers. */
  listGroups(options?: AdminRequestOptions): Promise<GroupListing[]> {
    return listGroups(this.#client, options)
  }

  /** The groups, in the order asked for. */
  describeGroups(
    groupIds: readonly string[],
    options?: AdminRequestOptions,
  ): Promise<GroupDescription[]> {
    return describeGroups(this.#client, groupIds, options)
  }

  /** Deletes groups without members; those that do not exist are ignored. */
  deleteGroups(groupIds: readonly string[], options?: AdminRequestOptions): Promise<void> {
    return deleteGroups(this.#client, groupIds, options)
  }
}
