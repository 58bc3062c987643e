/**
 * Puts packed rows in the order of their keys. What the keys of some rows have in common is passed over;
 * the bytes that follow it make a number, with the place of the row in its low bits, and numbers are
 * sorted by the engine of JavaScript itself. Rows whose numbers agree are told apart by what follows.
 */

/** Numbers of a row: where it begins, the length of its key, and two that are not for here. */
export const stride = 4
export const keyLengthAt = 1

/** The keys of packed rows. */
export interface PackedKeys {
  readonly bytes: Buffer
  readonly rows: Int32Array
}

/** So few rows are sorted by comparing them. */
const insertedMax = 8

/** Sorts numbers of rows, whose keys differ, in place. */
export function sortPacked(order: Uint32Array, keys: PackedKeys): void {
  sortFrom(order, keys, 0)
}

/** The keys have so many bytes in common. */
function sortFrom(order: Uint32Array, keys: PackedKeys, common: number): void {
  const { length } = order
  if (length <= insertedMax) {
    insertionSort(order, keys)
    return
  }
  const placeBits = 32 - Math.clz32(length - 1)
  const shared = sharedBytes(order, keys, common)
  const words = new Uint32Array(length * 2)
  const { bytes, rows } = keys
  const lowWord = isLittleEndian ? 0 : 1
  for (let place = 0; place < length; place += 1) {
    const row = (order[place] as number) * stride
    const start = rows[row] as number
    const end = start + (rows[row + keyLengthAt] as number)
    const at = start + shared
    const low = (byteAt(bytes, at + 4, end) << 24) | (byteAt(bytes, at + 5, end) << 16)
    words[place * 2 + 1 - lowWord] =
      (byteAt(bytes, at, end) << 24) |
      (byteAt(bytes, at + 1, end) << 16) |
      (byteAt(bytes, at + 2, end) << 8) |
      byteAt(bytes, at + 3, end)
    words[place * 2 + lowWord] = ((low >>> placeBits) << placeBits) | place
  }
  new BigUint64Array(words.buffer).sort()
  const before = order.slice()
  const placeMask = (1 << placeBits) - 1
  for (let at = 0; at < length; at += 1) {
    order[at] = before[(words[at * 2 + lowWord] as number) & placeMask] as number
  }
  // Whole bytes of the number that agree where numbers agree.
  const agreed = 4 + ((32 - placeBits) >>> 3 > 0 ? 1 : 0)
  let from = 0
  for (let to = 1; to <= length; to += 1) {
    const isSame =
      to < length &&
      words[to * 2 + 1 - lowWord] === words[from * 2 + 1 - lowWord] &&
      (words[to * 2 + lowWord] as number) >>> placeBits ===
        (words[from * 2 + lowWord] as number) >>> placeBits
    if (isSame) continue
    const group = order.subarray(from, to)
    // Nothing was told apart: a key has ended, and is to the numbers what it would be with zeros behind it.
    if (group.length === length) group.set([...group].sort((a, b) => compareKeys(keys, a, b)))
    else if (group.length > 1) sortFrom(group, keys, shared + agreed)
    from = to
  }
}

const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1

const byteAt = (bytes: Buffer, at: number, end: number): number =>
  at < end ? (bytes[at] as number) : 0

/** How many bytes all keys have in common, of which so many are known. */
function sharedBytes(order: Uint32Array, { bytes, rows }: PackedKeys, known: number): number {
  const first = (order[0] as number) * stride
  const firstStart = rows[first] as number
  let shared = rows[first + keyLengthAt] as number
  for (let place = 1; place < order.length && shared > known; place += 1) {
    const row = (order[place] as number) * stride
    const start = rows[row] as number
    const length = Math.min(shared, rows[row + keyLengthAt] as number)
    let at = known
    while (at < length && bytes[start + at] === bytes[firstStart + at]) at += 1
    shared = at
  }
  return Math.max(known, shared)
}

function insertionSort(order: Uint32Array, keys: PackedKeys): void {
  for (let at = 1; at < order.length; at += 1) {
    const row = order[at] as number
    let to = at
    while (to > 0 && compareKeys(keys, order[to - 1] as number, row) > 0) {
      order[to] = order[to - 1] as number
      to -= 1
    }
    order[to] = row
  }
}

function compareKeys({ bytes, rows }: PackedKeys, a: number, b: number): number {
  const aStart = rows[a * stride] as number
  const bStart = rows[b * stride] as number
  const aLength = rows[a * stride + keyLengthAt] as number
  const bLength = rows[b * stride + keyLengthAt] as number
  const length = Math.min(aLength, bLength)
  for (let at = 0; at < length; at += 1) {
    const difference = (bytes[aStart + at] as number) - (bytes[bStart + at] as number)
    if (difference !== 0) return difference
  }
  return aLength - bLength
}
