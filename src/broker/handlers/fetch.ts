import { emptyBytes } from '../../base/bytes.ts'
import { errorCode } from '../../protocol/error-codes.ts'
import type { fetch } from '../../protocol/messages/1-fetch.ts'
import { batchPosition, lengthEnd, readInt64 } from '../../protocol/record-batch-layout.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { awaitAppends } from '../append-wait.ts'
import type { PartitionLog } from '../partition-log.ts'
import { orRefusal, Refusal } from '../refusal.ts'
import { nodeId, type RequestContext } from '../request-context.ts'
import { leaderEpochProblem } from './leader-epoch.ts'

type Request = RequestOf<typeof fetch>
type Response = ResponseInputOf<typeof fetch>
type RequestedTopic = Request['topics'][number]
type RequestedPartition = RequestedTopic['partitions'][number]
type PartitionResponse = Response['responses'][number]['partitions'][number]

/** The first version whose topics are ids. */
const topicIdVersion = 13

/** Kafka's `fetch.max.bytes` of a broker: more is not answered at once, whatever is asked for. */
const responseBytesMax = 55 * 1024 * 1024

/** Kafka's clients wait half a second; a longer wait than this is cut short. */
const waitMsMax = 10 * 60_000

const readCommitted = 1

/**
 * Reads batches from the asked offsets on, for readers of committed records up to the last stable
 * offset. With less than `minBytes` at hand, the answer waits for more up to `maxWaitMs`. There are
 * no fetch sessions: every answer is session 0, which tells the client to name all its partitions
 * each time.
 */
export async function handleFetch(request: Request, context: RequestContext): Promise<Response> {
  if (request.sessionId !== 0)
    return { errorCode: errorCode.FETCH_SESSION_ID_NOT_FOUND, sessionId: 0, responses: [] }
  const { clock } = context.broker
  const deadlineMs = clock.monotonic() + Math.min(request.maxWaitMs, waitMsMax)
  for (;;) {
    // Topics may have come and gone meanwhile: everything is looked up again.
    const round = new FetchRound(request, context)
    const missingBytes = request.minBytes - round.bytes
    const waitMs = deadlineMs - clock.monotonic()
    if (round.hasError || missingBytes <= 0 || waitMs <= 0 || context.signal.aborted)
      return round.response
    const how = request.isolationLevel === readCommitted ? 'stable' : 'any'
    await awaitAppends(round.logs, {
      how,
      bytes: missingBytes,
      waitMs,
      clock,
      signal: context.signal,
    })
  }
}

/** One pass over the partitions of a request. */
class FetchRound {
  readonly response: Response
  readonly logs: PartitionLog[] = []
  bytes = 0
  hasError = false
  readonly #context: RequestContext
  readonly #request: Request
  readonly #bytesMax: number

  constructor(request: Request, context: RequestContext) {
    this.#context = context
    this.#request = request
    this.#bytesMax = Math.min(request.maxBytes, responseBytesMax)
    this.response = {
      errorCode: errorCode.NONE,
      sessionId: 0,
      responses: request.topics.map((topic) => ({
        topic: topic.topic,
        topicId: topic.topicId,
        partitions: topic.partitions.map((partition) => this.#read(topic, partition)),
      })),
    }
  }

  #read(topic: RequestedTopic, requested: RequestedPartition): PartitionResponse {
    const outcome = orRefusal(() => {
      const log = this.#find(topic, requested.partition)
      const problem = leaderEpochProblem(log, requested.currentLeaderEpoch)
      if (problem !== undefined) throw problem
      return { log, records: this.#readLog(log, requested) }
    })
    if (outcome instanceof Refusal) {
      this.hasError = true
      return {
        partitionIndex: requested.partition,
        errorCode: outcome.code,
        highWatermark: -1,
        abortedTransactions: null,
        currentLeader: this.#currentLeader(topic, requested.partition, outcome),
        records: emptyBytes,
      }
    }
    const { log, records } = outcome
    this.logs.push(log)
    this.bytes += records.length
    return {
      partitionIndex: requested.partition,
      errorCode: errorCode.NONE,
      highWatermark: log.endOffset,
      lastStableOffset: log.lastStableOffset,
      logStartOffset: log.startOffset,
      abortedTransactions: this.#readsCommitted
        ? log.transactions.abortedIn(requested.fetchOffset, offsetAfter(records))
        : null,
      records,
    }
  }

  #readLog(log: PartitionLog, { fetchOffset, partitionMaxBytes }: RequestedPartition): Buffer {
    const records = log.read(fetchOffset, {
      bytesMax: Math.min(partitionMaxBytes, this.#bytesMax - this.bytes),
      // A batch that is larger than the limits must come through all the same, alone.
      atLeastOne: this.bytes === 0,
      ...(this.#readsCommitted ? { before: log.lastStableOffset } : {}),
    })
    if (records !== 'out-of-range') return records
    throw new Refusal('OFFSET_OUT_OF_RANGE', `Offset ${fetchOffset} is not in the log.`)
  }

  get #readsCommitted(): boolean {
    return this.#request.isolationLevel === readCommitted
  }

  #find({ topic: name, topicId }: RequestedTopic, partition: number): PartitionLog {
    const { broker, apiVersion } = this.#context
    const isById = apiVersion >= topicIdVersion
    const topic = isById ? broker.topics.getById(topicId) : broker.topics.get(name)
    if (topic === undefined && isById)
      throw new Refusal('UNKNOWN_TOPIC_ID', `There is no topic with the id ${topicId}.`)
    const log = topic?.partitions[partition]
    if (log === undefined)
      throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no partition ${partition}.`)
    return log
  }

  /** Saves a client with an old epoch the way to the metadata. */
  #currentLeader(
    topic: RequestedTopic,
    partition: number,
    refusal: Refusal,
  ): PartitionResponse['currentLeader'] {
    if (refusal.error !== 'FENCED_LEADER_EPOCH' || this.#context.apiVersion < 12) return undefined
    return { leaderId: nodeId, leaderEpoch: this.#find(topic, partition).leaderEpoch }
  }
}

/** The offset after whole batches; 0 without any. */
function offsetAfter(records: Buffer): number {
  let nextOffset = 0
  for (let at = 0; at < records.length;) {
    nextOffset =
      readInt64(records, at + batchPosition.baseOffset) +
      records.readInt32BE(at + batchPosition.lastOffsetDelta) +
      1
    at += records.readInt32BE(at + batchPosition.length) + lengthEnd
  }
  return nextOffset
}
