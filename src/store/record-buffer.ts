/**
 * Holds back records of a stream, all of them, until stream time has passed them by a grace
 * (org.apache.kafka.streams.state.internals.RocksDBTimeOrderedKeyValueBuffer). They lie in a key-value store
 * of bytes, in the order in which they go on:
 *
 *     key    0, 8 bytes timestamp, key, 4 bytes number
 *     value  where the record came from, and its value: see buffer-value.ts; in the changelog 8 zeros more
 *
 * Records are numbered from 1 when the store is opened. Unlike in Kafka Streams, a number that a record
 * from before has is passed over.
 */
import { BufferValueReader, bufferValue, encodeBufferValue } from './buffer-value.ts'
import type { KeyValueStoreDescriptor } from './descriptor.ts'
import type { PlainKeyValueStore } from './plain-key-value-store.ts'
import type { ChangelogWriter, RecordContext, StateStore } from './state-store.ts'
import { StoreSerdes } from './store-serdes.ts'
import { noTimestamp } from './stored-value.ts'
import { readTime, timeBytes, writeTime } from './time-bytes.ts'

const prefixBytes = 1
const numberBytes = 4
const numberMask = 0x7fff_ffff
/** Java's buffer time, which means nothing here. */
const changelogEnd = Buffer.alloc(8)

/** Takes a record whose time has come. */
export type GiveRecord = (key: unknown, value: unknown, origin: Readonly<RecordContext>) => void

/** The changelog of the store of bytes below a {@link RecordBuffer}. */
export function recordBufferChangelog(changelog: ChangelogWriter): ChangelogWriter {
  return {
    write(store, key, value) {
      const logged = value === null ? null : Buffer.concat([value, changelogEnd])
      // As in Java, the time of a change of the buffer is that of its writing.
      changelog.write(store, key, logged, noTimestamp)
    },
  }
}

/** The store of a join of a stream and a table that waits for late changes of the table. */
export class RecordBuffer implements StateStore {
  readonly #serdes: StoreSerdes<unknown, unknown>
  readonly #rows: PlainKeyValueStore<Buffer, Buffer>
  readonly #record: RecordContext
  #observedTime = -1
  /** No record is older. There may be some of any age from before. */
  #minTime = -Infinity
  #number = 0
  #hadRows: boolean | undefined

  constructor(options: {
    descriptor: KeyValueStoreDescriptor<unknown, unknown>
    rows: PlainKeyValueStore<Buffer, Buffer>
    record: RecordContext
  }) {
    const { descriptor, rows, record } = options
    this.#serdes = new StoreSerdes(descriptor.name, descriptor)
    this.#rows = rows
    this.#record = record
  }

  get name(): string {
    return this.#rows.name
  }

  get persistent(): boolean {
    return this.#rows.persistent
  }

  get logged(): boolean {
    return this.#rows.logged
  }

  /** The latest timestamp of all that was put; -1: nothing was. */
  get observedTime(): number {
    return this.#observedTime
  }

  /** Holds the current record back. */
  put(key: unknown, value: unknown): void {
    const { timestamp } = this.#record
    const row = this.#freeKey(this.#serdes.writeKey(key), timestamp)
    const values = { prior: null, old: null, new: this.#serdes.writeValue(value) }
    this.#rows.put(row, encodeBufferValue(bufferValue(this.#record, values)))
    this.#observe(timestamp)
    if (timestamp < this.#minTime) this.#minTime = timestamp
  }

  #freeKey(keyBytes: Buffer, timestamp: number): Buffer {
    this.#hadRows ??= this.#rows.approximateEntryCount() > 0
    const numberAt = prefixBytes + timeBytes + keyBytes.length
    const row = Buffer.alloc(numberAt + numberBytes)
    writeTime(row, timestamp, prefixBytes)
    keyBytes.copy(row, prefixBytes + timeBytes)
    for (;;) {
      this.#number = (this.#number + 1) & numberMask
      row.writeInt32BE(this.#number, numberAt)
      if (!this.#hadRows || this.#rows.get(row) === undefined) return row
    }
  }

  #observe(timestamp: number): void {
    if (timestamp > this.#observedTime) this.#observedTime = timestamp
  }

  /** Gives the records up to that time, the oldest first, and forgets each once it was given. */
  takeUntil(time: number, give: GiveRecord): void {
    if (this.#minTime > time) return
    using rows = this.#rows.range()
    this.#minTime = Infinity
    for (const [row, bytes] of rows) {
      const timestamp = readTime(row, prefixBytes)
      this.#minTime = timestamp
      if (timestamp > time) return
      const { origin, new: value } = new BufferValueReader(bytes).value()
      const keyBytes = row.subarray(prefixBytes + timeBytes, -numberBytes)
      give(this.#serdes.readKey(keyBytes), value && this.#serdes.readValue(value), origin)
      this.#rows.delete(row)
      this.#minTime = Infinity
    }
  }

  restore(key: Buffer, value: Buffer | null, timestamp: number): void {
    // Nobody else writes such a record.
    if (key.length < prefixBytes + timeBytes + numberBytes) return
    this.#observe(readTime(key, prefixBytes))
    this.#rows.restore(key, value, timestamp)
  }

  restored(offset: number): void {
    this.#rows.restored(offset)
  }

  restoreOffset(): number {
    return this.#rows.restoreOffset()
  }

  flush(): boolean {
    return this.#rows.flush()
  }

  committed(offset: number | undefined): void {
    this.#rows.committed(offset)
  }

  writeBehind(): boolean {
    return this.#rows.writeBehind()
  }

  setFlushListener(): boolean {
    return false
  }

  memoryBytes(): number {
    return this.#rows.memoryBytes()
  }

  dirtyBytes(): number {
    return this.#rows.dirtyBytes()
  }

  uncommittedBytes(): number {
    return this.#rows.uncommittedBytes()
  }

  close(): void {
    this.#rows.close()
  }
}
