/**
 * The records of committed offsets, in the form in which Kafka keeps them in `__consumer_offsets`
 * (OffsetCommitKey version 1, OffsetCommitValue version 3).
 */
import { Reader } from '../protocol/reader.ts'
import { Writer } from '../protocol/writer.ts'
import type { CommittedOffset, OffsetKey } from './offset-table.ts'

const keyVersion = 1
const valueVersion = 3

export function encodeOffsetKey(groupId: string, { topic, partition }: OffsetKey): Buffer {
  const writer = new Writer(64)
  writer.int16(keyVersion)
  writer.string(groupId)
  writer.string(topic)
  writer.int32(partition)
  return writer.finish()
}

/** Undefined for a record of another kind. */
export function decodeOffsetKey(bytes: Buffer): (OffsetKey & { groupId: string }) | undefined {
  const reader = new Reader(bytes, { api: 'a key of the group offsets' })
  if (reader.int16() !== keyVersion) return undefined
  const groupId = reader.string()
  const topic = reader.string()
  return { groupId, topic, partition: reader.int32() }
}

export function encodeOffsetValue(committed: CommittedOffset): Buffer {
  const writer = new Writer(64)
  writer.int16(valueVersion)
  writer.int64(committed.offset)
  writer.int32(committed.leaderEpoch)
  writer.string(committed.metadata)
  writer.int64(committed.committedAtMs)
  return writer.finish()
}

export function decodeOffsetValue(bytes: Buffer): CommittedOffset {
  const reader = new Reader(bytes, { api: 'a value of the group offsets' })
  reader.int16()
  const offset = reader.int64()
  const leaderEpoch = reader.int32()
  const metadata = reader.string()
  return { offset, leaderEpoch, metadata, committedAtMs: reader.int64() }
}
