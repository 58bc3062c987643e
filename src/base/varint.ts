/**
 * Variable-length integers as Kafka writes them: seven bits a byte, the lowest first, the top bit says that
 * another byte follows. Signed ones are zigzag: 0, -1, 1, -2 become 0, 1, 2, 3.
 *
 * Nothing here allocates. A read returns the value and leaves the position after it in
 * {@link varintEnd}, to be taken before the next read:
 *
 *     const length = readVarint(bytes, position, limit)
 *     if (varintEnd < 0) throw malformed()
 *     position = varintEnd
 *
 * A read never looks at `limit` or beyond, and reports what is cut off or longer than its type as
 * `varintEnd === -1` (the value is then 0): only the caller knows which bytes were bad.
 */

/** The position after what was read last, or -1 when it was malformed. */
export let varintEnd = 0

/** Seven bits a byte: 32 bits need five bytes, 64 bits ten. */
const varintBytesMax = 5
const varlongBytesMax = 10

/** Reads an unsigned 32-bit integer. */
export function readUnsignedVarint(bytes: Uint8Array, position: number, limit: number): number {
  // Nearly all are one byte long, and only a function this small is compiled into its callers.
  if (position < limit) {
    const byte = bytes[position] as number
    if (byte < 0x80) {
      varintEnd = position + 1
      return byte
    }
  }
  return readLongVarint(bytes, position, limit)
}

/** Reads a zigzag 32-bit integer. */
export function readVarint(bytes: Uint8Array, position: number, limit: number): number {
  if (position < limit) {
    const byte = bytes[position] as number
    if (byte < 0x80) {
      varintEnd = position + 1
      return (byte >>> 1) ^ -(byte & 1)
    }
  }
  const value = readLongVarint(bytes, position, limit)
  return (value >>> 1) ^ -(value & 1)
}

function readLongVarint(bytes: Uint8Array, position: number, limit: number): number {
  let value = 0
  const last = Math.min(limit, position + varintBytesMax)
  for (let at = position, shift = 0; at < last; at += 1, shift += 7) {
    const byte = bytes[at] as number
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) {
      // The fifth byte holds the four bits that are left of 32.
      if (shift === 28 && byte > 0x0f) return malformed()
      varintEnd = at + 1
      return value >>> 0
    }
  }
  return malformed()
}

/** Reads a zigzag 64-bit integer; exact up to 2^53 in size, rounded beyond. */
export function readVarlong(bytes: Uint8Array, position: number, limit: number): number {
  if (position < limit) {
    const byte = bytes[position] as number
    if (byte < 0x80) {
      varintEnd = position + 1
      return (byte >>> 1) ^ -(byte & 1)
    }
  }
  return readLongVarlong(bytes, position, limit)
}

function readLongVarlong(bytes: Uint8Array, position: number, limit: number): number {
  if (position >= limit) return malformed()
  const first = bytes[position] as number
  // The sign is the lowest bit. Without it, the first byte has six bits of the magnitude, and bits up
  // to 2^31 can be gathered as integers; the bits above are added as floating point numbers.
  let low = (first & 0x7f) >>> 1
  let high = 0
  let highUnit = 1
  const last = Math.min(limit, position + varlongBytesMax)
  for (let at = position + 1, shift = 6; at < last; at += 1, shift += 7) {
    const byte = bytes[at] as number
    if (shift < 27) {
      low |= (byte & 0x7f) << shift
    } else {
      high += (byte & 0x7f) * highUnit
      highUnit *= 128
    }
    if (byte < 0x80) {
      // The tenth byte holds the one bit that is left of 64.
      if (at === position + varlongBytesMax - 1 && byte > 1) return malformed()
      varintEnd = at + 1
      const magnitude = high * 0x800_0000 + low
      return (first & 1) === 0 ? magnitude : -magnitude - 1
    }
  }
  return malformed()
}

function malformed(): number {
  varintEnd = -1
  return 0
}

/**
 * Reads a varint of at most three bytes as one number, (zigzag value * 4 + its length); 0 when it is
 * longer. Two results in one keep both in registers: the caller takes `& 3` and {@link decodeShortVarint}. It
 * looks at up to three bytes and leaves it to the caller that they exist.
 */
export function readShortVarint(bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number
  if (first < 0x80) return (first << 2) | 1
  const second = bytes[at + 1] as number
  if (second < 0x80) return ((first & 0x7f) << 2) | (second << 9) | 2
  const third = bytes[at + 2] as number
  if (third < 0x80) return ((first & 0x7f) << 2) | ((second & 0x7f) << 9) | (third << 16) | 3
  return 0
}

export function decodeShortVarint(short: number): number {
  return (short >>> 3) ^ -((short >>> 2) & 1)
}

/** Bytes that {@link writeUnsignedVarint} writes for a value from 0 to 2^32 - 1. */
export function unsignedVarintSize(value: number): number {
  return ((38 - Math.clz32(value | 1)) / 7) | 0
}

/** Bytes that {@link writeVarint} writes for a 32-bit integer. */
export function varintSize(value: number): number {
  return unsignedVarintSize((value << 1) ^ (value >> 31))
}

/** Bytes that {@link writeVarlong} writes for an integer of at most 2^53 in size. */
export function varlongSize(value: number): number {
  return isShort(value) ? varintSize(value) : longVarlongSize(value)
}

/** Whether zigzag makes 32 bits of it at most: most timestamps differ by no more. */
function isShort(value: number): boolean {
  return (value | 0) === value
}

function longVarlongSize(value: number): number {
  let rest = Math.floor((value < 0 ? -value - 1 : value) / 64)
  let size = 1
  while (rest > 0) {
    rest = Math.floor(rest / 128)
    size += 1
  }
  return size
}

/** Bytes of a field: its length as zigzag, -1 for null, and as many bytes. */
export function fieldSize(length: number): number {
  return length < 0 ? 1 : varintSize(length) + length
}

/** Writes an integer from 0 to 2^32 - 1; returns the position after it. There must be room. */
export function writeUnsignedVarint(bytes: Uint8Array, position: number, value: number): number {
  // Nearly all are short, and only a function this small is compiled into its callers.
  if (value < 0x80) {
    bytes[position] = value
    return position + 1
  }
  if (value < 0x4000) {
    bytes[position] = value | 0x80
    bytes[position + 1] = value >>> 7
    return position + 2
  }
  return writeLongVarint(bytes, position, value)
}

function writeLongVarint(bytes: Uint8Array, position: number, value: number): number {
  let rest = value
  while (rest > 0x7f) {
    bytes[position] = rest | 0x80
    position += 1
    rest >>>= 7
  }
  bytes[position] = rest
  return position + 1
}

/** Writes a 32-bit integer as zigzag; returns the position after it. There must be room. */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  return writeUnsignedVarint(bytes, position, ((value << 1) ^ (value >> 31)) >>> 0)
}

/**
 * Writes an integer of at most 2^53 in size as zigzag; returns the position after it. There must be
 * room.
 */
export function writeVarlong(bytes: Uint8Array, position: number, value: number): number {
  return isShort(value)
    ? writeVarint(bytes, position, value)
    : writeLongVarlong(bytes, position, value)
}

function writeLongVarlong(bytes: Uint8Array, position: number, value: number): number {
  const magnitude = value < 0 ? -value - 1 : value
  let rest = Math.floor(magnitude / 64)
  bytes[position] = ((magnitude % 64) << 1) | (value < 0 ? 1 : 0) | (rest > 0 ? 0x80 : 0)
  position += 1
  while (rest > 0) {
    const next = Math.floor(rest / 128)
    bytes[position] = (rest % 128) | (next > 0 ? 0x80 : 0)
    position += 1
    rest = next
  }
  return position
}
