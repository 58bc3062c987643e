import { StreamsError } from '../../errors.ts'
import { errorCode, type KafkaErrorName } from '../../protocol/error-codes.ts'
import type { produce } from '../../protocol/messages/0-produce.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { validateBatch, type BatchFacts } from '../batch-validation.ts'
import type { PartitionLog } from '../partition-log.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import { writeProblems } from '../transactional-write.ts'

type Request = RequestOf<typeof produce>
type Response = ResponseInputOf<typeof produce>
type PartitionResponse = Response['responses'][number]['partitionResponses'][number]

const acksAll = -1

/** The first versions that know TRANSACTION_ABORTABLE, and that add partitions by themselves. */
const [abortableVersion, addsVersion] = [11, 12]

/** A batch that is in order, and the log to which it goes. */
interface AcceptedBatch {
  readonly topic: string
  readonly partition: number
  readonly log: PartitionLog
  readonly batch: Buffer
  readonly facts: BatchFacts
}

interface Appended {
  readonly baseOffset: number
  readonly logAppendTimeMs: number
  readonly logStartOffset: number
}

/** Appends the batches of each partition; the answer follows the write, unless none is wanted. */
export function handleProduce(request: Request, context: RequestContext): Response | undefined {
  const batches = request.topicData.map(({ name, partitionData }) =>
    partitionData.map(({ index, records }) =>
      orRefusal(() => accept({ topic: name, partition: index, records }, request, context)),
    ),
  )
  const problems = transactionProblems(request, batches.flat(), context)
  const responses = request.topicData.map(({ name, partitionData }, topic) => ({
    name,
    partitionResponses: partitionData.map(({ index }, position) => {
      const batch = batches[topic]?.[position] as AcceptedBatch | Refusal
      const problem = batch instanceof Refusal ? batch : problems.get(batch)
      return describe(index, problem ?? orRefusal(() => append(batch as AcceptedBatch, context)))
    }),
  }))
  if (request.acks !== 0) return { responses }
  // Nobody would hear of the error: hanging up makes the client look again who leads the partition.
  for (const { name, partitionResponses } of responses) {
    const failed = partitionResponses.find((one) => one.errorCode !== errorCode.NONE)
    if (failed !== undefined)
      throw new StreamsError('DELIVERY_FAILED', {
        topic: name,
        partition: failed.index,
        detail: failed.errorMessage,
      })
  }
  return undefined
}

function accept(
  { topic: name, partition, records }: { topic: string; partition: number; records: Buffer | null },
  { acks }: Request,
  { broker, apiVersion }: RequestContext,
): AcceptedBatch {
  if (acks !== 0 && acks !== 1 && acks !== acksAll)
    throw new Refusal('INVALID_REQUIRED_ACKS', `acks must be -1, 0 or 1, not ${acks}.`)
  const topic = broker.topics.get(name)
  const log = topic?.partitions[partition]
  if (topic === undefined || log === undefined)
    throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no partition ${name}-${partition}.`)
  const { settings } = topic
  if (acks === acksAll && settings.minInsyncReplicas > 1)
    throw new Refusal(
      'NOT_ENOUGH_REPLICAS',
      `min.insync.replicas is ${settings.minInsyncReplicas}, and there is one broker.`,
    )
  const validated = validateBatch(records, { settings, nowMs: broker.clock.now(), apiVersion })
  if (validated.kind === 'refused') throw new Refusal(validated.error, validated.message)
  return { topic: name, partition, log, batch: validated.batch, facts: validated.facts }
}

/** Of the transactional batches those that are not part of a transaction, and why. */
function transactionProblems(
  { transactionalId }: Request,
  batches: readonly (AcceptedBatch | Refusal)[],
  { broker, apiVersion }: RequestContext,
): ReadonlyMap<AcceptedBatch, Refusal> {
  const problems = new Map<AcceptedBatch, Refusal>()
  const partitions = batches.filter(
    (one): one is AcceptedBatch => !(one instanceof Refusal) && one.facts.isTransactional,
  )
  const [first] = partitions
  if (first === undefined) return problems
  const { producerId, producerEpoch } = first.facts
  const refuse = (batch: AcceptedBatch, error: KafkaErrorName): void => {
    const message = `The transaction of ${transactionalId ?? 'nobody'} does not take records for ${batch.topic}-${batch.partition}: ${error}.`
    problems.set(batch, new Refusal(error, message))
  }
  if (transactionalId === null) {
    for (const batch of partitions) refuse(batch, 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED')
    return problems
  }
  if (partitions.some(({ facts }) => facts.producerId !== producerId)) {
    for (const batch of partitions) refuse(batch, 'INVALID_PRODUCER_ID_MAPPING')
    return problems
  }
  const adds = apiVersion >= addsVersion
  const knowsAbortable = apiVersion >= abortableVersion
  const producer = { transactionalId, producerId, producerEpoch }
  const found = writeProblems(broker.transactions, producer, { partitions, adds, knowsAbortable })
  for (const [index, error] of found.entries()) {
    if (error === undefined) continue
    const batch = partitions[index] as AcceptedBatch
    // Older clients do not send a batch again for any error of a coordinator, but for this one.
    const isForLater = error === 'CONCURRENT_TRANSACTIONS' && !adds
    refuse(batch, isForLater || error === 'NOT_COORDINATOR' ? 'NOT_ENOUGH_REPLICAS' : error)
  }
  return problems
}

function append(
  { topic, partition, log, batch, facts }: AcceptedBatch,
  { apiVersion }: RequestContext,
): Appended {
  const { producerId, producerEpoch, baseSequence, isTransactional } = facts
  if (producerId >= 0) {
    const verdict = log.producers.check(facts)
    // A producer that has a new epoch for each transaction was never here, if it is not known.
    const mustBegin = isTransactional && apiVersion >= addsVersion
    const isUnknown = log.producers.epochOf(producerId) === undefined
    if (verdict.kind === 'refused' || (mustBegin && isUnknown && baseSequence !== 0))
      throw new Refusal(
        verdict.kind === 'refused' ? verdict.error : 'OUT_OF_ORDER_SEQUENCE_NUMBER',
        `Producer ${producerId} (epoch ${producerEpoch}) sent sequence ${baseSequence} to ${topic}-${partition}.`,
      )
    if (verdict.kind === 'duplicate')
      return {
        baseOffset: verdict.of.baseOffset,
        logAppendTimeMs: verdict.of.logAppendTimeMs,
        logStartOffset: log.startOffset,
      }
    if (!isTransactional && log.transactions.isOpen(producerId))
      throw new Refusal(
        'INVALID_TXN_STATE',
        `Producer ${producerId} has a transaction open on ${topic}-${partition}.`,
      )
  }
  const baseOffset = log.append(batch, facts)
  return {
    baseOffset,
    logAppendTimeMs: facts.logAppendTimeMs,
    logStartOffset: log.startOffset,
  }
}

function describe(index: number, outcome: Appended | Refusal): PartitionResponse {
  return outcome instanceof Refusal
    ? {
        index,
        errorCode: outcome.code,
        baseOffset: -1,
        errorMessage: outcome.message,
        recordErrors: [],
      }
    : { index, errorCode: errorCode.NONE, ...outcome, recordErrors: [] }
}
