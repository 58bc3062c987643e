/** The outermost layer of versioned stores (org.apache.kafka.streams.state.internals.MeteredVersionedKeyValueStore). */
import { assertTime } from './assert-time.ts'
import type { ObjectLayer, Rows } from './entry-table.ts'
import { GatheredRows } from './gathered-rows.ts'
import type { StoreIterator } from './key-value-store.ts'
import { LayeredStore, type LayeredStoreOptions } from './layered-store.ts'
import type { ChangelogWriter } from './state-store.ts'
import type { StoredRow } from './stored-value.ts'
import { VersionReadView } from './windowed-read-views.ts'
import type { PutVersion, VersionedRecord, VersionedStore } from './versioned-store.ts'
import type { StoredVersion, VersionedTable } from './versioned-table.ts'

export interface TypedVersionedStoreOptions<K, V> extends Omit<
  LayeredStoreOptions<K, V>,
  'entries'
> {
  readonly versions: VersionedTable
  readonly changelog: ChangelogWriter | undefined
}

/** There is no cache: all is written at once. */
const noEntries = {
  flush: (): boolean => false,
  setFlushListener: (): boolean => false,
  cachedBytes: (): number => 0,
}

/** A store of versions. Java's VersionedKeyValueStore. */
export class TypedVersionedStore<K, V>
  extends LayeredStore<K, V, ObjectLayer<K, V>>
  implements VersionedStore<K, V>
{
  readonly #versions: VersionedTable
  readonly #changelog: ChangelogWriter | undefined

  constructor(options: TypedVersionedStoreOptions<K, V>) {
    super({ ...options, entries: { ...noEntries, close: () => options.bytes.close() } })
    this.#versions = options.versions
    this.#changelog = options.changelog
  }

  put(key: K, value: V | undefined, timestamp: number): PutVersion {
    assertTime(timestamp, 'timestamp of a version', this.name)
    const keyBytes = this.serdes.writeKey(key)
    const isDeletion = value === undefined || value === null
    const valueBytes = isDeletion ? null : this.serdes.writeValue(value)
    const validTo = this.#versions.put(keyBytes, valueBytes, timestamp)
    // As in Java, also what came too late: whoever restores decides anew.
    this.#changelog?.write(this.name, keyBytes, valueBytes, timestamp)
    return validTo
  }

  delete(key: K, timestamp: number): VersionedRecord<V> | undefined {
    assertTime(timestamp, 'timestamp of a version', this.name)
    const before = this.get(key, timestamp)
    return this.put(key, undefined, timestamp) === 'not-put' ? undefined : before
  }

  get(key: K, asOf?: number): VersionedRecord<V> | undefined {
    const keyBytes = this.serdes.writeKey(key)
    const versions = this.#versions
    const found = asOf === undefined ? versions.get(keyBytes) : versions.getAsOf(keyBytes, asOf)
    return found && this.#record(found)
  }

  #record({ value, timestamp, validTo }: StoredVersion): VersionedRecord<V> {
    const read = this.serdes.readValue(value)
    return validTo === undefined ? { value: read, timestamp } : { value: read, timestamp, validTo }
  }

  versions(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<VersionedRecord<V>> {
    const keyBytes = this.serdes.writeKey(key)
    const found = this.#versions.versions(keyBytes, from, to)
    if (options?.reverse === true) found.reverse()
    return this.iterate(new GatheredRows(found), (version) => this.#record(version))
  }

  /** What queries read. */
  readView(): VersionReadView<K, V> {
    return new VersionReadView(this, () => this.isOpen)
  }

  /** All rows as they lie: with the number of the segment in front of the key; for tests. */
  storedRows(): Rows<StoredRow> {
    return this.bytes.scan({})
  }

  override restore(key: Buffer, value: Buffer | null, timestamp: number): void {
    this.#versions.restore(key, value, timestamp)
  }
}
