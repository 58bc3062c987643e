import { hashSetOrder } from '../topology/java-order.ts'

const countBytes = 4
const lengthBytes = 4
const valueBytes = 8

/**
 * Numbers that processors keep with the committed offsets of their task, such as the time up to which
 * windows were emitted (org.apache.kafka.streams.processor.internals.ProcessorMetadata).
 */
export class ProcessorMetadata {
  readonly #values = new Map<string, number>()
  /** Something was set since the last commit. */
  needsCommit = false

  get(key: string): number | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: number): void {
    this.#values.set(key, value)
    this.needsCommit = true
  }

  /** Takes what another partition of the task was committed with: the largest value of a key counts. */
  merge(other: ReadonlyMap<string, number>): void {
    for (const [key, value] of other) {
      const known = this.#values.get(key)
      if (known === undefined || known < value) this.#values.set(key, value)
    }
  }

  /** As Java writes it: a count, then for each value the length of its key, the key, and an int64. */
  encode(): Buffer {
    if (this.#values.size === 0) return Buffer.alloc(0)
    const count = Buffer.alloc(countBytes)
    count.writeInt32BE(this.#values.size)
    const parts = [count]
    for (const key of hashSetOrder([...this.#values.keys()])) {
      const length = Buffer.byteLength(key)
      const part = Buffer.alloc(lengthBytes + length + valueBytes)
      part.writeInt32BE(length)
      part.write(key, lengthBytes)
      part.writeBigInt64BE(BigInt(this.#values.get(key) ?? 0), lengthBytes + length)
      parts.push(part)
    }
    return Buffer.concat(parts)
  }
}

/** Reads what {@link ProcessorMetadata.encode} wrote; throws a RangeError when it was something else. */
export function decodeProcessorMetadata(bytes: Buffer): Map<string, number> {
  const values = new Map<string, number>()
  if (bytes.length === 0) return values
  let position = countBytes
  for (let left = bytes.readInt32BE(); left > 0; left -= 1) {
    const length = bytes.readInt32BE(position)
    if (length < 0) throw new RangeError(`a key cannot have ${length} bytes`)
    position += lengthBytes
    const value = Number(bytes.readBigInt64BE(position + length))
    values.set(bytes.toString('utf8', position, position + length), value)
    position += length + valueBytes
  }
  return values
}
