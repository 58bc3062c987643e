/** Times in keys: a Java long, most significant byte first. */

export const timeBytes = 8

const twoTo32 = 0x1_0000_0000
/** The first four bytes of the largest long. */
const highMax = 0x7fff_ffff
const lowMax = 0xffff_ffff

/** Writes a time; what is too large for a safe integer (and Infinity) is written as Java's largest long. */
export function writeTime(bytes: Buffer, time: number, at: number): void {
  if (time > Number.MAX_SAFE_INTEGER) {
    bytes.writeInt32BE(highMax, at)
    bytes.writeUInt32BE(lowMax, at + 4)
    return
  }
  const high = Math.floor(time / twoTo32)
  bytes.writeInt32BE(high, at)
  bytes.writeUInt32BE(time - high * twoTo32, at + 4)
}

/** Reads what `writeTime` wrote; what is too large for a safe integer is Infinity. */
export function readTime(bytes: Buffer, at: number): number {
  const time = bytes.readInt32BE(at) * twoTo32 + bytes.readUInt32BE(at + 4)
  return time > Number.MAX_SAFE_INTEGER ? Infinity : time
}
