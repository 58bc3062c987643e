/**
 * The outer structure of an LZ4 frame, as far as it is needed to know how large it can become before the
 * native codec, which has no limit, takes memory for it.
 *
 *     04 22 4d 18 | flags | block size | [content size 8] | [dictionary 4] | checksum 1
 *       (length 4, top bit: stored as is | data | [checksum 4]) ... | 00 00 00 00 | [checksum 4]
 */
import { asBuffer } from '../base/bytes.ts'

const frameMagic = 0x184d_2204
const flagDictionary = 0x01
const flagContentSize = 0x08
const flagBlockChecksum = 0x10

/** An LZ4 block grows less than this: each extra byte of a match length stands for 255 bytes. */
const growthMax = 255

/** Throws an Error that says what is wrong, when a frame is malformed or could exceed `bytesMax`. */
export function checkLz4Frame(bytes: Uint8Array, bytesMax: number): void {
  const input = asBuffer(bytes)
  if (input.length < 7 || input.readUInt32LE(0) !== frameMagic) throw new Error('no LZ4 frame')
  const flags = input[4] as number
  const blockBytesMax = blockSize(input[5] as number)
  let position = 6
  if ((flags & flagContentSize) !== 0) {
    if (position + 8 > input.length) throw new Error('the frame header is cut off')
    if (input.readBigUInt64LE(position) > BigInt(bytesMax)) throw tooLarge(bytesMax)
    position += 8
  }
  if ((flags & flagDictionary) !== 0) throw new Error('the frame needs a dictionary')
  position += 1
  const checksumBytes = (flags & flagBlockChecksum) === 0 ? 0 : 4

  let sizeMax = 0
  while (position + 4 <= input.length) {
    const word = input.readUInt32LE(position)
    if (word === 0) return
    const length = word & 0x7fff_ffff
    const stored = word >= 0x8000_0000
    sizeMax += stored ? length : Math.min(blockBytesMax, length * growthMax)
    if (sizeMax > bytesMax) throw tooLarge(bytesMax)
    position += 4 + length + checksumBytes
  }
  throw new Error('the frame is cut off')
}

function blockSize(descriptor: number): number {
  const id = (descriptor >>> 4) & 7
  if (id < 4) throw new Error('the block size is invalid')
  return 1 << (2 * id + 8)
}

function tooLarge(bytesMax: number): Error {
  return new Error(`it can be larger than the limit of ${bytesMax} bytes`)
}
