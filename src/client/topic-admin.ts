import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { createTopics as createTopicsApi } from '../protocol/messages/19-create-topics.ts'
import { deleteTopics as deleteTopicsApi } from '../protocol/messages/20-delete-topics.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import { createPartitions as createPartitionsApi } from '../protocol/messages/37-create-partitions.ts'
import { requestOptions, type AdminRequestOptions } from './admin-request.ts'
import type { KafkaClient } from './kafka-client.ts'
import { kafkaFailure } from './kafka-failure.ts'
import type { Retry } from './retry.ts'
import type { TopicMetadata } from './topic-metadata.ts'

/** From v6 on DeleteTopics has another form that only helps who deletes by topic id. */
const deleteTopicsVersionMax = 5

/** A topic to be created. */
export interface NewTopic {
  readonly topic: string
  /** -1: the broker's default. */
  readonly partitions: number
  /** Default -1: the broker's default. */
  readonly replicationFactor?: number
  readonly configs?: Readonly<Record<string, string>>
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
 * Creates topics and waits until this client sees them. One that exists already is told apart
 * (`exists`) and left as it is; its partitions may be others than asked for.
 */
export async function createTopics(
  client: KafkaClient,
  topics: readonly NewTopic[],
  options: AdminRequestOptions = {},
): Promise<Map<string, TopicOutcome>> {
  const outcomes = new Map<string, TopicOutcome>()
  await untilDone(client, createTopicsApi.name, topics, options, {
    nameOf: ({ topic }) => topic,
    ask: async (pending, timeoutMs) => {
      const response = await client.request(
        createTopicsApi,
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
  await untilSeen(
    client,
    topics.map(({ topic, partitions }) => ({ topic, partitions })),
    options,
    outcomes,
  )
  return outcomes
}

/**
 * Deletes topics and waits until this client does not see them any more, or sees another topic of the
 * name; those that do not exist are ignored.
 */
export async function deleteTopics(
  client: KafkaClient,
  topics: readonly string[],
  options: AdminRequestOptions = {},
): Promise<void> {
  const before = await client.topicMetadata(topics, { ...options, fresh: true })
  await untilDone(client, deleteTopicsApi.name, topics, options, {
    nameOf: (topic) => topic,
    ask: async (pending, timeoutMs) => {
      const response = await client.request(
        deleteTopicsApi,
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
    accept: ({ code }) => code === errorCode.NONE || code === errorCode.UNKNOWN_TOPIC_OR_PARTITION,
  })
  await untilForgotten(client, before, options)
}

/** Grows a topic to `partitions` in total, and waits until this client sees them. */
export async function createPartitions(
  client: KafkaClient,
  topic: string,
  partitions: number,
  options: AdminRequestOptions = {},
): Promise<void> {
  await untilDone(client, createPartitionsApi.name, [topic], options, {
    nameOf: (name) => name,
    ask: async (pending, timeoutMs) => {
      const response = await client.request(
        createPartitionsApi,
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
  await untilSeen(client, [{ topic, partitions }], options)
}

/** Asks again about those subjects whose failure can pass, until all have an accepted answer. */
async function untilDone<Subject>(
  client: KafkaClient,
  api: string,
  subjects: readonly Subject[],
  options: AdminRequestOptions,
  question: {
    readonly nameOf: (subject: Subject) => string
    readonly ask: (pending: readonly Subject[], timeoutMs: number) => Promise<SubjectAnswer[]>
    readonly accept: (answer: SubjectAnswer) => boolean
  },
): Promise<void> {
  const retry = retryOf(client, api, options)
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
async function untilSeen(
  client: KafkaClient,
  topics: readonly { readonly topic: string; readonly partitions: number }[],
  options: AdminRequestOptions,
  outcomes?: ReadonlyMap<string, TopicOutcome>,
): Promise<void> {
  const retry = retryOf(client, metadata.name, options)
  const names = topics.map(({ topic }) => topic)
  for (;;) {
    retry.throwIfEnded()
    const { signal } = options
    const timeoutMs = retry.remainingMs
    const seen = await client.topicMetadata(names, {
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

/** As `untilSeen`, for topics that were deleted. */
async function untilForgotten(
  client: KafkaClient,
  topics: ReadonlyMap<string, TopicMetadata>,
  options: AdminRequestOptions,
): Promise<void> {
  const retry = retryOf(client, metadata.name, options)
  const names = [...topics.keys()]
  for (;;) {
    retry.throwIfEnded()
    const { signal } = options
    const timeoutMs = retry.remainingMs
    const seen = await client.topicMetadata(names, {
      fresh: true,
      timeoutMs,
      ...(signal && { signal }),
    })
    const left = names.find((name) => {
      const known = seen.get(name)
      return known !== undefined && known.topicId === topics.get(name)?.topicId
    })
    if (left === undefined) return
    const code = errorCode.REQUEST_TIMED_OUT
    await retry.wait(kafkaFailure(deleteTopicsApi.name, code, { subject: left }))
  }
}

function retryOf(client: KafkaClient, what: string, options: AdminRequestOptions): Retry {
  const { timeoutMs, signal } = options
  return client.retry(what, {
    ...(timeoutMs !== undefined && { deadlineMs: timeoutMs }),
    ...(signal && { signal }),
  })
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

/** NOT_CONTROLLER concerns all subjects: the whole request goes to another broker. */
function controllerErrorOf(rows: readonly { readonly errorCode: number }[]): number {
  const isElsewhere = rows.some((row) => row.errorCode === errorCode.NOT_CONTROLLER)
  return isElsewhere ? errorCode.NOT_CONTROLLER : errorCode.NONE
}
