import { randomFillSync } from 'node:crypto'

/** The port to chance. A seeded one replays a run exactly. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** Fresh random bytes. */
  bytes(length: number): Buffer
}

/** Randomness of this machine; fit for identifiers and nonces. */
export const systemRandom: Random = {
  next: () => systemRandom.bytes(4).readUInt32LE(0) / 2 ** 32,
  bytes: (length) => randomFillSync(Buffer.allocUnsafe(length)),
}

/** A reproducible sequence (mulberry32): for tests and simulation, never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const word = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  return {
    next: () => word() / 2 ** 32,
    bytes: (length) => {
      const bytes = Buffer.allocUnsafe(length)
      for (let index = 0; index < length; index++) bytes[index] = word() & 0xff
      return bytes
    },
  }
}

/** An integer in [0, bound). */
export function randomInteger(random: Random, bound: number): number {
  return Math.floor(random.next() * bound)
}

/** A version 4 UUID in its 36 character text form. */
export function randomUuid(random: Random): string {
  const bytes = random.bytes(16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}
