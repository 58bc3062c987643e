/**
 * The last change of each key in a stretch of a changelog, packed: key and value lie one after the other
 * in one buffer, the value as the engine will have it, so that a row that waits is no object.
 *
 *     bytes    key value │ key value │ …
 *     rows     where it begins, the length of its key and of its value, the hash of its key
 *     slots    hash table: the number of a row, plus one
 *
 * Once somebody scans, nothing that was seen is overwritten: a change is a row of its own then, and the
 * one before it is superseded.
 */
import { emptyBytes } from '../base/bytes.ts'
import type { PackedRow } from '../kv/kv.ts'
import { keyText, type TextRange } from '../kv/sorted-rows.ts'
import { keyLengthAt, sortPacked, stride, type PackedKeys } from './packed-order.ts'
import type { Change, Pin, RowStage, StageWrite, WriteTarget } from './row-stage.ts'
import type { ChangelogRow } from './state-store.ts'
import { noTimestamp, type StoredFormat } from './stored-value.ts'

const bytesAtFirst = 64 * 1024
const rowsAtFirst = 1024
const valueLengthAt = 2
const hashAt = 3
/** The length of a value that is none. */
const deleted = -1

/** What the length becomes when the row is superseded, so that who scans still knows it; and back. */
const superseded = (length: number): number => -3 - length
const isSuperseded = (length: number): boolean => length < deleted
/** Slots for a row: two on average at least, so that most keys are found at the first. */
const slotsPerRow = 2
/** What a row takes beside its bytes. */
const rowOverheadBytes = (stride + slotsPerRow) * 4
/** Rows that are put in order at once: a millisecond or two. */
const sortedPerSlice = 16_384

/** A row that is looked for, or put. */
interface GivenRow {
  keyBytes: Buffer
  keyStart: number
  keyEnd: number
  /** Undefined: it is deleted. */
  valueBytes: Buffer | undefined
  valueStart: number
  valueEnd: number
  hash: number
}

/** Rows that wait for their engine. */
export class PackedRows implements RowStage {
  readonly #format: StoredFormat
  #bytes: Buffer = Buffer.allocUnsafeSlow(bytesAtFirst)
  #filled = 0
  #rows = new Int32Array(rowsAtFirst * stride)
  #rowCount = 0
  #size = 0
  #slots = new Int32Array(rowsAtFirst * slotsPerRow)
  #isScanned = false
  /** Used for each row that is given. */
  readonly #given: GivenRow = {
    keyBytes: emptyBytes,
    keyStart: 0,
    keyEnd: 0,
    valueBytes: undefined,
    valueStart: 0,
    valueEnd: 0,
    hash: 0,
  }

  constructor(format: StoredFormat) {
    this.#format = format
  }

  /** Rows that are not superseded. */
  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#filled + this.#rowCount * rowOverheadBytes
  }

  get(key: Buffer): Change | undefined {
    const row = (this.#slots[this.#find(this.#take(key, null))] as number) - 1
    return row < 0 ? undefined : changeIn(this.#view(), row, this.#format)
  }

  set({ key, value, timestamp }: Pin): void {
    this.add(key, value, timestamp)
  }

  /** Copies both. */
  add(key: Buffer, value: Buffer | null, timestamp: number): void {
    this.#put(this.#take(key, value), timestamp)
  }

  /** Copies what lies there. */
  addRow({
    buffer,
    keyStart,
    keyEnd,
    hasValue,
    valueStart,
    valueEnd,
    timestamp,
  }: ChangelogRow): void {
    const given = this.#given
    given.keyBytes = buffer
    given.keyStart = keyStart
    given.keyEnd = keyEnd
    given.valueBytes = hasValue ? buffer : undefined
    given.valueStart = valueStart
    given.valueEnd = valueEnd
    this.#put(given, timestamp)
  }

  #take(key: Buffer, value: Buffer | null): GivenRow {
    const given = this.#given
    given.keyBytes = key
    given.keyStart = 0
    given.keyEnd = key.length
    given.valueBytes = value ?? undefined
    given.valueStart = 0
    given.valueEnd = value === null ? 0 : value.length
    return given
  }

  #put(given: GivenRow, timestamp: number): void {
    const slot = this.#find(given)
    const before = (this.#slots[slot] as number) - 1
    if (before >= 0) {
      if (this.#overwrite(before, given, timestamp)) return
      const at = before * stride + valueLengthAt
      this.#rows[at] = superseded(this.#rows[at] as number)
      this.#size -= 1
    }
    this.#append(given, timestamp)
    this.#slots[slot] = this.#rowCount
    if (this.#rowCount * slotsPerRow >= this.#slots.length) this.#growSlots()
  }

  /** False: it has no room there, or somebody may still read what is there. */
  #overwrite(row: number, given: GivenRow, timestamp: number): boolean {
    if (this.#isScanned) return false
    const at = row * stride
    const rows = this.#rows
    const length = this.#storedLength(given)
    if ((rows[at + valueLengthAt] as number) < length) return false
    rows[at + valueLengthAt] = length
    const valueStart = (rows[at] as number) + (rows[at + keyLengthAt] as number)
    if (length !== deleted) this.#writeValue(given, valueStart, timestamp)
    return true
  }

  #append(given: GivenRow, timestamp: number): void {
    const { keyBytes, keyStart, keyEnd } = given
    const length = this.#storedLength(given)
    const start = this.#filled
    const valueStart = start + keyEnd - keyStart
    const end = valueStart + Math.max(0, length)
    if (end > this.#bytes.length) this.#growBytes(end)
    if ((this.#rowCount + 1) * stride > this.#rows.length) this.#growRows()
    copyBytes(keyBytes, keyStart, keyEnd, this.#bytes, start)
    if (length !== deleted) this.#writeValue(given, valueStart, timestamp)
    const rows = this.#rows
    const at = this.#rowCount * stride
    rows[at] = start
    rows[at + keyLengthAt] = keyEnd - keyStart
    rows[at + valueLengthAt] = length
    rows[at + hashAt] = given.hash
    this.#filled = end
    this.#rowCount += 1
    this.#size += 1
  }

  #storedLength({ valueBytes, valueStart, valueEnd }: GivenRow): number {
    return valueBytes === undefined ? deleted : this.#format.headerBytes + valueEnd - valueStart
  }

  #writeValue({ valueBytes, valueStart, valueEnd }: GivenRow, at: number, timestamp: number): void {
    if (valueBytes === undefined) return
    this.#format.writeHeader(this.#bytes, at, timestamp)
    copyBytes(valueBytes, valueStart, valueEnd, this.#bytes, at + this.#format.headerBytes)
  }

  /** The slot of the key, or the free one where it would be. */
  #find(given: GivenRow): number {
    const { keyBytes, keyStart, keyEnd } = given
    const hash = hashBytes(keyBytes, keyStart, keyEnd)
    given.hash = hash
    const slots = this.#slots
    const rows = this.#rows
    const mask = slots.length - 1
    let slot = hash & mask
    for (;;) {
      const row = (slots[slot] as number) - 1
      if (row < 0) return slot
      const at = row * stride
      if (
        rows[at + hashAt] === hash &&
        rows[at + keyLengthAt] === keyEnd - keyStart &&
        isSame(keyBytes, keyStart, keyEnd, this.#bytes, rows[at] as number)
      ) {
        return slot
      }
      slot = (slot + 1) & mask
    }
  }

  #growBytes(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, needed))
    this.#bytes.copy(grown, 0, 0, this.#filled)
    this.#bytes = grown
  }

  #growRows(): void {
    const grown = new Int32Array(this.#rows.length * 2)
    grown.set(this.#rows)
    this.#rows = grown
  }

  #growSlots(): void {
    const slots = new Int32Array(this.#slots.length * 2)
    const mask = slots.length - 1
    const rows = this.#rows
    for (let row = 0; row < this.#rowCount; row += 1) {
      const at = row * stride
      if (isSuperseded(rows[at + valueLengthAt] as number)) continue
      let slot = (rows[at + hashAt] as number) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = row + 1
    }
    this.#slots = slots
  }

  #view(): PackedView {
    return { bytes: this.#bytes, rows: this.#rows }
  }

  /** Empties it, to be filled again. False: somebody may still read what it had. */
  recycle(): boolean {
    if (this.#isScanned) return false
    this.#filled = 0
    this.#rowCount = 0
    this.#size = 0
    this.#slots.fill(0)
    return true
  }

  *values(): Generator<Pin> {
    for (const row of this.#live()) yield pinOf(this.#view(), row, this.#format)
  }

  cursor({ from, to, toExclusive, reverse }: TextRange): PackedCursor {
    this.#isScanned = true
    const view = this.#view()
    const lower = from === undefined ? undefined : Buffer.from(from, 'latin1')
    const upper = to === undefined ? undefined : Buffer.from(to, 'latin1')
    const isInside = (row: number): boolean => {
      if (lower !== undefined && compareKey(view, row, lower) < 0) return false
      if (upper === undefined) return true
      const order = compareKey(view, row, upper)
      return toExclusive === true ? order < 0 : order <= 0
    }
    const order = this.#live().filter(isInside)
    sortPacked(order, view)
    if (reverse === true) order.reverse()
    return new PackedCursor(view, order, this.#format)
  }

  #live(): Uint32Array {
    return liveRows(this.#view(), 0, this.#rowCount)
  }

  beginWrite(): PackedWrite {
    return new PackedWrite(this.#view(), this.#rowCount)
  }
}

/** The rows as they are at one moment: what comes later is not among the numbers that a reader has. */
type PackedView = PackedKeys

function liveRows({ rows }: PackedView, from: number, to: number): Uint32Array {
  const live = new Uint32Array(to - from)
  let count = 0
  for (let row = from; row < to; row += 1) {
    if (isSuperseded(rows[row * stride + valueLengthAt] as number)) continue
    live[count] = row
    count += 1
  }
  return live.subarray(0, count)
}

function compareKey({ bytes, rows }: PackedView, row: number, key: Buffer): number {
  const start = rows[row * stride] as number
  const end = start + (rows[row * stride + keyLengthAt] as number)
  return bytes.compare(key, 0, key.length, start, end)
}

function changeIn({ bytes, rows }: PackedView, row: number, format: StoredFormat): Change {
  const at = row * stride
  const stored = rows[at + valueLengthAt] as number
  const length = isSuperseded(stored) ? superseded(stored) : stored
  if (length === deleted) return { value: null, timestamp: noTimestamp }
  const start = (rows[at] as number) + (rows[at + keyLengthAt] as number)
  return format.decode(bytes.subarray(start, start + length))
}

/** Its key is a copy; what it has for a value must not be kept longer than the next write. */
function pinOf(view: PackedView, row: number, format: StoredFormat): Pin {
  const at = row * stride
  const start = view.rows[at] as number
  const key = Buffer.from(
    view.bytes.subarray(start, start + (view.rows[at + keyLengthAt] as number)),
  )
  const { value, timestamp } = changeIn(view, row, format)
  return { text: keyText(key), key, value, timestamp }
}

/** Rows of a range, as they were when it began. */
export class PackedCursor {
  readonly #view: PackedView
  readonly #order: Uint32Array
  readonly #format: StoredFormat
  #next = 0

  constructor(view: PackedView, order: Uint32Array, format: StoredFormat) {
    this.#view = view
    this.#order = order
    this.#format = format
  }

  next(): Pin | undefined {
    const row = this.#order[this.#next]
    if (row === undefined) return undefined
    this.#next += 1
    return pinOf(this.#view, row, this.#format)
  }
}

/** Writes all rows, in parts that are each in order: what counts is that neighbours are written together. */
class PackedWrite implements StageWrite {
  readonly #view: PackedView
  readonly #rowCount: number
  readonly #row: PackedRow
  #sortedTo = 0
  #order: Uint32Array = new Uint32Array(0)
  #next = 0

  constructor(view: PackedView, rowCount: number) {
    this.#view = view
    this.#rowCount = rowCount
    this.#row = { bytes: view.bytes, keyStart: 0, valueStart: 0, valueEnd: 0 }
  }

  /** A part is put in order before it is written, and only then. */
  prepare(): boolean {
    return false
  }

  slice(
    { transaction, rows: table }: WriteTarget,
    limits: { rows: number; bytes: number },
  ): boolean {
    if (this.#next === this.#order.length) return this.#sortPart()
    const { rows } = this.#view
    const row = this.#row
    const end = Math.min(this.#order.length, this.#next + limits.rows)
    let bytes = 0
    while (this.#next < end && bytes < limits.bytes) {
      const at = (this.#order[this.#next] as number) * stride
      this.#next += 1
      const valueLength = rows[at + valueLengthAt] as number
      row.keyStart = rows[at] as number
      row.valueStart = row.keyStart + (rows[at + keyLengthAt] as number)
      row.valueEnd = row.valueStart + Math.max(0, valueLength)
      bytes += row.valueEnd - row.keyStart
      if (valueLength === deleted)
        table.delete(transaction, row.bytes.subarray(row.keyStart, row.valueStart))
      else table.putRow(transaction, row)
    }
    return this.#next < this.#order.length || this.#sortedTo < this.#rowCount
  }

  #sortPart(): boolean {
    if (this.#sortedTo === this.#rowCount) return false
    const to = Math.min(this.#rowCount, this.#sortedTo + sortedPerSlice)
    this.#order = liveRows(this.#view, this.#sortedTo, to)
    sortPacked(this.#order, this.#view)
    this.#sortedTo = to
    this.#next = 0
    return true
  }
}

/** Up to this many bytes a loop is cheaper than the call into native code. */
const loopBytesMax = 32

/** FNV-1a, stirred: its low bits are used. */
function hashBytes(bytes: Buffer, start: number, end: number): number {
  let hash = 0x81_1c_9d_c5
  for (let at = start; at < end; at += 1) {
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01_00_01_93)
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d)
  return hash ^ (hash >>> 13)
}

function isSame(a: Buffer, start: number, end: number, b: Buffer, bStart: number): boolean {
  const length = end - start
  if (length > loopBytesMax) return a.compare(b, bStart, bStart + length, start, end) === 0
  for (let at = 0; at < length; at += 1) if (a[start + at] !== b[bStart + at]) return false
  return true
}

function copyBytes(from: Buffer, start: number, end: number, to: Buffer, at: number): void {
  const length = end - start
  if (length > loopBytesMax) from.copy(to, at, start, end)
  else
    for (let index = 0; index < length; index += 1) to[at + index] = from[start + index] as number
}
