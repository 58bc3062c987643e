import { StreamsError } from '../errors.ts'

const twoTo32 = 0x1_0000_0000

/** Five groups of seven bits hold the 32 bits of an unsigned varint. */
const maxVarintBytes = 5

/** The topic id that stands for "none": sixteen zero bytes. */
export const zeroUuid = 'AAAAAAAAAAAAAAAAAAAAAA'

/**
 * A cursor over the bytes of one message. Nothing is copied: `bytes` and its kin return views of the
 * buffer, which live as long as the buffer does; copy what you keep.
 *
 * Every read checks its bounds and lengths first. Bytes that make no sense end in a
 * `PROTOCOL_MALFORMED` with `api`, `field` and `position` in its context, and never in another error.
 */
export class Reader {
  readonly buffer: Buffer
  /** Index of the next byte to read. */
  position: number
  /** Index after the last byte that may be read. */
  readonly end: number
  /** What is being read, for errors: for example `Metadata v12 response`. */
  api: string
  /** The field being read, for errors: for example `topics.partitions.leaderId`. */
  field: string

  constructor(
    buffer: Buffer,
    { api = 'a message', start = 0, end = buffer.length }: ReaderOptions = {},
  ) {
    this.buffer = buffer
    this.position = start
    this.end = Math.min(end, buffer.length)
    this.api = api
    this.field = 'its start'
  }

  /** The number of bytes that are left. */
  get remaining(): number {
    return this.end - this.position
  }

  int8(): number {
    const at = this.#take(1)
    return this.buffer.readInt8(at)
  }

  int16(): number {
    const at = this.#take(2)
    return this.buffer.readInt16BE(at)
  }

  uint16(): number {
    const at = this.#take(2)
    return this.buffer.readUInt16BE(at)
  }

  int32(): number {
    const at = this.#take(4)
    return this.buffer.readInt32BE(at)
  }

  uint32(): number {
    const at = this.#take(4)
    return this.buffer.readUInt32BE(at)
  }

  /** A Java long as a number: exact from -2^53 to 2^53, the nearest double beyond. */
  int64(): number {
    const at = this.#take(8)
    return this.buffer.readInt32BE(at) * twoTo32 + this.buffer.readUInt32BE(at + 4)
  }

  float64(): number {
    const at = this.#take(8)
    return this.buffer.readDoubleBE(at)
  }

  /** Zero is false, every other byte is true, as in Kafka. */
  boolean(): boolean {
    return this.int8() !== 0
  }

  /** An unsigned varint of at most 32 bits. */
  uvarint(): number {
    let value = 0
    for (let count = 0; count < maxVarintBytes; count += 1) {
      const byte = this.buffer.readUInt8(this.#take(1))
      value |= (byte & 0x7f) << (7 * count)
      if (byte < 0x80) {
        // Of the fifth byte only four bits fit.
        if (count === maxVarintBytes - 1 && byte > 0x0f) break
        return value >>> 0
      }
    }
    return this.fail('a varint is longer than 32 bits')
  }

  /** A signed (zigzag) varint of at most 32 bits. */
  varint(): number {
    const value = this.uvarint()
    return (value >>> 1) ^ -(value & 1)
  }

  /** A uuid in Kafka's own text form: 22 characters of unpadded base64url. */
  uuid(): string {
    const at = this.#take(16)
    return this.buffer.toString('base64url', at, at + 16)
  }

  string(): string {
    return this.nullableString() ?? this.fail('null where a string must be')
  }

  nullableString(): string | null {
    const length = this.int16()
    return length === -1 ? null : this.#utf8(length)
  }

  compactString(): string {
    return this.compactNullableString() ?? this.fail('null where a string must be')
  }

  compactNullableString(): string | null {
    const length = this.uvarint() - 1
    return length === -1 ? null : this.#utf8(length)
  }

  /** A view of the bytes, not a copy. */
  bytes(): Buffer {
    return this.nullableBytes() ?? this.fail('null where bytes must be')
  }

  /** A view of the bytes, not a copy. */
  nullableBytes(): Buffer | null {
    const length = this.int32()
    return length === -1 ? null : this.view(length)
  }

  /** A view of the bytes, not a copy. */
  compactBytes(): Buffer {
    return this.compactNullableBytes() ?? this.fail('null where bytes must be')
  }

  /** A view of the bytes, not a copy. */
  compactNullableBytes(): Buffer | null {
    const length = this.uvarint() - 1
    return length === -1 ? null : this.view(length)
  }

  /** The next `length` bytes as a view. */
  view(length: number): Buffer {
    const at = this.#take(length)
    return this.buffer.subarray(at, at + length)
  }

  /** Passes over `length` bytes. */
  skip(length: number): void {
    this.#take(length)
  }

  /**
   * The number of elements of an array, -1 for null. It is never more than the bytes that are left:
   * an element has at least one byte, so a larger claim is a lie that must not be allocated for.
   */
  arrayLength(): number {
    return this.#checkedArrayLength(this.int32())
  }

  /** As {@link Reader.arrayLength}, for the flexible versions. */
  compactArrayLength(): number {
    return this.#checkedArrayLength(this.uvarint() - 1)
  }

  /** Passes over a section of tagged fields of which none is known. */
  skipTaggedFields(): void {
    const count = this.uvarint()
    if (count > this.remaining) this.fail(`${count} tagged fields in ${this.remaining} bytes`)
    for (let index = 0; index < count; index += 1) {
      this.uvarint()
      this.skip(this.uvarint())
    }
  }

  /** Ends the reading with `PROTOCOL_MALFORMED`. */
  fail(detail: string): never {
    throw new StreamsError('PROTOCOL_MALFORMED', {
      api: this.api,
      field: this.field,
      position: this.position,
      detail,
    })
  }

  #take(length: number): number {
    const at = this.position
    if (length < 0 || length > this.end - at) this.#failLength(length)
    this.position = at + length
    return at
  }

  #failLength(length: number): never {
    return this.fail(
      length < 0
        ? `the length ${length} is negative`
        : `${length} bytes are needed at position ${this.position}, ${this.remaining} are left`,
    )
  }

  #utf8(length: number): string {
    const at = this.#take(length)
    return this.buffer.toString('utf8', at, at + length)
  }

  #checkedArrayLength(length: number): number {
    if (length < -1) return this.fail(`the array length ${length} is negative`)
    if (length > this.remaining)
      return this.fail(`an array of ${length} elements in ${this.remaining} bytes`)
    return length
  }
}

/** Which part of the buffer a {@link Reader} reads, and under which name it reports errors. */
export interface ReaderOptions {
  /** Default `a message`; `decodeRequest` and its kin set it. */
  readonly api?: string
  /** Index of the first byte. Default 0. */
  readonly start?: number
  /** Index after the last byte. Default the end of the buffer. */
  readonly end?: number
}
