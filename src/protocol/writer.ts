import { StreamsError } from '../errors.ts'

const twoTo32 = 0x1_0000_0000
const twoTo63 = 2 ** 63

const initialCapacity = 1024

/** A Kafka frame states its size as a positive int32. */
const maxCapacity = 0x7fff_ffff

const maxStringBytes = 0x7fff

const uuidBytes = 16

/**
 * Appends primitives to one growing Buffer. A writer is made to be used again: `reset()` keeps the
 * buffer, so whatever `finish()` returned is overwritten by what is written next.
 *
 * A value that its field cannot hold is refused with `PROTOCOL_VALUE_INVALID`, never cut short. What
 * was written before an error stays: `reset()`, or write into a writer of its own.
 */
export class Writer {
  /** What is being written, for errors: for example `CreateTopics v7 request`. */
  api = 'a message'
  /** The field being written, for errors. */
  field = 'its start'
  #buffer: Buffer
  #position = 0

  /** @param capacity bytes to start with; the buffer doubles when it is full. Default 1024. */
  constructor(capacity: number = initialCapacity) {
    this.#buffer = Buffer.allocUnsafe(Math.max(capacity, 16))
  }

  /** The number of bytes written. */
  get position(): number {
    return this.#position
  }

  /** Forgets what was written and keeps the buffer. */
  reset(): void {
    this.#position = 0
  }

  /** What was written: a view, valid until the next `reset()`. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#position)
  }

  int8(value: number): void {
    if ((value << 24) >> 24 !== value) this.#failNumber(value, 'int8')
    const at = this.#grow(1)
    this.#buffer[at] = value
  }

  int16(value: number): void {
    if ((value << 16) >> 16 !== value) this.#failNumber(value, 'int16')
    const at = this.#grow(2)
    this.#buffer.writeInt16BE(value, at)
  }

  uint16(value: number): void {
    if ((value & 0xffff) !== value) this.#failNumber(value, 'uint16')
    const at = this.#grow(2)
    this.#buffer.writeUInt16BE(value, at)
  }

  int32(value: number): void {
    if ((value | 0) !== value) this.#failNumber(value, 'int32')
    const at = this.#grow(4)
    this.#buffer.writeInt32BE(value, at)
  }

  uint32(value: number): void {
    if (value >>> 0 !== value) this.#failNumber(value, 'uint32')
    const at = this.#grow(4)
    this.#buffer.writeUInt32BE(value, at)
  }

  /** A Java long. 2^63 (Long.MAX_VALUE as a double) and -2^63 are written as the largest and smallest long. */
  int64(value: number): void {
    if (!Number.isInteger(value) || value > twoTo63 || value < -twoTo63)
      this.#failNumber(value, 'int64')
    const at = this.#grow(8)
    if (value === twoTo63) {
      this.#buffer.writeInt32BE(0x7fff_ffff, at)
      this.#buffer.writeUInt32BE(0xffff_ffff, at + 4)
      return
    }
    const high = Math.floor(value / twoTo32)
    this.#buffer.writeInt32BE(high, at)
    this.#buffer.writeUInt32BE(value - high * twoTo32, at + 4)
  }

  float64(value: number): void {
    const at = this.#grow(8)
    this.#buffer.writeDoubleBE(value, at)
  }

  boolean(value: boolean): void {
    const at = this.#grow(1)
    this.#buffer[at] = value ? 1 : 0
  }

  /** An unsigned varint of at most 32 bits. */
  uvarint(value: number): void {
    if (value >>> 0 !== value) this.#failNumber(value, 'an unsigned varint')
    let at = this.#grow(varintBytes(value))
    let rest = value
    while (rest > 0x7f) {
      this.#buffer[at] = (rest & 0x7f) | 0x80
      rest >>>= 7
      at += 1
    }
    this.#buffer[at] = rest
  }

  /** A signed (zigzag) varint of at most 32 bits. */
  varint(value: number): void {
    if ((value | 0) !== value) this.#failNumber(value, 'a varint')
    this.uvarint(((value << 1) ^ (value >> 31)) >>> 0)
  }

  /** A uuid given in Kafka's own text form: 22 characters of unpadded base64url. */
  uuid(value: string): void {
    const at = this.#grow(uuidBytes)
    const written = this.#buffer.write(value, at, uuidBytes, 'base64url')
    if (value.length !== 22 || written !== uuidBytes) this.fail(`"${value}" is not a uuid`)
  }

  string(value: string): void {
    const length = Buffer.byteLength(value)
    if (length > maxStringBytes)
      this.fail(`a string of ${length} bytes, at most ${maxStringBytes} fit`)
    this.int16(length)
    this.#utf8(value, length)
  }

  nullableString(value: string | null): void {
    if (value === null) this.int16(-1)
    else this.string(value)
  }

  compactString(value: string): void {
    const length = Buffer.byteLength(value)
    // Kafka's brokers refuse longer ones, although the format could hold them.
    if (length > maxStringBytes)
      this.fail(`a string of ${length} bytes, at most ${maxStringBytes} fit`)
    this.uvarint(length + 1)
    this.#utf8(value, length)
  }

  compactNullableString(value: string | null): void {
    if (value === null) this.uvarint(0)
    else this.compactString(value)
  }

  bytes(value: Uint8Array): void {
    this.int32(value.length)
    this.raw(value)
  }

  nullableBytes(value: Uint8Array | null): void {
    if (value === null) this.int32(-1)
    else this.bytes(value)
  }

  compactBytes(value: Uint8Array): void {
    this.uvarint(value.length + 1)
    this.raw(value)
  }

  compactNullableBytes(value: Uint8Array | null): void {
    if (value === null) this.uvarint(0)
    else this.compactBytes(value)
  }

  /** Bytes without a length before them. */
  raw(value: Uint8Array): void {
    const at = this.#grow(value.length)
    this.#buffer.set(value, at)
  }

  /** The number of elements that follow, -1 for null. */
  arrayLength(length: number): void {
    this.int32(length)
  }

  /** As {@link Writer.arrayLength}, for the flexible versions. */
  compactArrayLength(length: number): void {
    this.uvarint(length + 1)
  }

  /** Overwrites four bytes that were written before, for a size that is known only at the end. */
  patchInt32(position: number, value: number): void {
    this.#buffer.writeInt32BE(value, position)
  }

  /**
   * Puts the number of bytes written since `position` before them, as an unsigned varint: the form
   * of a tagged field. The bytes move up to make room.
   */
  prefixWithSize(position: number): void {
    const size = this.#position - position
    const room = varintBytes(size)
    this.#grow(room)
    this.#buffer.copyWithin(position + room, position, position + size)
    this.#position = position
    this.uvarint(size)
    this.#position += size
  }

  /** Ends the writing with `PROTOCOL_VALUE_INVALID`. */
  fail(detail: string): never {
    throw new StreamsError('PROTOCOL_VALUE_INVALID', { api: this.api, field: this.field, detail })
  }

  #failNumber(value: number, kind: string): never {
    this.fail(`${value} is not ${kind}`)
  }

  #utf8(value: string, length: number): void {
    const at = this.#grow(length)
    this.#buffer.write(value, at, length, 'utf8')
  }

  /** Makes room for `length` bytes and returns the index of the first. */
  #grow(length: number): number {
    const at = this.#position
    const needed = at + length
    if (needed > this.#buffer.length) {
      if (needed > maxCapacity)
        this.fail(`the message would be ${needed} bytes, at most ${maxCapacity} fit`)
      const larger = Buffer.allocUnsafe(
        Math.min(Math.max(needed, this.#buffer.length * 2), maxCapacity),
      )
      larger.set(this.#buffer.subarray(0, at))
      this.#buffer = larger
    }
    this.#position = needed
    return at
  }
}

function varintBytes(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x20_0000) return 3
  return value < 0x1000_0000 ? 4 : 5
}
