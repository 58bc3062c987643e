/**
 * What Kafka Streams keeps beside a committed offset, as base64 text
 * (org.apache.kafka.streams.processor.internals.TopicPartitionMetadata): a version byte, the partition
 * time as int64, and in version 2 the metadata of processors.
 */
import { decodeProcessorMetadata, type ProcessorMetadata } from './processor-metadata.ts'

const latestVersion = 2
const timeEnd = 9

/** What the text beside a committed offset says. */
export interface TopicPartitionMetadata {
  /** Milliseconds; -1: unknown. */
  readonly partitionTime: number
  readonly processors: ReadonlyMap<string, number>
}

/** The text for a partition time (-1: unknown) and what the task's processors keep. */
export function encodeMetadata(partitionTime: number, processors: ProcessorMetadata): string {
  const head = Buffer.alloc(timeEnd)
  head[0] = latestVersion
  head.writeBigInt64BE(BigInt(partitionTime), 1)
  return Buffer.concat([head, processors.encode()]).toString('base64')
}

/** Reads such a text. One that is not ours says nothing: time -1, no metadata of processors. */
export function decodeMetadata(text: string): TopicPartitionMetadata {
  const bytes = Buffer.from(text, 'base64')
  const version = bytes[0]
  if (bytes.length < timeEnd || (version !== 1 && version !== latestVersion)) return nothing
  const time = Number(bytes.readBigInt64BE(1))
  const partitionTime = Number.isSafeInteger(time) && time >= 0 ? time : -1
  if (version === 1) return { partitionTime, processors: nothing.processors }
  return { partitionTime, processors: processorsIn(bytes.subarray(timeEnd)) }
}

const nothing: TopicPartitionMetadata = { partitionTime: -1, processors: new Map() }

function processorsIn(bytes: Buffer): ReadonlyMap<string, number> {
  try {
    return decodeProcessorMetadata(bytes)
  } catch (error) {
    // Somebody else's bytes: what they say is not for our processors.
    if (error instanceof RangeError) return nothing.processors
    throw error
  }
}
