/** Kafka remembers as many batches of a producer: as many may be under way at once. */
const batchesRememberedMax = 5

/**
 * Producers that one partition remembers; the one that was silent for longest is forgotten first.
 */
const producersRememberedMax = 10_000

const sequenceMax = 0x7fff_ffff

/** What stands for a sequence before the first one. */
const noSequence = -1

/** One batch of an idempotent producer. */
export interface ProducedBatch {
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly recordCount: number
  readonly baseOffset: number
  readonly lastOffset: number
  readonly maxTimestamp: number
  /** The time that the broker gave to the records, -1 when they have the producer's. */
  readonly logAppendTimeMs: number
}

/** The marker that ended a transaction of a producer. */
export interface ProducerMarker {
  readonly producerId: number
  readonly producerEpoch: number
  readonly coordinatorEpoch: number
  readonly offset: number
  readonly timestamp: number
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
  /** Oldest first; empty when the epoch is known from a marker only. */
  readonly batches: RememberedBatch[]
  /** Of the last marker, -1 before the first. */
  coordinatorEpoch: number
  /** Of the last marker, -1 before the first. */
  markerOffset: number
  lastTimestamp: number
}

/** One line of a list of producers. */
export interface ProducerSummary {
  readonly producerId: number
  readonly producerEpoch: number
  /** -1 when it has written nothing in this epoch. */
  readonly lastSequence: number
  readonly lastTimestamp: number
  /** -1 when it has ended no transaction here. */
  readonly coordinatorEpoch: number
}

const append: SequenceVerdict = { kind: 'append' }

/**
 * What a partition knows about its idempotent producers (org.apache.kafka.storage.internals.log.
 * ProducerStateManager). It is a function of the log: recovery replays the batches through `add`,
 * the markers through `addMarker`.
 */
export class ProducerStates {
  /** In the order of their last batches. */
  readonly #producers = new Map<number, ProducerState>()

  get size(): number {
    return this.#producers.size
  }

  /** Everybody who is remembered; who was silent for longest is first. */
  summaries(): ProducerSummary[] {
    return [...this.#producers].map(([producerId, state]) => ({
      producerId,
      producerEpoch: state.epoch,
      lastSequence: state.batches.at(-1)?.lastSequence ?? noSequence,
      lastTimestamp: state.lastTimestamp,
      coordinatorEpoch: state.coordinatorEpoch,
    }))
  }

  /** The epoch of a producer's last batch or marker; undefined when it is not remembered. */
  epochOf(producerId: number): number | undefined {
    return this.#producers.get(producerId)?.epoch
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
    const newest = state.batches.at(-1)?.lastSequence ?? noSequence
    return batch.baseSequence === sequenceAfter(newest, 1)
      ? append
      : refused('OUT_OF_ORDER_SEQUENCE_NUMBER')
  }

  /** Remembers a batch that is in the log. */
  add(batch: ProducedBatch): void {
    const { producerId, baseSequence, baseOffset, lastOffset } = batch
    const state = this.#touch(producerId, batch.producerEpoch)
    // Compaction takes records away, but never changes the offsets that a batch spans: these tell
    // how many sequence numbers it used.
    const lastSequence = sequenceAfter(baseSequence, lastOffset - baseOffset)
    const { logAppendTimeMs } = batch
    state.batches.push({ baseSequence, lastSequence, baseOffset, lastOffset, logAppendTimeMs })
    if (state.batches.length > batchesRememberedMax) state.batches.shift()
    state.lastTimestamp = batch.maxTimestamp
  }

  /** Remembers a marker that is in the log: batches of an older epoch are refused from now on. */
  addMarker(marker: ProducerMarker): void {
    const state = this.#touch(marker.producerId, marker.producerEpoch)
    state.coordinatorEpoch = marker.coordinatorEpoch
    state.markerOffset = marker.offset
    state.lastTimestamp = marker.timestamp
  }

  /**
   * Whether recovery needs this batch, or marker, to know where its producer was: compaction keeps
   * it.
   */
  isNewestBatch(producerId: number, lastOffset: number): boolean {
    const state = this.#producers.get(producerId)
    return (
      state !== undefined && (state.batches.at(-1)?.lastOffset ?? state.markerOffset) === lastOffset
    )
  }

  /** The state of a producer that has just written: it becomes the last that is forgotten. */
  #touch(producerId: number, epoch: number): ProducerState {
    const known = this.#producers.get(producerId)
    const state: ProducerState =
      known !== undefined && known.epoch === epoch
        ? known
        : {
            epoch,
            batches: [],
            coordinatorEpoch: known?.coordinatorEpoch ?? -1,
            markerOffset: known?.markerOffset ?? -1,
            lastTimestamp: -1,
          }
    this.#producers.delete(producerId)
    this.#producers.set(producerId, state)
    if (this.#producers.size > producersRememberedMax) {
      const oldest = this.#producers.keys().next().value as number
      this.#producers.delete(oldest)
    }
    return state
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
