/**
 * Holds back changes of a table, one for each key, until their time has come
 * (org.apache.kafka.streams.state.internals.InMemoryTimeOrderedKeyValueChangeBuffer). A key keeps the
 * place that its first change gave it: by buffer time, then by serialized key.
 *
 * Everything is in memory; the changelog, written at each flush, brings it back. All that is held is bytes:
 * buffers are bounded by them.
 */
import { compareBytes } from '../base/bytes.ts'
import { BinaryHeap } from '../base/heap.ts'
import { keyText } from '../kv/sorted-rows.ts'
import { decodeHeld, encodeHeld, heldHeaders } from './buffer-changelog.ts'
import { bufferValue, bufferValueBytes, type BufferValue } from './buffer-value.ts'
import type { KeyValueStoreDescriptor } from './descriptor.ts'
import { HashOrderedKeys } from './hash-ordered-keys.ts'
import type { ChangelogRecord, ChangelogWriter, RecordContext, StateStore } from './state-store.ts'
import { StoreSerdes } from './store-serdes.ts'
import { noTimestamp } from './stored-value.ts'

/** Takes a change whose time has come. Undefined stands for no value. */
export type EmitChange = (
  key: unknown,
  newValue: unknown,
  oldValue: unknown,
  origin: Readonly<RecordContext>,
) => void

interface Held {
  readonly time: number
  readonly key: Buffer
  readonly text: string
  value: BufferValue
  bytes: number
  isGone: boolean
}

export interface ChangeBufferOptions {
  readonly descriptor: KeyValueStoreDescriptor<unknown, unknown>
  readonly record: RecordContext
  /** Undefined: the buffer writes no changelog. */
  readonly changelog: ChangelogWriter | undefined
}

const timeBytes = 8

/** The store of a suppression. */
export class ChangeBuffer implements StateStore {
  readonly name: string
  readonly persistent = false
  readonly logged: boolean
  readonly #serdes: StoreSerdes<unknown, unknown>
  readonly #record: RecordContext
  readonly #changelog: ChangelogWriter | undefined
  readonly #held = new Map<string, Held>()
  readonly #order = new BinaryHeap<Held>(
    (one, other) => one.time - other.time || compareBytes(one.key, other.key),
  )
  /** Changed since the last flush: put, or emitted. */
  readonly #dirty = new HashOrderedKeys()
  #bytes = 0

  constructor({ descriptor, record, changelog }: ChangeBufferOptions) {
    this.name = descriptor.name
    this.logged = changelog !== undefined
    this.#serdes = new StoreSerdes(descriptor.name, descriptor)
    this.#record = record
    this.#changelog = changelog
  }

  /** Keys that are held. */
  get recordCount(): number {
    return this.#held.size
  }

  /** Java's estimate of what they take. */
  get bytes(): number {
    return this.#bytes
  }

  /** Buffer time of the first; Infinity: nothing is held. */
  get minTime(): number {
    return this.#first()?.time ?? Infinity
  }

  #first(): Held | undefined {
    let first = this.#order.peek()
    while (first?.isGone === true) {
      this.#order.pop()
      first = this.#order.peek()
    }
    return first
  }

  /** Holds a change that the current record caused. Undefined stands for no value. */
  put(time: number, key: unknown, newValue: unknown, oldValue: unknown): void {
    const keyBytes = this.#serdes.writeKey(key)
    const text = keyText(keyBytes)
    const old = this.#written(oldValue)
    const held = this.#held.get(text)
    const prior = held === undefined ? old : held.value.prior
    const origin = { ...this.#record }
    const value = bufferValue(origin, { prior, old, new: this.#written(newValue) })
    this.#hold(time, keyBytes, text, value)
    if (this.logged) this.#dirty.add(keyBytes, text)
  }

  #written(value: unknown): Buffer | null {
    return value === undefined ? null : this.#serdes.writeValue(value)
  }

  #read(bytes: Buffer | null): unknown {
    return bytes === null ? undefined : this.#serdes.readValue(bytes)
  }

  #hold(time: number, key: Buffer, text: string, value: BufferValue): void {
    const bytes = timeBytes + key.length + bufferValueBytes(value)
    const held = this.#held.get(text)
    if (held === undefined) {
      const added = { time, key, text, value, bytes, isGone: false }
      this.#held.set(text, added)
      this.#order.push(added)
      this.#bytes += bytes
      return
    }
    this.#bytes += bytes - held.bytes
    held.value = value
    held.bytes = bytes
  }

  /** Emits the first change, and the next, as long as it is to be. Each is held until it was emitted. */
  emitWhile(isDue: () => boolean, emit: EmitChange): void {
    for (let first = this.#first(); first !== undefined && isDue(); first = this.#first()) {
      const { key, value } = first
      const change = [this.#read(value.new), this.#read(value.old)] as const
      emit(this.#serdes.readKey(key), ...change, value.origin)
      this.#remove(first)
      if (this.logged) this.#dirty.add(key, first.text)
    }
  }

  #remove(held: Held): void {
    held.isGone = true
    this.#held.delete(held.text)
    this.#bytes -= held.bytes
  }

  /**
   * What steps below have last heard of a key that is held; undefined: it is not held. In an array of
   * one, for they may have heard that there is no value.
   */
  priorValue(key: unknown): readonly [value: unknown] | undefined {
    const held = this.#held.get(keyText(this.#serdes.writeKey(key)))
    return held === undefined ? undefined : [this.#read(held.value.prior)]
  }

  flush(): boolean {
    if (this.#dirty.size === 0) return false
    for (const key of this.#dirty.drain()) {
      const held = this.#held.get(keyText(key))
      if (held === undefined) {
        // As in Java, the time of a change of the buffer is that of its writing.
        this.#changelog?.write(this.name, key, null, noTimestamp)
        continue
      }
      const value = encodeHeld(held.time, held.value)
      this.#changelog?.write(this.name, key, value, noTimestamp, heldHeaders)
    }
    return true
  }

  restore(): never {
    throw new Error('a buffer is restored from whole records')
  }

  restoreRecord(borrowedKey: Buffer, value: Buffer | null, record: ChangelogRecord): void {
    const key = Buffer.from(borrowedKey)
    const text = keyText(key)
    const held = this.#held.get(text)
    if (value === null) {
      if (held !== undefined) this.#remove(held)
      return
    }
    const [time, restored] = decodeHeld(value, record, held?.value.prior)
    this.#hold(time, key, text, restored)
  }

  restored(): void {
    // There is nothing to be tagged with the offset: it is all in memory.
  }

  restoreOffset(): number {
    return 0
  }

  committed(): void {
    // Nothing is written behind.
  }

  writeBehind(): boolean {
    return false
  }

  setFlushListener(): boolean {
    return false
  }

  memoryBytes(): number {
    return this.#bytes
  }

  dirtyBytes(): number {
    return 0
  }

  uncommittedBytes(): number {
    return 0
  }

  close(): void {
    this.#held.clear()
    this.#order.clear()
    this.#dirty.clear()
    this.#bytes = 0
  }
}
