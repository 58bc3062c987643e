import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { describeGroups } from '../protocol/messages/15-describe-groups.ts'
import { listGroups } from '../protocol/messages/16-list-groups.ts'
import { createTopics } from '../protocol/messages/19-create-topics.ts'
import { deleteTopics } from '../protocol/messages/20-delete-topics.ts'
import { deleteRecords } from '../protocol/messages/21-delete-records.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import { describeConfigs } from '../protocol/messages/32-describe-configs.ts'
import { createPartitions } from '../protocol/messages/37-create-partitions.ts'
import { deleteGroups } from '../protocol/messages/42-delete-groups.ts'
import { incrementalAlterConfigs } from '../protocol/messages/44-incremental-alter-configs.ts'
import { ClusterView } from './cluster-view.ts'
import type { KafkaClient, RequestTarget } from './kafka-client.ts'
import { kafkaFailure } from './kafka-failure.ts'
import { askLeaders } from './leader-requests.ts'
import { groupByTopic } from './list-offsets.ts'
import type { TopicMetadata, TopicPartition } from './topic-metadata.ts'

/** From v6 on DeleteTopics has another form that only helps who deletes by topic id. */
const deleteTopicsVersionMax = 5

const resourceTypes = { topic: 2, broker: 4 }

/** Operations of IncrementalAlterConfigs. */
const setConfig = 0
const deleteConfig = 1

/** Sources of a setting that nobody made: the default of Kafka. */
const defaultConfigSource = 5

/** Options of the calls here: they are tried again while that can help, until the timeout. */
export interface AdminRequestOptions {
  /** Default 60 s. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** A topic to be created. */
export interface NewTopic {
  readonly topic: string
  /** -1: the broker's default. */
  readonly partitions: number
  /** Default -1: the broker's default. */
  readonly replicationFactor?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** One setting of a topic or broker. */
export interface ConfigEntry {
  readonly name: string
  /** Null: a secret, or not set. */
  readonly value: string | null
  /** True when nobody set it. */
  readonly isDefault: boolean
  readonly isReadOnly: boolean
  readonly isSensitive: boolean
}

/** What has settings. */
export interface ConfigResource {
  readonly type: 'topic' | 'broker'
  /** The topic, or the node id. */
  readonly name: string
}

/** A group in a list. */
export interface GroupListing {
  readonly groupId: string
  readonly protocolType: string
  /** Empty when the broker is too old to tell. */
  readonly state: string
}

/** A group in detail. */
export interface GroupDescription {
  readonly groupId: string
  /** `Dead` for a group that does not exist. */
  readonly state: string
  readonly protocolType: string
  readonly protocolName: string
  readonly members: readonly {
    readonly memberId: string
    readonly instanceId: string | null
    readonly clientId: string
    readonly clientHost: string
    readonly metadata: Buffer
    readonly assignment: Buffer
  }[]
}

/** What became of one topic of a request. */
export type TopicOutcome = 'created' | 'exists'

/** What a broker answered about one subject of a request. */
interface SubjectAnswer {
  readonly name: string
  readonly code: number
  readonly detail: string | null
}

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
  async createTopics(
    topics: readonly NewTopic[],
    options: AdminRequestOptions = {},
  ): Promise<Map<string, TopicOutcome>> {
    const outcomes = new Map<string, TopicOutcome>()
    await this.#untilDone(createTopics.name, topics, options, {
      nameOf: ({ topic }) => topic,
      ask: async (pending, timeoutMs) => {
        const response = await this.#client.request(
          createTopics,
          { topics: pending.map(newTopicRow), timeoutMs },
          'controller',
          {
            ...requestOptions(options, timeoutMs),
            errorCodeOf: (answer) => controllerErrorOf(answer.topics),
          },
        )
        return response.topics.map((row) => answerOf(row.name, row))
      },
      accept: ({ name, code }) => {
        if (code !== errorCode.NONE && code !== errorCode.TOPIC_ALREADY_EXISTS) return false
        outcomes.set(name, code === errorCode.NONE ? 'created' : 'exists')
        return true
      },
    })
    await this.#untilSeen(
      topics.map(({ topic, partitions }) => ({ topic, partitions })),
      options,
      outcomes,
    )
    return outcomes
  }

  /** Deletes topics; those that do not exist are ignored. */
  async deleteTopics(topics: readonly string[], options: AdminRequestOptions = {}): Promise<void> {
    await this.#untilDone(deleteTopics.name, topics, options, {
      nameOf: (topic) => topic,
      ask: async (pending, timeoutMs) => {
        const response = await this.#client.request(
          deleteTopics,
          { topicNames: [...pending], timeoutMs },
          'controller',
          {
            ...requestOptions(options, timeoutMs),
            versionMax: deleteTopicsVersionMax,
            errorCodeOf: (answer) => controllerErrorOf(answer.responses),
          },
        )
        return response.responses.map((row) => answerOf(row.name ?? '', row))
      },
      accept: ({ code }) =>
        code === errorCode.NONE || code === errorCode.UNKNOWN_TOPIC_OR_PARTITION,
    })
    await this.#client.refreshMetadata()
  }

  /** Grows a topic to `partitions` in total, and waits until this client sees them. */
  async createPartitions(
    topic: string,
    partitions: number,
    options: AdminRequestOptions = {},
  ): Promise<void> {
    await this.#untilDone(createPartitions.name, [topic], options, {
      nameOf: (name) => name,
      ask: async (pending, timeoutMs) => {
        const response = await this.#client.request(
          createPartitions,
          {
            topics: pending.map((name) => ({ name, count: partitions, assignments: null })),
            timeoutMs,
            validateOnly: false,
          },
          'controller',
          {
            ...requestOptions(options, timeoutMs),
            errorCodeOf: (answer) => controllerErrorOf(answer.results),
          },
        )
        return response.results.map((row) => answerOf(row.name, row))
      },
      accept: ({ code }) => code === errorCode.NONE,
    })
    await this.#untilSeen([{ topic, partitions }], options)
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
  async describeConfigs(
    resources: readonly ConfigResource[],
    options: AdminRequestOptions = {},
  ): Promise<ConfigEntry[][]> {
    const described: ConfigEntry[][] = []
    for (const resource of resources) {
      const response = await this.#client.request(
        describeConfigs,
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
      throwFailure(describeConfigs.name, resource.name, result)
      described.push(
        (result?.configs ?? []).map((row) => ({
          name: row.name,
          value: row.value,
          isDefault: row.configSource === defaultConfigSource,
          isReadOnly: row.readOnly,
          isSensitive: row.isSensitive,
        })),
      )
    }
    return described
  }

  /** Sets these settings and leaves the others; null returns one to its default. */
  async alterConfigs(
    resource: ConfigResource,
    configs: Readonly<Record<string, string | null>>,
    options: AdminRequestOptions = {},
  ): Promise<void> {
    const response = await this.#client.request(
      incrementalAlterConfigs,
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
    throwFailure(incrementalAlterConfigs.name, resource.name, response.responses[0])
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
  async listGroups(options: AdminRequestOptions = {}): Promise<GroupListing[]> {
    await this.#client.refreshMetadata()
    const listed: GroupListing[] = []
    for (const node of this.#client.nodes.keys()) {
      const response = await this.#client.request(listGroups, {}, { node }, requestOptions(options))
      throwFailure(listGroups.name, `node ${node}`, response)
      for (const { groupId, protocolType, groupState } of response.groups) {
        listed.push({ groupId, protocolType, state: groupState })
      }
    }
    return listed
  }

  /** The groups, in the order asked for. */
  async describeGroups(
    groupIds: readonly string[],
    options: AdminRequestOptions = {},
  ): Promise<GroupDescription[]> {
    const described: GroupDescription[] = []
    for (const groupId of groupIds) {
      const response = await this.#client.request(
        describeGroups,
        { groups: [groupId] },
        { coordinatorOf: groupId },
        {
          ...requestOptions(options),
          purpose: 'control',
          errorCodeOf: (answer) => answer.groups[0]?.errorCode ?? errorCode.UNKNOWN_SERVER_ERROR,
        },
      )
      const group = response.groups[0]
      throwFailure(describeGroups.name, groupId, group)
      described.push({
        groupId,
        state: group?.groupState ?? '',
        protocolType: group?.protocolType ?? '',
        protocolName: group?.protocolData ?? '',
        members: (group?.members ?? []).map((member) => ({
          memberId: member.memberId,
          instanceId: member.groupInstanceId,
          clientId: member.clientId,
          clientHost: member.clientHost,
          metadata: member.memberMetadata,
          assignment: member.memberAssignment,
        })),
      })
    }
    return described
  }

  /** Deletes groups without members; those that do not exist are ignored. */
  async deleteGroups(
    groupIds: readonly string[],
    options: AdminRequestOptions = {},
  ): Promise<void> {
    for (const groupId of groupIds) {
      const response = await this.#client.request(
        deleteGroups,
        { groupsNames: [groupId] },
        { coordinatorOf: groupId },
        {
          ...requestOptions(options),
          purpose: 'control',
          errorCodeOf: (answer) => answer.results[0]?.errorCode ?? errorCode.UNKNOWN_SERVER_ERROR,
        },
      )
      const result = response.results[0]
      if (result?.errorCode === errorCode.GROUP_ID_NOT_FOUND) continue
      throwFailure(deleteGroups.name, groupId, result)
    }
  }

  /** Asks again about those subjects whose failure can pass, until all have an accepted answer. */
  async #untilDone<Subject>(
    api: string,
    subjects: readonly Subject[],
    options: AdminRequestOptions,
    question: {
      readonly nameOf: (subject: Subject) => string
      readonly ask: (pending: readonly Subject[], timeoutMs: number) => Promise<SubjectAnswer[]>
      readonly accept: (answer: SubjectAnswer) => boolean
    },
  ): Promise<void> {
    const retry = this.#retry(api, options)
    let pending = [...subjects]
    let refused: Error | undefined
    while (pending.length > 0) {
      retry.throwIfEnded()
      let passing: Error | undefined
      const answers = await question.ask(pending, Math.floor(retry.remainingMs))
      const byName = new Map(answers.map((answer) => [answer.name, answer]))
      pending = pending.filter((subject) => {
        const name = question.nameOf(subject)
        const code = errorCode.UNKNOWN_SERVER_ERROR
        const answer = byName.get(name) ?? { name, code, detail: 'the answer does not name it' }
        if (question.accept(answer)) return false
        const failure = kafkaFailure(api, answer.code, { subject: name, detail: answer.detail })
        if (kafkaError(answer.code).retriable) passing = failure
        else refused ??= failure
        return kafkaError(answer.code).retriable
      })
      if (passing !== undefined) await retry.wait(passing)
    }
    if (refused !== undefined) throw refused
  }

  /** Brokers learn of a change at different times: waits until the one that answers us knows it. */
  async #untilSeen(
    topics: readonly { readonly topic: string; readonly partitions: number }[],
    options: AdminRequestOptions,
    outcomes?: ReadonlyMap<string, TopicOutcome>,
  ): Promise<void> {
    const retry = this.#retry(metadata.name, options)
    const names = topics.map(({ topic }) => topic)
    for (;;) {
      retry.throwIfEnded()
      const { signal } = options
      const timeoutMs = retry.remainingMs
      const seen = await this.#client.topicMetadata(names, {
        fresh: true,
        timeoutMs,
        ...(signal && { signal }),
      })
      const missing = topics.find(({ topic, partitions }) => {
        const known = seen.get(topic)
        const expected = outcomes?.get(topic) === 'exists' ? 1 : Math.max(1, partitions)
        return (
          known === undefined ||
          known.partitions.length < expected ||
          known.partitions.some(({ leader }) => leader < 0)
        )
      })
      if (missing === undefined) return
      const code = errorCode.LEADER_NOT_AVAILABLE
      await retry.wait(kafkaFailure(metadata.name, code, { subject: missing.topic }))
    }
  }

  #retry(what: string, { timeoutMs, signal }: AdminRequestOptions) {
    return this.#client.retry(what, {
      ...(timeoutMs !== undefined && { deadlineMs: timeoutMs }),
      ...(signal && { signal }),
    })
  }
}

function newTopicRow({ topic, partitions, replicationFactor = -1, configs = {} }: NewTopic) {
  return {
    name: topic,
    numPartitions: partitions,
    replicationFactor,
    assignments: [],
    configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
  }
}

function answerOf(
  name: string,
  row: { readonly errorCode: number; readonly errorMessage: string | null },
): SubjectAnswer {
  return { name, code: row.errorCode, detail: row.errorMessage }
}

function requestOptions(
  { timeoutMs, signal }: AdminRequestOptions,
  restMs: number | undefined = timeoutMs,
): { deadlineMs?: number; signal?: AbortSignal } {
  return {
    ...(restMs !== undefined && { deadlineMs: restMs }),
    ...(signal && { signal }),
  }
}

/** A broker answers for itself; topics are everybody's. */
function targetOf(resource: ConfigResource, otherwise: 'any' | 'controller'): RequestTarget {
  return resource.type === 'broker' ? { node: Number(resource.name) } : otherwise
}

function throwFailure(
  api: string,
  subject: string,
  row: { readonly errorCode: number; readonly errorMessage?: string | null } | undefined,
): void {
  const code = row === undefined ? errorCode.UNKNOWN_SERVER_ERROR : row.errorCode
  if (code !== errorCode.NONE) throw kafkaFailure(api, code, { subject, detail: row?.errorMessage })
}

/** NOT_CONTROLLER concerns all subjects: the whole request goes to another broker. */
function controllerErrorOf(rows: readonly { readonly errorCode: number }[]): number {
  const isElsewhere = rows.some((row) => row.errorCode === errorCode.NOT_CONTROLLER)
  return isElsewhere ? errorCode.NOT_CONTROLLER : errorCode.NONE
}
