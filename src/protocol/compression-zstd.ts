/**
 * The outer structure of Zstandard frames (RFC 8878), as far as it is needed to know that they are
 * whole: Node 22 gives what it has of one that is cut off, and says nothing.
 *
 *     28 b5 2f fd | descriptor | [window 1] | [dictionary 0-4] | [content size 0-8]
 *       (block header 3: last, type, size | data) ... | [checksum 4]
 *     5? 2a 4d 18 | size 4 | skipped
 */
import { asBuffer } from '../base/bytes.ts'

const frameMagic = 0xfd2f_b528
const skippableMagic = 0x184d_2a50
const skippableMask = 0xffff_fff0

const dictionaryIdSizes = [0, 1, 2, 4]
const contentSizeSizes = [0, 2, 4, 8]
const blockRunLength = 1
const blockReserved = 3

/** Throws an Error that says what is wrong, when there is no frame or one is not whole. */
export function checkZstdFrames(bytes: Uint8Array): void {
  const input = asBuffer(bytes)
  let position = 0
  do {
    position = endOfFrame(input, position)
    if (position > input.length) throw new Error('the frame is cut off')
  } while (position < input.length)
}

/** Where the frame ends that begins here; behind the input when it is cut off. */
function endOfFrame(input: Buffer, start: number): number {
  if (start + 4 > input.length) throw new Error('no Zstandard frame')
  const magic = input.readUInt32LE(start)
  if ((magic & skippableMask) >>> 0 === skippableMagic) {
    return start + 8 > input.length ? Infinity : start + 8 + input.readUInt32LE(start + 4)
  }
  if (magic !== frameMagic) throw new Error('no Zstandard frame')
  const descriptor = input[start + 4]
  if (descriptor === undefined) return Infinity
  const end = endOfBlocks(input, start + 5 + headerBytes(descriptor))
  const hasChecksum = (descriptor & 0x04) !== 0
  return hasChecksum ? end + 4 : end
}

/** Bytes of the header behind its descriptor. */
function headerBytes(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  const contentSize = sizeFlag === 0 && isSingleSegment ? 1 : (contentSizeSizes[sizeFlag] as number)
  const dictionaryId = dictionaryIdSizes[descriptor & 0x03] as number
  return (isSingleSegment ? 0 : 1) + dictionaryId + contentSize
}

function endOfBlocks(input: Buffer, start: number): number {
  let position = start
  for (;;) {
    if (position + 3 > input.length) return Infinity
    const header = input.readUIntLE(position, 3)
    const type = (header >> 1) & 0x03
    if (type === blockReserved) throw new Error('a block has no type')
    position += 3 + (type === blockRunLength ? 1 : header >> 3)
    if ((header & 1) === 1) return position
  }
}
