/**
 * Snappy as Kafka's Java clients write it: not the raw format, but the framing of the xerial library.
 *
 *     82 'SNAPPY' 00 | version 00000001 | compatible 00000001 | (length, raw snappy) ...
 *
 * Other clients write raw snappy, so both are read.
 */
import { asBuffer } from '../base/bytes.ts'

/** The raw format, by the native package `snappy`. */
export interface SnappyCodec {
  compressSync(input: Uint8Array): Buffer
  uncompressSync(input: Uint8Array): Uint8Array | string
}

const magic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const header = Buffer.concat([magic, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])])

/** Input of one frame: what snappy-java takes by default, so that its readers have buffers that fit. */
const frameBytesMax = 32 * 1024

/** The longest copy (64 bytes) takes three bytes: no valid raw snappy grows more than this. */
const growthMax = 22

/** The raw format starts with its decompressed size as an unsigned varint of at most 32 bits. */
const sizeBytesMax = 5

/** Compresses with the xerial framing. */
export function compressSnappy(codec: SnappyCodec, bytes: Uint8Array): Buffer {
  const parts: Uint8Array[] = [header]
  for (let at = 0; at < bytes.length; at += frameBytesMax) {
    const frame = codec.compressSync(bytes.subarray(at, at + frameBytesMax))
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(frame.length)
    parts.push(length, frame)
  }
  return Buffer.concat(parts)
}

/** Decompresses either format into at most `bytesMax` bytes; throws an Error that says what is wrong. */
export function decompressSnappy(codec: SnappyCodec, bytes: Uint8Array, bytesMax: number): Buffer {
  const input = asBuffer(bytes)
  if (input.length >= header.length && magic.equals(input.subarray(0, magic.length))) {
    return decompressFrames(codec, input, bytesMax)
  }
  checkSize(rawSize(input), bytesMax)
  return decompressRaw(codec, input)
}

function decompressFrames(codec: SnappyCodec, input: Buffer, bytesMax: number): Buffer {
  const frames: Buffer[] = []
  let size = 0
  let position = header.length
  while (position < input.length) {
    const start = position + 4
    if (start > input.length) throw new Error('the length of a frame is cut off')
    const end = start + input.readUInt32BE(position)
    if (end > input.length) throw new Error('a frame is cut off')
    const frame = input.subarray(start, end)
    size += rawSize(frame)
    checkSize(size, bytesMax)
    frames.push(decompressRaw(codec, frame))
    position = end
  }
  return frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames, size)
}

function decompressRaw(codec: SnappyCodec, input: Buffer): Buffer {
  const output = codec.uncompressSync(input)
  if (typeof output === 'string') throw new Error('the codec returned text')
  return asBuffer(output)
}

/** The size that raw snappy says it will have: the codec takes that much memory before it looks further. */
function rawSize(input: Buffer): number {
  let size = 0
  let unit = 1
  for (let i = 0; i < Math.min(sizeBytesMax, input.length); i += 1) {
    const byte = input[i] as number
    size += (byte & 0x7f) * unit
    unit *= 128
    if (byte < 0x80) {
      if (size > input.length * growthMax) throw new Error('the stated size is impossible')
      return size
    }
  }
  throw new Error('the size is malformed')
}

function checkSize(size: number, bytesMax: number): void {
  if (size > bytesMax) throw new Error(`it is larger than the limit of ${bytesMax} bytes`)
}
