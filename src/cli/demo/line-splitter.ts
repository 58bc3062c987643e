/** Bytes of a line that go into one record; a longer line is cut between two of its words. */
export const lineBytesMax = 256 * 1024

/** A line, or a piece of a long one, without its end. */
export interface Line {
  readonly bytes: Buffer
  /** Bytes of the input up to here, the end of the line included: where reading can begin again. */
  readonly end: number
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const lastSeparator = /^.*[^\p{L}\p{N}]/su

/**
 * Cuts the bytes of an input into lines, in whatever pieces they arrive. Lines end in LF or CRLF; the
 * last one may have no end. What is held is at most one line, of at most `lineBytesMax` bytes.
 */
export class LineSplitter {
  readonly #bytesMax: number
  /** The beginning of a line that has not ended yet. */
  #rest: Buffer = Buffer.alloc(0)
  #end: number

  /** @param start bytes of the input before the first that arrives. */
  constructor(start = 0, bytesMax: number = lineBytesMax) {
    this.#end = start
    this.#bytesMax = bytesMax
  }

  /** The lines that end in these bytes, and the pieces of a long one that can be cut off. */
  push(chunk: Buffer): Line[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const lines: Line[] = []
    let start = 0
    // What was held before has been searched.
    let feed = bytes.indexOf(lineFeed, this.#rest.length)
    while (feed >= 0) {
      const line = this.#cut(bytes.subarray(start, feed), lines)
      const isCrLf = line.at(-1) === carriageReturn
      lines.push(this.#line(isCrLf ? line.subarray(0, -1) : line, line.length + 1))
      start = feed + 1
      feed = bytes.indexOf(lineFeed, start)
    }
    this.#rest = this.#cut(bytes.subarray(start), lines)
    return lines
  }

  /** The input is at its end: its last line, when that has no end of its own. */
  finish(): Line[] {
    const rest = this.#rest
    this.#rest = Buffer.alloc(0)
    return rest.length === 0 ? [] : [this.#line(rest, rest.length)]
  }

  /** Cuts pieces off until what is left is short enough. */
  #cut(bytes: Buffer, lines: Line[]): Buffer {
    let rest = bytes
    while (rest.length > this.#bytesMax) {
      const at = placeToCut(rest.subarray(0, this.#bytesMax))
      lines.push(this.#line(rest.subarray(0, at), at))
      rest = rest.subarray(at)
    }
    return rest
  }

  #line(bytes: Buffer, length: number): Line {
    this.#end += length
    return { bytes, end: this.#end }
  }
}

/** Behind the last separator of words; without any, behind the last whole character. */
function placeToCut(bytes: Buffer): number {
  for (let at = bytes.length; at > 0; at -= 1) {
    const byte = bytes[at - 1] as number
    if (byte < 0x80 && !isWordByte(byte)) return at
  }
  const whole = wholeCharacters(bytes)
  const text = bytes.toString('utf8', 0, whole)
  const head = lastSeparator.exec(text)?.[0]
  // Malformed bytes are not as long as what replaces them.
  if (head === undefined || Buffer.byteLength(text) !== whole) return whole
  return Buffer.byteLength(head)
}

/** ASCII letters and digits. */
function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a)
  )
}

/** Bytes of the UTF-8 characters that are complete; all, when that leaves nothing. */
function wholeCharacters(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at > 0 && ((bytes[at] as number) & 0xc0) === 0x80) at -= 1
  const first = bytes[at] as number
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  const whole = at + length <= bytes.length ? bytes.length : at
  return whole === 0 ? bytes.length : whole
}
