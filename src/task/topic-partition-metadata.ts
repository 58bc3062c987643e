/**
 * What Kafka Streams keeps beside a committed offset, as base64 text
 * (org.apache.kafka.streams.processor.internals.TopicPartitionMetadata): a version byte, the partition
 * time as int64, and in version 2 the metadata of processors, which is empty as nobody writes any.
 */

const latestVersion = 2
const bytesMin = 9

/** The metadata string of a partition time; -1: unknown. */
export function encodePartitionTime(partitionTime: number): string {
  const bytes = Buffer.alloc(bytesMin)
  bytes[0] = latestVersion
  bytes.writeBigInt64BE(BigInt(partitionTime), 1)
  return bytes.toString('base64')
}

/** The partition time in a metadata string; -1 when it holds none, or is not ours. */
export function decodePartitionTime(metadata: string): number {
  const bytes = Buffer.from(metadata, 'base64')
  const version = bytes[0]
  if (bytes.length < bytesMin || (version !== 1 && version !== latestVersion)) return -1
  const partitionTime = Number(bytes.readBigInt64BE(1))
  return Number.isSafeInteger(partitionTime) && partitionTime >= 0 ? partitionTime : -1
}
