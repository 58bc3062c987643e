/**
 * What a transactional id stands at, and how that changes
 * (org.apache.kafka.coordinator.transaction.TransactionMetadata). These functions compute; the
 * coordinator writes the result to its log before it holds.
 *
 *               add partitions            end                   markers are written
 *     Empty ──────────────────> Ongoing ──────> PrepareCommit ─────────────────────> CompleteCommit
 *       ^                         ^  └────────> PrepareAbort  ─────────────────────> CompleteAbort
 *       │                         └────────────────── add partitions ────────────────────┤
 *       └──────────────────────────── InitProducerId ────────────────────────────────────┘
 *
 * A producer is kept out by its epoch. With version 1 of transactions InitProducerId raises it, with
 * version 2 (KIP-890) every end of a transaction does too, so that nothing that is late can become
 * part of the next one.
 */
import { PartitionSet, type TopicPartition } from './partition-set.ts'
import { nextTransactionState, type TransactionState } from './transaction-state.ts'

const epochMax = 32_767

const none = -1

/** Of transactions: 0 and 1 are the same to the broker, 2 raises the epoch at every end. */
export const epochBumpVersion = 2

export interface ProducerIdentity {
  readonly producerId: number
  readonly producerEpoch: number
}

export interface TransactionFacts extends ProducerIdentity {
  /** The producer id before the last change of it; -1 before that. */
  readonly previousProducerId: number
  /** The producer id after the end that is under way, when the epochs of this one are used up; else -1. */
  readonly nextProducerId: number
  /** The epoch before the present one, which a repeated request still has; -1 for none. */
  readonly lastProducerEpoch: number
  readonly timeoutMs: number
  readonly state: TransactionState
  /** Of the transaction; of one that is being ended, those without a marker. */
  readonly partitions: PartitionSet
  /** -1 before the first transaction. */
  readonly startedAtMs: number
  readonly updatedAtMs: number
  /** The version of transactions in which the last one was ended. */
  readonly clientVersion: number
}

/** Where a transactional id begins; it has no epoch before it is initialized. */
export function newTransaction(producerId: number, nowMs: number): TransactionFacts {
  return {
    producerId,
    producerEpoch: none,
    previousProducerId: none,
    nextProducerId: none,
    lastProducerEpoch: none,
    timeoutMs: 0,
    state: 'Empty',
    partitions: PartitionSet.empty,
    startedAtMs: none,
    updatedAtMs: nowMs,
    clientVersion: 0,
  }
}

/** The largest epoch is never given to a producer: a fence must always be possible. */
export function isEpochExhausted(epoch: number): boolean {
  return epoch >= epochMax - 1
}

/**
 * Whether a producer that names its id may go on with this transactional id: it is the last one that
 * had it, or it repeats a request whose answer, a new producer id, it did not see.
 */
export function isKnownProducer(facts: TransactionFacts, expected: ProducerIdentity): boolean {
  return (
    facts.producerEpoch === none ||
    expected.producerId === facts.producerId ||
    (expected.producerId === facts.previousProducerId && isEpochExhausted(expected.producerEpoch))
  )
}

export interface Initialization {
  readonly timeoutMs: number
  /** The identity of a producer that wants a newer epoch of its own; undefined for one that is new. */
  readonly expected: ProducerIdentity | undefined
  readonly nowMs: number
  readonly newProducerId: () => number
}

/** After InitProducerId, without a transaction under way: everybody who had the id before is fenced. */
export function initialized(
  facts: TransactionFacts,
  { timeoutMs, expected, nowMs, newProducerId }: Initialization,
): TransactionFacts | 'PRODUCER_FENCED' {
  const { producerId, producerEpoch, lastProducerEpoch } = facts
  const base: TransactionFacts = {
    ...facts,
    previousProducerId: producerId,
    nextProducerId: none,
    timeoutMs,
    state: nextTransactionState(facts.state, 'initialized'),
    partitions: PartitionSet.empty,
    startedAtMs: none,
    updatedAtMs: nowMs,
    clientVersion: 0,
  }
  const isOwnEpoch = expected === undefined || expected.producerEpoch === producerEpoch
  const epochBefore = expected === undefined ? none : producerEpoch
  if (isEpochExhausted(producerEpoch) && isOwnEpoch)
    return {
      ...base,
      producerId: newProducerId(),
      producerEpoch: 0,
      lastProducerEpoch: epochBefore,
    }
  if (isOwnEpoch || producerEpoch === none)
    return { ...base, producerEpoch: producerEpoch + 1, lastProducerEpoch: epochBefore }
  // The answer was lost: nothing changes. A producer that is newer would have made the last epoch -1.
  if (expected.producerEpoch === lastProducerEpoch) return base
  return 'PRODUCER_FENCED'
}

/** With more partitions in the transaction, which begins by that unless it is under way. */
export function withPartitions(
  facts: TransactionFacts,
  added: readonly TopicPartition[],
  nowMs: number,
): TransactionFacts {
  return {
    ...facts,
    state: nextTransactionState(facts.state, 'added'),
    partitions: facts.partitions.with(added),
    startedAtMs: facts.state === 'Ongoing' ? facts.startedAtMs : nowMs,
    updatedAtMs: nowMs,
  }
}

export interface Ending {
  readonly type: 'commit' | 'abort'
  readonly clientVersion: number
  readonly nowMs: number
  readonly newProducerId: () => number
}

/** Once it is decided how the transaction ends, and the markers are to be written. */
export function prepared(
  facts: TransactionFacts,
  { type, clientVersion, nowMs, newProducerId }: Ending,
): TransactionFacts {
  const event = type === 'commit' ? 'committed' : 'aborted'
  const base: TransactionFacts = {
    ...facts,
    state: nextTransactionState(facts.state, event),
    startedAtMs: facts.state === 'Ongoing' ? facts.startedAtMs : nowMs,
    updatedAtMs: nowMs,
    clientVersion,
  }
  if (clientVersion < epochBumpVersion) return base
  return {
    ...base,
    producerEpoch: facts.producerEpoch + 1,
    lastProducerEpoch: facts.producerEpoch,
    nextProducerId: isEpochExhausted(facts.producerEpoch) ? newProducerId() : none,
  }
}

/**
 * As `prepared` to abort, but not asked for by the producer: it is fenced, as it has hung for too long
 * or another one takes its place. The epoch rises once, also in version 1.
 */
export function fenced(
  facts: TransactionFacts,
  ending: Pick<Ending, 'clientVersion' | 'nowMs' | 'newProducerId'>,
): TransactionFacts {
  const aborted = prepared(facts, { ...ending, type: 'abort' })
  if (ending.clientVersion >= epochBumpVersion) return aborted
  return { ...aborted, producerEpoch: facts.producerEpoch + 1, lastProducerEpoch: none }
}

/** When all markers are written. */
export function completed(facts: TransactionFacts, nowMs: number): TransactionFacts {
  const base: TransactionFacts = {
    ...facts,
    state: nextTransactionState(facts.state, 'completed'),
    partitions: PartitionSet.empty,
    updatedAtMs: nowMs,
  }
  if (facts.clientVersion < epochBumpVersion) return base
  const previousProducerId = facts.producerId
  if (facts.nextProducerId === none) return { ...base, previousProducerId }
  return {
    ...base,
    previousProducerId,
    producerId: facts.nextProducerId,
    producerEpoch: 0,
    nextProducerId: none,
  }
}

/** With which the producer goes on after the end of a transaction, also while that is under way. */
export function nextIdentity({
  producerId,
  producerEpoch,
  nextProducerId,
}: TransactionFacts): ProducerIdentity {
  if (nextProducerId === none) return { producerId, producerEpoch }
  return { producerId: nextProducerId, producerEpoch: 0 }
}

/** What an EndTxn request comes to. */
export type EndVerdict =
  | 'prepare'
  /** It was done before, and the answer lost. */
  | 'repeated'
  | 'INVALID_PRODUCER_ID_MAPPING'
  | 'PRODUCER_FENCED'
  | 'INVALID_TXN_STATE'
  | 'CONCURRENT_TRANSACTIONS'

/** Whether this producer may end the transaction so, with a client of this version. */
export function endVerdict(
  facts: TransactionFacts,
  by: ProducerIdentity,
  { type, clientVersion }: Pick<Ending, 'type' | 'clientVersion'>,
): EndVerdict {
  const bumps = clientVersion >= epochBumpVersion
  const isAfterBump = bumps && facts.producerEpoch === by.producerEpoch + 1
  const isAfterOverflow =
    bumps &&
    facts.previousProducerId === by.producerId &&
    by.producerEpoch === epochMax - 1 &&
    facts.producerEpoch === 0
  const isRepeated = isAfterBump || isAfterOverflow
  if (facts.producerId !== by.producerId && !isAfterOverflow) return 'INVALID_PRODUCER_ID_MAPPING'
  const isOwnEpoch = facts.producerEpoch === by.producerEpoch
  // In version 1 a repeated request has the same epoch as a new one: it is taken for repeated.
  const mayAbortNothing = bumps && type === 'abort' && !isRepeated
  switch (facts.state) {
    case 'Ongoing':
      return isOwnEpoch ? 'prepare' : 'PRODUCER_FENCED'
    case 'Empty':
      if (!isOwnEpoch) return 'PRODUCER_FENCED'
      return mayAbortNothing ? 'prepare' : 'INVALID_TXN_STATE'
    case 'PrepareCommit':
    case 'PrepareAbort': {
      if (bumps ? !isAfterBump : !isOwnEpoch) return 'PRODUCER_FENCED'
      const isSame = (type === 'commit') === (facts.state === 'PrepareCommit')
      return isSame ? 'CONCURRENT_TRANSACTIONS' : 'INVALID_TXN_STATE'
    }
    case 'CompleteCommit':
    case 'CompleteAbort': {
      if (!isOwnEpoch && !isRepeated) return 'PRODUCER_FENCED'
      const isSame = (type === 'commit') === (facts.state === 'CompleteCommit')
      if (isSame && (isRepeated || !bumps)) return 'repeated'
      return mayAbortNothing ? 'prepare' : 'INVALID_TXN_STATE'
    }
    default:
      return facts.state satisfies never
  }
}
