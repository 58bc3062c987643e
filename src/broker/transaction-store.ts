/** The transactional ids of the broker: records in a compacted log of their own, and in memory. */
import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { CleanableLog } from './log-cleaner.ts'
import { PartitionLog } from './partition-log.ts'
import {
  decodeTransactionKey,
  decodeTransactionValue,
  encodeTransactionKey,
  encodeTransactionValue,
} from './transaction-record.ts'
import type { TransactionFacts } from './transaction.ts'

/** What is read from the log at once when it is opened. */
const loadBytes = 1024 * 1024

/** Small, so that compaction has something to do. */
const segmentBytes = 4 * 1024 * 1024

const noProducer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }

export interface TransactionStoreOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Log
  readonly dataDir: string
  readonly leaderEpoch: number
}

export class TransactionStore {
  readonly #clock: Clock
  readonly #log: PartitionLog
  /** In the order of their last changes. */
  readonly #facts = new Map<string, TransactionFacts>()
  readonly #builder = new RecordBatchBuilder()

  /** Reads what is stored. */
  constructor(options: TransactionStoreOptions) {
    this.#clock = options.clock
    const settings = {
      segmentBytes,
      segmentMs: Number.POSITIVE_INFINITY,
      retentionMs: Number.POSITIVE_INFINITY,
      retentionBytes: Number.POSITIVE_INFINITY,
    }
    const directory = `${options.dataDir}/transaction-state`
    this.#log = new PartitionLog({ ...options, directory, settings: () => settings })
    this.#load()
  }

  get size(): number {
    return this.#facts.size
  }

  /** All transactional ids; the one that changed last is last. */
  all(): ReadonlyMap<string, TransactionFacts> {
    return this.#facts
  }

  get(transactionalId: string): TransactionFacts | undefined {
    return this.#facts.get(transactionalId)
  }

  /** @throws StreamsError `DISK_FAILED`; what was there before holds then. */
  set(transactionalId: string, facts: TransactionFacts): void {
    this.#append(transactionalId, encodeTransactionValue(facts))
    this.#put(transactionalId, facts)
  }

  /** @throws StreamsError `DISK_FAILED` */
  delete(transactionalId: string): void {
    this.#append(transactionalId, null)
    this.#facts.delete(transactionalId)
  }

  /** For the cleaner. */
  cleanable(): CleanableLog {
    return {
      log: this.#log,
      compaction: {
        segmentBytes,
        minCleanableDirtyRatio: 0.5,
        minCompactionLagMs: 0,
        maxCompactionLagMs: Number.POSITIVE_INFINITY,
        deleteRetentionMs: 0,
      },
    }
  }

  close(): void {
    this.#log.close()
  }

  #put(transactionalId: string, facts: TransactionFacts): void {
    this.#facts.delete(transactionalId)
    this.#facts.set(transactionalId, facts)
  }

  #append(transactionalId: string, value: Buffer | null): void {
    const now = this.#clock.now()
    this.#builder.reset()
    this.#builder.append(encodeTransactionKey(transactionalId), value, now)
    this.#log.append(this.#builder.build(noProducer), {
      ...noProducer,
      isTransactional: false,
      lastOffsetDelta: 0,
      recordCount: 1,
      maxTimestamp: now,
      logAppendTimeMs: -1,
    })
  }

  #load(): void {
    const reader = new RecordBatchReader()
    for (let offset = this.#log.startOffset; offset < this.#log.endOffset;) {
      const bytes = this.#log.read(offset, { bytesMax: loadBytes, atLeastOne: true })
      if (bytes === 'out-of-range' || bytes.length === 0) return
      reader.reset(bytes)
      while (reader.nextBatch()) {
        while (reader.next()) this.#apply(reader.key(), reader.value())
        offset = reader.nextOffset
      }
    }
  }

  #apply(key: Buffer | null, value: Buffer | null): void {
    const transactionalId = key === null ? undefined : decodeTransactionKey(key)
    if (transactionalId === undefined) return
    if (value === null) this.#facts.delete(transactionalId)
    else this.#put(transactionalId, decodeTransactionValue(value))
  }
}
