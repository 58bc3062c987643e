/**
 * Kafka's hash of record keys (org.apache.kafka.common.utils.Utils#murmur2) and the partition that the
 * default partitioner derives from it. All who write a topic must agree on it, or keys are looked for in
 * the wrong partition.
 */
import { assert } from '../base/assert.ts'

const seed = 0x9747_b28c
const multiplier = 0x5bd1_e995
const rotation = 24

/** The 32-bit murmur2 hash as Java's signed int. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length
  let hash = seed ^ length
  const wordsEnd = length & ~3
  for (let i = 0; i < wordsEnd; i += 4) {
    let word =
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24)
    word = Math.imul(word, multiplier)
    word ^= word >>> rotation
    word = Math.imul(word, multiplier)
    hash = Math.imul(hash, multiplier) ^ word
  }
  const tail = length & 3
  if (tail > 2) hash ^= (bytes[wordsEnd + 2] as number) << 16
  if (tail > 1) hash ^= (bytes[wordsEnd + 1] as number) << 8
  if (tail > 0) hash = Math.imul(hash ^ (bytes[wordsEnd] as number), multiplier)
  hash ^= hash >>> 13
  hash = Math.imul(hash, multiplier)
  return hash ^ (hash >>> 15)
}

/**
 * The partition of a key under Kafka's default partitioner (BuiltInPartitioner#partitionForKey).
 *
 * @param partitionCount the number of partitions of the topic, at least 1.
 */
export function partitionForKey(key: Uint8Array, partitionCount: number): number {
  assert(partitionCount > 0, 'a topic has at least one partition')
  return (murmur2(key) & 0x7fff_ffff) % partitionCount
}
