import type { StreamsError } from '../errors.ts'
import type { Compression } from '../protocol/compression.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { Backoff } from './backoff.ts'
import { addToSequence, ProducerBatch, type ProducerNumbers } from './producer-batch.ts'
import type { ProducerIdentity } from './producer-session.ts'
import type { RecordOrigin } from './refusal.ts'

/** A broker remembers the last five batches of a producer, so no more may be in doubt at once. */
const inFlightMax = 5

/** What of one partition is not acknowledged yet, and how its batches are numbered. */
export class ProducerPartition {
  readonly topic: string
  readonly partition: number
  readonly builder = new RecordBatchBuilder()
  /** Of the records of the builder; undefined: nobody asks. */
  origins: (RecordOrigin | undefined)[] | undefined
  /** When the first record of the builder was appended, on the monotonic clock. */
  openedAt = 0
  /** Finished batches in the order of their sequence numbers; some are under way. */
  readonly batches: ProducerBatch[] = []
  /** Set: no more records are taken. */
  failure: StreamsError | undefined
  nextOffset: number | undefined
  /** True when no leader was known and the cluster was asked for one. */
  isLeaderless = false
  /** Nothing is sent before this time of the monotonic clock. */
  retryAt = 0
  /** Why the last try failed, for the final error. */
  lastFailure: StreamsError | undefined
  #inFlightCount = 0
  /**
   * A batch was acknowledged: the broker remembers our numbers. Before, it takes any: a partition that
   * has just been created may refuse the first batch and take the second, and the first never fits again.
   */
  #isKnown = false
  /** A batch failed: the others must come back before anything is sent again, in order. */
  #isSettling = false
  /** Who the numbers are of. */
  #identity: ProducerIdentity | undefined
  #nextSequence = 0
  /** Batches that are counted from 0 again go out under a higher epoch (KIP-360). */
  #epochBumps = 0
  /** Set: before anything is sent, all batches are numbered anew from there. */
  #renumberFrom: number | undefined
  readonly #isTransactional: boolean
  readonly #backoff: Backoff

  constructor(
    topic: string,
    partition: number,
    options: { isTransactional: boolean; backoff: Backoff },
  ) {
    this.topic = topic
    this.partition = partition
    this.#isTransactional = options.isTransactional
    this.#backoff = options.backoff
  }

  /** Bytes that wait in the builder. */
  get openBytes(): number {
    return this.builder.isEmpty ? 0 : this.builder.sizeInBytes
  }

  /**
   * Finishes the batch that is being filled. `producer` undefined: its id is not known yet. Throws
   * `COMPRESSION_UNAVAILABLE`.
   */
  seal(compression: Compression, producer: ProducerIdentity | undefined): ProducerBatch {
    // In order: not before those that wait for their numbers.
    const mayNumber = producer !== undefined && (this.batches.at(-1)?.isNumbered ?? true)
    const numbers = mayNumber ? this.#nextNumbers(producer, this.builder.recordCount) : undefined
    const createdAt = this.openedAt
    const isTransactional = this.#isTransactional
    const { origins } = this
    const options = { compression, createdAt, numbers, isTransactional, origins }
    const batch = new ProducerBatch(this.builder, options)
    if (origins !== undefined) this.origins = []
    this.builder.reset()
    this.batches.push(batch)
    return batch
  }

  /** The next batch to be sent; undefined: none, or not now. */
  next(now: number): ProducerBatch | undefined {
    const most = this.#isKnown ? inFlightMax : 1
    if (this.retryAt > now || this.#inFlightCount >= most) return undefined
    if (this.#isSettling && this.#inFlightCount > 0) return undefined
    return this.batches.find((batch) => !batch.isInFlight)
  }

  /** The batch goes out. */
  sent(batch: ProducerBatch, producer: ProducerIdentity): void {
    this.#isSettling = false
    if (producer !== this.#identity) this.#begin(producer)
    if (this.#renumberFrom !== undefined) this.#renumber(producer)
    if (!batch.isNumbered) batch.number(this.#nextNumbers(producer, batch.recordCount))
    batch.isInFlight = true
    batch.attempts += 1
    this.#inFlightCount += 1
  }

  /** The batch is no longer under way, whatever came of it. */
  returned(batch: ProducerBatch): void {
    batch.isInFlight = false
    this.#inFlightCount -= 1
  }

  /** The batch is written. `baseOffset` -1: the broker knew it already and does not tell where. */
  acknowledged(batch: ProducerBatch, baseOffset: number): void {
    this.#remove(batch)
    this.#isKnown = true
    this.#backoff.reset()
    this.lastFailure = undefined
    if (baseOffset >= 0) {
      this.nextOffset = Math.max(this.nextOffset ?? 0, baseOffset + batch.recordCount)
    }
  }

  /** Batches go out again, in order, once all are back and a wait is over: default a growing one. */
  postpone(now: number, failure: StreamsError, waitMs: number = this.#backoff.next()): void {
    this.#isSettling = true
    this.lastFailure = failure
    this.retryAt = now + waitMs
  }

  /** Batches go out again without a wait, in order, once all are back. */
  sendAgain(): void {
    this.#isSettling = true
  }

  /** Counts from 0 in a higher epoch, once all batches are back. */
  bumpEpoch(): void {
    this.#isSettling = true
    this.#renumberFrom = 0
    this.#isKnown = false
  }

  /** True: one before it is not written, or was given up. */
  hasGapBefore(batch: ProducerBatch): boolean {
    return this.batches[0] !== batch || this.#renumberFrom !== undefined
  }

  /**
   * Gives a batch up that is not under way; those after it would leave a gap and are counted anew. In a
   * transaction, whose epoch is not ours, only one that was refused: the next takes its place.
   */
  drop(batch: ProducerBatch): void {
    this.lastFailure = undefined
    if (this.#isTransactional) {
      // From the first that is not acknowledged on: those before the dropped one keep their numbers so.
      this.#renumberFrom ??= this.batches[0]?.sequence ?? 0
      this.#isSettling = true
    } else this.bumpEpoch()
    this.#remove(batch)
  }

  /** Puts parts in the place of a batch. */
  replace(batch: ProducerBatch, parts: readonly ProducerBatch[]): void {
    this.#isSettling = true
    this.batches.splice(this.batches.indexOf(batch), 1, ...parts)
  }

  #renumber(producer: ProducerIdentity): void {
    if (!this.#isTransactional) this.#epochBumps += 1
    this.#nextSequence = this.#renumberFrom ?? 0
    this.#renumberFrom = undefined
    for (const batch of this.batches) {
      if (batch.isNumbered) batch.number(this.#nextNumbers(producer, batch.recordCount))
    }
  }

  #nextNumbers(producer: ProducerIdentity, recordCount: number): ProducerNumbers {
    if (producer !== this.#identity) this.#begin(producer)
    const sequence = this.#nextSequence
    this.#nextSequence = addToSequence(sequence, recordCount)
    const producerEpoch = producer.producerEpoch + this.#epochBumps
    return { producerId: producer.producerId, producerEpoch, sequence }
  }

  /**
   * An epoch that the coordinator gave, after a transaction: nothing is under way, and all counts from 0, also
   * what was numbered while the end of that transaction was not known.
   */
  #begin(producer: ProducerIdentity): void {
    if (producer.producerId !== this.#identity?.producerId) this.#isKnown = false
    this.#identity = producer
    this.#nextSequence = 0
    this.#renumberFrom = this.batches.some((batch) => batch.isNumbered) ? 0 : undefined
  }

  #remove(batch: ProducerBatch): void {
    const index = this.batches.indexOf(batch)
    if (index >= 0) this.batches.splice(index, 1)
  }
}
