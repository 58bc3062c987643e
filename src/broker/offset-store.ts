/**
 * The committed offsets of all groups. They are records in a compacted log of their own, in the
 * form in which Kafka keeps them in `__consumer_offsets` (key version 1, value version 3), and in
 * memory.
 */
import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { Reader } from '../protocol/reader.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { Writer } from '../protocol/writer.ts'
import type { CleanableLog } from './log-cleaner.ts'
import { PartitionLog } from './partition-log.ts'

const keyVersion = 1
const valueVersion = 3

/** What is read from the log at once when it is opened. */
const loadBytes = 1024 * 1024

/** Small, so that compaction has something to do. */
const segmentBytes = 4 * 1024 * 1024

export interface CommittedOffset {
  readonly offset: number
  /** -1 when it was not told. */
  readonly leaderEpoch: number
  readonly metadata: string
  readonly committedAtMs: number
}

/** A partition that a commit or a deletion is about. */
export interface OffsetKey {
  readonly topic: string
  readonly partition: number
}

/** One partition of a commit. */
export interface OffsetEntry extends OffsetKey {
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
}

/** By topic, then by partition. */
type GroupOffsets = Map<string, Map<number, CommittedOffset>>

export class OffsetStore {
  readonly #clock: Clock
  readonly #log: PartitionLog
  readonly #groups = new Map<string, GroupOffsets>()
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

  /** The groups that have committed anything. */
  groupIds(): string[] {
    return [...this.#groups.keys()]
  }

  has(groupId: string): boolean {
    return this.#groups.has(groupId)
  }

  get(groupId: string, { topic, partition }: OffsetKey): CommittedOffset | undefined {
    return this.#groups.get(groupId)?.get(topic)?.get(partition)
  }

  /** All partitions for which the group has committed. */
  keys(groupId: string): OffsetKey[] {
    const keys: OffsetKey[] = []
    for (const [topic, partitions] of this.#groups.get(groupId) ?? [])
      for (const partition of partitions.keys()) keys.push({ topic, partition })
    return keys
  }

  /** All entries, or, when the disk fails, none. @throws StreamsError `DISK_FAILED` */
  commit(groupId: string, entries: readonly OffsetEntry[]): void {
    if (entries.length === 0) return
    const committedAtMs = this.#clock.now()
    const records = entries.map((entry) => ({
      key: encodeKey(groupId, entry),
      value: encodeValue({ ...entry, committedAtMs }),
    }))
    this.#append(records)
    for (const entry of entries) this.#set(groupId, entry, { ...entry, committedAtMs })
  }

  /** Forgets partitions of a group; all of them by default. @throws StreamsError `DISK_FAILED` */
  delete(groupId: string, keys: readonly OffsetKey[] = this.keys(groupId)): void {
    const known = keys.filter((key) => this.get(groupId, key) !== undefined)
    if (known.length === 0) return
    this.#append(known.map((key) => ({ key: encodeKey(groupId, key), value: null })))
    for (const key of known) this.#remove(groupId, key)
  }

  /** Forgets a topic in all groups. @throws StreamsError `DISK_FAILED` */
  deleteTopic(topic: string): void {
    for (const groupId of this.groupIds())
      this.delete(
        groupId,
        this.keys(groupId).filter((key) => key.topic === topic),
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

  #append(records: readonly { key: Buffer; value: Buffer | null }[]): void {
    const builder = this.#builder
    builder.reset()
    const now = this.#clock.now()
    for (const { key, value } of records) builder.append(key, value, now)
    const producer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
    this.#log.append(builder.build(producer), {
      ...producer,
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
        while (reader.next()) this.#apply(reader.key(), reader.value())
        offset = reader.nextOffset
      }
    }
  }

  #apply(key: Buffer | null, value: Buffer | null): void {
    const decoded = key === null ? undefined : decodeKey(key)
    if (decoded === undefined) return
    if (value === null) this.#remove(decoded.groupId, decoded)
    else this.#set(decoded.groupId, decoded, decodeValue(value))
  }

  #set(groupId: string, { topic, partition }: OffsetKey, committed: CommittedOffset): void {
    let topics = this.#groups.get(groupId)
    if (topics === undefined) this.#groups.set(groupId, (topics = new Map()))
    let partitions = topics.get(topic)
    if (partitions === undefined) topics.set(topic, (partitions = new Map()))
    const { offset, leaderEpoch, metadata, committedAtMs } = committed
    partitions.set(partition, { offset, leaderEpoch, metadata, committedAtMs })
  }

  #remove(groupId: string, { topic, partition }: OffsetKey): void {
    const topics = this.#groups.get(groupId)
    const partitions = topics?.get(topic)
    partitions?.delete(partition)
    if (partitions?.size === 0) topics?.delete(topic)
    if (topics?.size === 0) this.#groups.delete(groupId)
  }
}

function encodeKey(groupId: string, { topic, partition }: OffsetKey): Buffer {
  const writer = new Writer(64)
  writer.int16(keyVersion)
  writer.string(groupId)
  writer.string(topic)
  writer.int32(partition)
  return writer.finish()
}

/** Undefined for a record of another kind. */
function decodeKey(bytes: Buffer): (OffsetKey & { groupId: string }) | undefined {
  const reader = new Reader(bytes, { api: 'a key of the group offsets' })
  if (reader.int16() !== keyVersion) return undefined
  const groupId = reader.string()
  const topic = reader.string()
  return { groupId, topic, partition: reader.int32() }
}

function encodeValue({ offset, leaderEpoch, metadata, committedAtMs }: CommittedOffset): Buffer {
  const writer = new Writer(64)
  writer.int16(valueVersion)
  writer.int64(offset)
  writer.int32(leaderEpoch)
  writer.string(metadata)
  writer.int64(committedAtMs)
  return writer.finish()
}

function decodeValue(bytes: Buffer): CommittedOffset {
  const reader = new Reader(bytes, { api: 'a value of the group offsets' })
  reader.int16()
  const offset = reader.int64()
  const leaderEpoch = reader.int32()
  const metadata = reader.string()
  return { offset, leaderEpoch, metadata, committedAtMs: reader.int64() }
}
