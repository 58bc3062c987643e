import { StreamsError } from '../../errors.ts'
import { errorCode } from '../../protocol/error-codes.ts'
import type { produce } from '../../protocol/messages/0-produce.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { validateBatch } from '../batch-validation.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'

type Request = RequestOf<typeof produce>
type Response = ResponseInputOf<typeof produce>
type PartitionResponse = Response['responses'][number]['partitionResponses'][number]

const acksAll = -1

interface Batch {
  readonly topic: string
  readonly partition: number
  readonly records: Buffer | null
}

interface Appended {
  readonly baseOffset: number
  readonly logAppendTimeMs: number
  readonly logStartOffset: number
}

/** Appends the batches of each partition; the answer follows the write, unless none is wanted. */
export function handleProduce(request: Request, context: RequestContext): Response | undefined {
  const responses = request.topicData.map(({ name, partitionData }) => ({
    name,
    partitionResponses: partitionData.map(({ index, records }) => {
      const batch = { topic: name, partition: index, records }
      return describe(
        index,
        orRefusal(() => append(batch, request.acks, context)),
      )
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

function append(
  { topic: name, partition, records }: Batch,
  acks: number,
  context: RequestContext,
): Appended {
  const { broker, apiVersion } = context
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
  const { batch, facts } = validated
  if (facts.producerId >= 0) {
    const verdict = log.producers.check(facts)
    if (verdict.kind === 'refused')
      throw new Refusal(
        verdict.error,
        `Producer ${facts.producerId} (epoch ${facts.producerEpoch}) sent sequence ${facts.baseSequence} to ${name}-${partition}.`,
      )
    if (verdict.kind === 'duplicate')
      return {
        baseOffset: verdict.of.baseOffset,
        logAppendTimeMs: verdict.of.logAppendTimeMs,
        logStartOffset: log.startOffset,
      }
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
