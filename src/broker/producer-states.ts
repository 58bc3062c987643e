/** Kafka remembers as many batches of a producer: as many may be under way at once. */
const batchesRememberedMax = 5

/**
 * Producers that one partition remembers; the one that was silent for longest is forgotten first.
 */
const producersRememberedMax = 10_000

const sequenceMax = 0x7fff_ffff

/** One batch of an idempotent producer. */
export interface ProducedBatch {
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly recordCount: number
  readonly baseOffset: number
  readonly lastOffset: number
  /** The time that the broker gave to the records, -1 when they have the producer's. */
  readonly logAppendTimeMs: number
}

/** What becomes of a batch that arrives. */
export type SequenceVerdict =
  | { readonly kind: 'append' }
  | { readonly kind: 'duplicate'; readonly of: RememberedBatch }
  | { readonly kind: 'refused'; readonly error: SequenceError }

export type SequenceError = 'OUT_OF_ORDER_SEQUENCE_NUMBER' | 'INVALID_PRODUCER_EPOCH'

export interface RememberedBatch {
  readonly baseSequence: number
  readonly lastSequence: number
  readonly baseOffset: number
  readonly lastOffset: number
  readonly logAppendTimeMs: number
}

interface ProducerState {
  readonly epoch: number
  /** Oldest first, never empty. */
  readonly batches: RememberedBatch[]
}

const append: SequenceVerdict = { kind: 'append' }

/**
 * What a partition knows about its idempotent producers (org.apache.kafka.storage.internals.log.
 * ProducerStateManager). It is a function of the log: recovery replays the batches through `add`.
 */
export class ProducerStates {
  /** In the order of their last batches. */
  readonly #producers = new Map<number, ProducerState>()

  get size(): number {
    return this.#producers.size
  }

  /**
   * Whether the batch continues what its producer wrote, was written before, or must be refused.
   */
  check(
    batch: Pick<ProducedBatch, 'producerId' | 'producerEpoch' | 'baseSequence' | 'recordCount'>,
  ): SequenceVerdict {
    const state = this.#producers.get(batch.producerId)
    // A producer that is not known, or was forgotten, may go on at any sequence.
    if (state === undefined) return append
    if (batch.producerEpoch < state.epoch) return refused('INVALID_PRODUCER_EPOCH')
    if (batch.producerEpoch > state.epoch) {
      return batch.baseSequence === 0 ? append : refused('OUT_OF_ORDER_SEQUENCE_NUMBER')
    }
    const lastSequence = sequenceAfter(batch.baseSequence, batch.recordCount - 1)
    const twin = state.batches.find(
      (known) => known.baseSequence === batch.baseSequence && known.lastSequence === lastSequence,
    )
    if (twin !== undefined) return { kind: 'duplicate', of: twin }
    const newest = state.batches.at(-1) as RememberedBatch
    return batch.baseSequence === sequenceAfter(newest.lastSequence, 1)
      ? append
      : refused('OUT_OF_ORDER_SEQUENCE_NUMBER')
  }

  /** Remembers a batch that is in the log. */
  add(batch: ProducedBatch): void {
    const { producerId, producerEpoch, baseSequence, baseOffset, lastOffset } = batch
    const known = this.#producers.get(producerId)
    const state: ProducerState =
      known !== undefined && known.epoch === producerEpoch
        ? known
        : { epoch: producerEpoch, batches: [] }
    // Compaction takes records away, but never changes the offsets that a batch spans: these tell
    // how many sequence numbers it used.
    const lastSequence = sequenceAfter(baseSequence, lastOffset - baseOffset)
    const { logAppendTimeMs } = batch
    state.batches.push({ baseSequence, lastSequence, baseOffset, lastOffset, logAppendTimeMs })
    if (state.batches.length > batchesRememberedMax) state.batches.shift()
    this.#producers.delete(producerId)
    this.#producers.set(producerId, state)
    if (this.#producers.size > producersRememberedMax) {
      const oldest = this.#producers.keys().next().value as number
      this.#producers.delete(oldest)
    }
  }

  /** Whether recovery needs this batch to know where its producer was: compaction keeps it. */
  isNewestBatch(producerId: number, lastOffset: number): boolean {
    return this.#producers.get(producerId)?.batches.at(-1)?.lastOffset === lastOffset
  }
}

function refused(error: SequenceError): SequenceVerdict {
  return { kind: 'refused', error }
}

/** Sequence numbers go back to 0 after the largest int32. */
function sequenceAfter(sequence: number, count: number): number {
  const next = sequence + count
  return next > sequenceMax ? next - sequenceMax - 1 : next
}
