/**
 * The committed offsets of all groups: records in a compacted log of their own, and in memory. Those
 * that a transaction commits are pending until its marker is in the log
 * (org.apache.kafka.coordinator.group.OffsetMetadataManager).
 */
import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { readMarker } from '../protocol/record-control.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { CleanableLog } from './log-cleaner.ts'
import type { TransactionMarker } from './log-transactions.ts'
import {
  decodeOffsetKey,
  decodeOffsetValue,
  encodeOffsetKey,
  encodeOffsetValue,
} from './offset-record.ts'
import { OffsetTable, type CommittedOffset, type OffsetKey } from './offset-table.ts'
import { PartitionLog } from './partition-log.ts'

/** What is read from the log at once when it is opened. */
const loadBytes = 1024 * 1024

/** Small, so that compaction has something to do. */
const segmentBytes = 4 * 1024 * 1024

/** One partition of a commit. */
export interface OffsetEntry extends OffsetKey {
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
}

/** Whose transaction offsets are part of. */
export interface TransactionProducer {
  readonly producerId: number
  readonly producerEpoch: number
}

const noProducer: TransactionProducer = { producerId: -1, producerEpoch: -1 }

export class OffsetStore {
  readonly #clock: Clock
  readonly #log: PartitionLog
  readonly #committed = new OffsetTable()
  /** By the producer of the transaction. */
  readonly #pending = new Map<number, OffsetTable>()
  readonly #builder = new RecordBatchBuilder()

  /** Reads what is stored. */
  constructor(options: {
    disk: Disk
    clock: Clock
    log: Log
    dataDir: string
    leaderEpoch: number
  }) {
    this.#clock = options.clock
    const settings = {
      segmentBytes,
      segmentMs: Number.POSITIVE_INFINITY,
      retentionMs: Number.POSITIVE_INFINITY,
      retentionBytes: Number.POSITIVE_INFINITY,
    }
    const directory = `${options.dataDir}/group-offsets`
    this.#log = new PartitionLog({ ...options, directory, settings: () => settings })
    this.#load()
  }

  /** The log, for those who look after transactions. */
  get log(): PartitionLog {
    return this.#log
  }

  /** The groups that have committed anything, or are about to. */
  groupIds(): string[] {
    const ids = new Set(this.#committed.groupIds())
    for (const pending of this.#pending.values()) for (const id of pending.groupIds()) ids.add(id)
    return [...ids]
  }

  has(groupId: string): boolean {
    if (this.#committed.has(groupId)) return true
    for (const pending of this.#pending.values()) if (pending.has(groupId)) return true
    return false
  }

  get(groupId: string, key: OffsetKey): CommittedOffset | undefined {
    return this.#committed.get(groupId, key)
  }

  /** Whether an open transaction is about to commit something for the partition. */
  isPending(groupId: string, key: OffsetKey): boolean {
    for (const pending of this.#pending.values())
      if (pending.get(groupId, key) !== undefined) return true
    return false
  }

  /** All partitions for which the group has committed. */
  keys(groupId: string): OffsetKey[] {
    return this.#committed.keys(groupId)
  }

  /** All entries, or, when the disk fails, none. @throws StreamsError `DISK_FAILED` */
  commit(groupId: string, entries: readonly OffsetEntry[]): void {
    this.#write(groupId, entries, noProducer)
  }

  /**
   * As {@link commit}; the offsets hold when the transaction of the producer is committed.
   *
   * @throws StreamsError `DISK_FAILED`
   */
  commitInTransaction(
    groupId: string,
    entries: readonly OffsetEntry[],
    producer: TransactionProducer,
  ): void {
    this.#write(groupId, entries, producer)
  }

  /** Ends the transaction of a producer in all groups. @throws StreamsError `DISK_FAILED` */
  endTransaction(marker: TransactionMarker): void {
    this.#log.appendMarker(marker)
    this.#settle(marker)
  }

  /** Forgets partitions of a group; all of them by default. @throws StreamsError `DISK_FAILED` */
  delete(groupId: string, keys: readonly OffsetKey[] = this.#allKeys(groupId)): void {
    const known = keys.filter(
      (key) => this.get(groupId, key) !== undefined || this.isPending(groupId, key),
    )
    if (known.length === 0) return
    const records = known.map((key) => ({ key: encodeOffsetKey(groupId, key), value: null }))
    this.#append(records, noProducer)
    for (const key of known) this.#remove(groupId, key)
  }

  /** Forgets a topic in all groups. @throws StreamsError `DISK_FAILED` */
  deleteTopic(topic: string): void {
    for (const groupId of this.groupIds())
      this.delete(
        groupId,
        this.#allKeys(groupId).filter((key) => key.topic === topic),
      )
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

  #write(groupId: string, entries: readonly OffsetEntry[], producer: TransactionProducer): void {
    if (entries.length === 0) return
    const committedAtMs = this.#clock.now()
    const records = entries.map((entry) => ({
      key: encodeOffsetKey(groupId, entry),
      value: encodeOffsetValue({ ...entry, committedAtMs }),
    }))
    const baseOffset = this.#append(records, producer)
    const table = this.#tableOf(producer.producerId)
    for (const [index, { topic, partition, offset, leaderEpoch, metadata }] of entries.entries()) {
      const stored = { offset, leaderEpoch, metadata, committedAtMs, position: baseOffset + index }
      table.set(groupId, { topic, partition }, stored)
    }
  }

  /** Where offsets of this producer go; -1: those of no transaction. */
  #tableOf(producerId: number): OffsetTable {
    if (producerId < 0) return this.#committed
    let table = this.#pending.get(producerId)
    if (table === undefined) this.#pending.set(producerId, (table = new OffsetTable()))
    return table
  }

  #settle({ producerId, type }: Pick<TransactionMarker, 'producerId' | 'type'>): void {
    const pending = this.#pending.get(producerId)
    this.#pending.delete(producerId)
    if (pending !== undefined && type === 'commit') this.#committed.merge(pending)
  }

  /** Committed and pending. */
  #allKeys(groupId: string): OffsetKey[] {
    const keys = this.#committed.keys(groupId)
    for (const pending of this.#pending.values()) {
      for (const key of pending.keys(groupId))
        if (this.get(groupId, key) === undefined) keys.push(key)
    }
    return keys
  }

  #remove(groupId: string, key: OffsetKey): void {
    this.#committed.remove(groupId, key)
    for (const [producerId, pending] of this.#pending) {
      pending.remove(groupId, key)
      if (pending.isEmpty) this.#pending.delete(producerId)
    }
  }

  #append(
    records: readonly { key: Buffer; value: Buffer | null }[],
    producer: TransactionProducer,
  ): number {
    const builder = this.#builder
    builder.reset()
    const now = this.#clock.now()
    for (const { key, value } of records) builder.append(key, value, now)
    const isTransactional = producer.producerId >= 0
    // As in Kafka there are no sequences: the epoch alone keeps an old producer out.
    const batch = builder.build({ ...producer, baseSequence: -1, isTransactional })
    return this.#log.append(batch, {
      ...producer,
      baseSequence: -1,
      isTransactional,
      lastOffsetDelta: records.length - 1,
      recordCount: records.length,
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
        this.#loadBatch(reader)
        offset = reader.nextOffset
      }
    }
  }

  #loadBatch(reader: RecordBatchReader): void {
    if (reader.isControl) {
      const marker = readMarker(reader.batchBytes())
      if (marker === undefined || marker.type === 'other') return
      this.#settle({ producerId: marker.producerId, type: marker.type })
      return
    }
    const table = this.#tableOf(reader.isTransactional ? reader.producerId : -1)
    while (reader.next()) {
      const key = reader.key()
      const decoded = key === null ? undefined : decodeOffsetKey(key)
      if (decoded === undefined) continue
      const { groupId, topic, partition } = decoded
      const value = reader.value()
      if (value === null) this.#remove(groupId, decoded)
      else {
        const stored = { ...decodeOffsetValue(value), position: reader.offset }
        table.set(groupId, { topic, partition }, stored)
      }
    }
  }
}
