/**
 * What a buffer that orders records by time holds of one, as Kafka Streams writes it to changelogs
 * (org.apache.kafka.streams.state.internals.BufferValue and processor.internals.ProcessorRecordContext):
 *
 *     timestamp int64, offset int64, topic, partition int32, count of headers int32, name and value of each
 *     prior value, old value, new value
 *
 * Texts and bytes stand behind their length as int32; -1: null; of the old value -2: it is the prior one.
 */
import type { RecordContext, RecordHeaders } from './state-store.ts'

const nullLength = -1
const sameAsPrior = -2
const intBytes = 4
const longBytes = 8

/** Where a held record came from, and the values that it stands for. */
export interface BufferValue {
  readonly origin: Readonly<RecordContext>
  /** What steps below have last heard of the key, before the first record that is held. */
  readonly prior: Buffer | null
  readonly old: Buffer | null
  readonly new: Buffer | null
}

/** One object for equal bytes: they are held, counted and written once. */
export function bufferValue(
  origin: Readonly<RecordContext>,
  values: {
    readonly prior: Buffer | null
    readonly old: Buffer | null
    readonly new: Buffer | null
  },
): BufferValue {
  const { prior, old } = values
  const isSame = prior !== null && old !== null && prior.equals(old)
  return { origin, prior: isSame ? old : prior, old, new: values.new }
}

/** Java's estimate, by which buffers are bounded. */
export function bufferValueBytes({ origin, prior, old, new: value }: BufferValue): number {
  let bytes = 2 * longBytes + origin.topic.length + intBytes
  for (const [name, header] of origin.headers) bytes += name.length + (header?.length ?? 0)
  return bytes + lengthOf(prior) + (prior === old ? 0 : lengthOf(old)) + lengthOf(value)
}

function lengthOf(bytes: Buffer | null): number {
  return bytes?.length ?? 0
}

/** The bytes of a value, with room for `padding` more at the end. */
export function encodeBufferValue(value: BufferValue, padding = 0): Buffer {
  const { origin, prior, old } = value
  const parts = [long(origin.timestamp), long(origin.offset)]
  append(parts, Buffer.from(origin.topic))
  parts.push(int(origin.partition), int(origin.headers.length))
  for (const [name, header] of origin.headers) {
    append(parts, Buffer.from(name))
    append(parts, header)
  }
  append(parts, prior)
  if (old !== null && prior === old) parts.push(int(sameAsPrior))
  else append(parts, old)
  append(parts, value.new)
  parts.push(Buffer.alloc(padding))
  return Buffer.concat(parts)
}

function append(parts: Buffer[], bytes: Buffer | null): void {
  if (bytes === null) parts.push(int(nullLength))
  else parts.push(int(bytes.length), bytes)
}

function int(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(intBytes)
  bytes.writeInt32BE(value)
  return bytes
}

function long(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(longBytes)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

/** Reads values of changelogs. What it reads throws a RangeError when it is something else. */
export class BufferValueReader {
  readonly #bytes: Buffer
  #position = 0

  /** The bytes are borrowed: what is read is copied. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Everything that {@link encodeBufferValue} wrote. */
  value(): BufferValue {
    const origin = this.origin()
    const prior = this.bytes()
    const length = this.int()
    const old = length === sameAsPrior ? prior : this.#take(length)
    return bufferValue(origin, { prior, old, new: this.bytes() })
  }

  origin(): RecordContext {
    const timestamp = this.long()
    const offset = this.long()
    const topic = String(this.#present())
    const partition = this.int()
    const headers: RecordHeaders[number][] = []
    // A very old writer says -1 for none.
    for (let left = this.int(); left > 0; left -= 1) {
      headers.push([String(this.#present()), this.bytes()])
    }
    return { timestamp, offset, topic, partition, headers }
  }

  long(): number {
    const value = Number(this.#bytes.readBigInt64BE(this.#position))
    this.#position += longBytes
    return value
  }

  int(): number {
    const value = this.#bytes.readInt32BE(this.#position)
    this.#position += intBytes
    return value
  }

  /** Bytes behind their length. */
  bytes(): Buffer | null {
    return this.#take(this.int())
  }

  #present(): Buffer {
    const bytes = this.bytes()
    if (bytes === null) throw new RangeError('a text is missing')
    return bytes
  }

  #take(length: number): Buffer | null {
    if (length === nullLength) return null
    const end = this.#position + length
    if (length < 0 || end > this.#bytes.length)
      throw new RangeError(`${length} bytes are not there`)
    const bytes = Buffer.from(this.#bytes.subarray(this.#position, end))
    this.#position = end
    return bytes
  }
}
