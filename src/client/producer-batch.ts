import { assert } from '../base/assert.ts'
import type { Compression } from '../protocol/compression.ts'
import { patchProducer } from '../protocol/record-batch-patch.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { RecordOrigin } from './refusal.ts'

/** Sequence numbers are positive int32 and start over after the last. */
const sequenceMask = 0x7fff_ffff

/** Whose batches these are; the broker refuses what it has already, and what leaves a gap (KIP-98). */
export interface ProducerNumbers {
  readonly producerId: number
  readonly producerEpoch: number
  readonly sequence: number
}

const unnumbered: ProducerNumbers = { producerId: -1, producerEpoch: -1, sequence: -1 }

/** Waits until some batches are acknowledged. */
export interface FlushWaiter {
  remaining: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** A record as it was sent; its bytes are borrowed from the batch. */
export interface BatchedRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** Milliseconds. */
  readonly timestamp: number
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
  /** Undefined: who sent it did not say, or nobody asks. */
  readonly origin: RecordOrigin | undefined
}

/** Where each record of a batch came from; undefined: nobody asks. */
export type BatchOrigins = readonly (RecordOrigin | undefined)[] | undefined

/** The sequence number after `count` more records. */
export function addToSequence(sequence: number, count: number): number {
  return (sequence + count) & sequenceMask
}

/** A finished batch, until it is acknowledged. */
export class ProducerBatch {
  readonly recordCount: number
  /** When its first record was appended, on the monotonic clock. */
  readonly createdAt: number
  readonly bytes: Buffer
  isInFlight = false
  /** How often it was sent. */
  attempts = 0
  waiters: FlushWaiter[] = []
  readonly #isTransactional: boolean
  #numbers: ProducerNumbers | undefined
  readonly #origins: BatchOrigins

  /** Takes what the builder holds; without numbers, they are written when the batch is sent first. */
  constructor(
    builder: RecordBatchBuilder,
    options: {
      compression: Compression
      createdAt: number
      numbers: ProducerNumbers | undefined
      isTransactional: boolean
      origins: BatchOrigins
    },
  ) {
    const { compression, createdAt, isTransactional, numbers = unnumbered } = options
    this.bytes = builder.build({
      producerId: numbers.producerId,
      producerEpoch: numbers.producerEpoch,
      baseSequence: numbers.sequence,
      compression,
      isTransactional,
    })
    this.#isTransactional = isTransactional
    this.recordCount = builder.recordCount
    this.createdAt = createdAt
    this.#numbers = options.numbers
    this.#origins = options.origins
  }

  get isNumbered(): boolean {
    return this.#numbers !== undefined
  }

  /** Of its first record; undefined: it is not numbered yet. */
  get sequence(): number | undefined {
    return this.#numbers?.sequence
  }

  /** Numbers the batch, or numbers it anew. Not while it is under way: the bytes are borrowed then. */
  number(numbers: ProducerNumbers): void {
    assert(!this.isInFlight, 'a batch under way keeps its numbers')
    this.#numbers = numbers
    patchProducer(this.bytes, {
      id: numbers.producerId,
      epoch: numbers.producerEpoch,
      baseSequence: numbers.sequence,
    })
  }

  *records(): Generator<BatchedRecord, undefined> {
    const reader = new RecordBatchReader()
    reader.reset(this.bytes)
    assert(reader.nextBatch(), 'a batch of ours is whole')
    for (let index = 0; index < this.recordCount; index += 1) {
      assert(reader.next(), 'a batch of ours has the records that it states')
      const headers = reader.headerCount === 0 ? [] : reader.headers()
      const { timestamp } = reader
      const origin = this.#origins?.[index]
      yield { key: reader.key(), value: reader.value(), timestamp, headers, origin }
    }
    return undefined
  }

  /** Two batches with the same records and sequence numbers, for a broker that refuses large ones. */
  split(compression: Compression): ProducerBatch[] {
    assert(this.recordCount > 1, 'only a batch of several records can be split')
    const numbers = this.#numbers
    assert(numbers !== undefined, 'a batch that was refused had been numbered')
    const records = this.records()
    const builder = new RecordBatchBuilder()
    const half = Math.ceil(this.recordCount / 2)
    const parts: ProducerBatch[] = []
    for (const count of [half, this.recordCount - half]) {
      builder.reset()
      for (let index = 0; index < count; index += 1) {
        const { value: record } = records.next()
        assert(record !== undefined, 'a batch of ours has the records that it states')
        const { key, value, timestamp, headers } = record
        builder.append(key, value, timestamp, headers.length === 0 ? undefined : headers)
      }
      const first = parts.length === 0 ? 0 : half
      const sequence = addToSequence(numbers.sequence, first)
      const part = new ProducerBatch(builder, {
        compression,
        createdAt: this.createdAt,
        isTransactional: this.#isTransactional,
        numbers: { ...numbers, sequence },
        origins: this.#origins?.slice(first, first + count),
      })
      // Its own list: a flush that begins now waits for each part.
      part.waiters = [...this.waiters]
      parts.push(part)
    }
    // Each flush that waited for one now waits for two.
    for (const waiter of this.waiters) waiter.remaining += 1
    return parts
  }
}
