import { isStreamsError, type StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import type { KafkaClient } from './kafka-client.ts'
import { canPass, kafkaFailure } from './kafka-failure.ts'
import type { TopicPartition } from './topic-metadata.ts'

/** What a leader answered about one partition. */
export interface LeaderAnswer extends TopicPartition {
  readonly errorCode: number
}

/** One question that concerns partitions of several leaders. */
export interface LeaderQuestion<Row extends TopicPartition, Answer extends LeaderAnswer> {
  readonly api: string
  readonly rows: readonly Row[]
  readonly deadlineMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Asks one leader about the partitions that it leads. */
  readonly ask: (leader: number, rows: readonly Row[], timeoutMs: number) => Promise<Answer[]>
}

/**
 * Asks the leaders of all partitions, and again about those whose failure can pass, until each has an
 * answer without error. Rejects with the first failure that cannot pass, or the last at the deadline.
 */
export async function askLeaders<Row extends TopicPartition, Answer extends LeaderAnswer>(
  client: KafkaClient,
  question: LeaderQuestion<Row, Answer>,
): Promise<Answer[]> {
  const { api, rows, deadlineMs, signal } = question
  const retry = client.retry(api, {
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(signal && { signal }),
  })
  const answers: Answer[] = []
  let pending = [...rows]
  let isFresh = false
  while (pending.length > 0) {
    retry.throwIfEnded()
    const topics = [...new Set(pending.map((row) => row.topic))]
    await client.topicMetadata(topics, {
      fresh: isFresh,
      timeoutMs: retry.remainingMs,
      ...(signal && { signal }),
    })
    isFresh = true
    const round = await askOnce(client, question, pending, retry.remainingMs)
    answers.push(...round.answers)
    pending = round.failed
    if (round.failure !== undefined) await retry.wait(round.failure)
  }
  return answers
}

async function askOnce<Row extends TopicPartition, Answer extends LeaderAnswer>(
  client: KafkaClient,
  { api, ask }: LeaderQuestion<Row, Answer>,
  pending: readonly Row[],
  timeoutMs: number,
): Promise<{ answers: Answer[]; failed: Row[]; failure: StreamsError | undefined }> {
  const answers: Answer[] = []
  const failed: Row[] = []
  let failure: StreamsError | undefined
  const byLeader = new Map<number, Row[]>()
  for (const row of pending) {
    const leader = client.leaderOf(row.topic, row.partition)?.node.nodeId
    if (leader === undefined) {
      failed.push(row)
      failure = missing(client, api, row)
    } else byLeader.set(leader, [...(byLeader.get(leader) ?? []), row])
  }
  await Promise.all(
    [...byLeader].map(async ([leader, rows]) => {
      try {
        const open = new Set(rows)
        for (const answer of await ask(leader, rows, timeoutMs)) {
          const row = rows.find((asked) => isSame(asked, answer))
          if (row === undefined || !open.has(row)) continue
          if (answer.errorCode === errorCode.NONE) {
            open.delete(row)
            answers.push(answer)
          } else failure = refusal(api, answer)
        }
        if (open.size > 0) failure ??= missing(client, api, rows[0])
        failed.push(...open)
      } catch (error) {
        if (!canPass(error) || !isStreamsError(error)) throw error
        failure = error
        failed.push(...rows)
      }
    }),
  )
  return { answers, failed, failure }
}

function isSame(a: TopicPartition, b: TopicPartition): boolean {
  return a.partition === b.partition && a.topic === b.topic
}

/** An error that can pass; throws one that cannot. */
function refusal(api: string, answer: LeaderAnswer): StreamsError {
  const subject = `${answer.topic}-${answer.partition}`
  const error = kafkaFailure(api, answer.errorCode, { subject })
  if (!kafkaError(answer.errorCode).retriable) throw error
  return error
}

function missing(client: KafkaClient, api: string, row: TopicPartition | undefined): StreamsError {
  const topic = row?.topic ?? ''
  const partition = row?.partition ?? -1
  const count = client.partitionCount(topic)
  const isUnknown = count === undefined || partition >= count
  const code = isUnknown ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : errorCode.LEADER_NOT_AVAILABLE
  return kafkaFailure(api, code, { subject: `${topic}-${partition}` })
}
