import { compareBytes } from '../../src/base/bytes.ts'
import type { Endpoint } from '../../src/group/membership.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import type {
  LocalPartition,
  PartitionHosts,
  QueryAvailability,
  QueryTarget,
  StoreRow,
  StoreView,
} from '../../src/query/query-target.ts'
import type { KvRange } from '../../src/kv/kv.ts'
import type { StoreIterator } from '../../src/store/key-value-store.ts'
import type { AnyStore } from '../../src/store/descriptor.ts'

/** The rows of one partition, in an array that is as slow and as plain as can be. */
export class PlainRows implements StoreView {
  readonly kind = 'key-value'
  readonly #rows: StoreRow[] = []
  readonly #store: AnyStore
  /** Scans that were not closed. */
  openScans = 0
  /** Scans and counts so far. */
  scans = 0

  constructor(store: AnyStore) {
    this.#store = store
  }

  put(key: unknown, value: unknown, timestamp: number): void {
    const keyBytes = Buffer.from(this.#store.key.serialize(key))
    this.#rows.push({ keyBytes, key, value, timestamp })
    this.#rows.sort((a, b) => compareBytes(a.keyBytes, b.keyBytes))
  }

  getBytes(keyBytes: Buffer): StoreRow | undefined {
    return this.#rows.find((row) => row.keyBytes.equals(keyBytes))
  }

  byteRows({ from, to, toExclusive, reverse }: KvRange): StoreIterator<StoreRow> {
    const rows = this.#rows.filter(
      ({ keyBytes }) =>
        (from === undefined || compareBytes(keyBytes, from) >= 0) &&
        (to === undefined || compareBytes(keyBytes, to) < (toExclusive === true ? 0 : 1)),
    )
    if (reverse === true) rows.reverse()
    this.openScans += 1
    this.scans += 1
    return Object.assign(rows.values(), {
      [Symbol.dispose]: () => {
        this.openScans -= 1
      },
    })
  }

  approximateEntryCount(): number {
    this.scans += 1
    return this.#rows.length
  }
}

/** An instance made of plain rows: what queries see of one, set by the test. */
export class QueryInstance implements QueryTarget {
  availability: QueryAvailability = 'running'
  hostsKnown = true
  partitions: number | undefined
  readonly #store: AnyStore
  readonly #held = new Map<number, PlainRows>()
  readonly restoring = new Set<number>()
  /** Partitions that are copies, with how far they lag; undefined: nobody knows. */
  readonly standbys = new Map<number, number | undefined>()
  /** Who has copies, by partition. */
  readonly copies = new Map<number, Endpoint[]>()
  /** By partition; absent: nobody. */
  readonly owners = new Map<number, Endpoint>()

  constructor(store: AnyStore, partitions: number, held: readonly number[]) {
    this.#store = store
    this.partitions = partitions
    for (const partition of held) this.#held.set(partition, new PlainRows(store))
  }

  get storeNames(): readonly string[] {
    return [this.#store.name]
  }

  /** Puts the row into the partition of its key, when that is here. */
  put(key: unknown, value: unknown, timestamp = -1): void {
    const keyBytes = this.#store.key.serialize(key)
    const partition = partitionForKey(keyBytes, this.partitions ?? 1)
    this.#held.get(partition)?.put(key, value, timestamp)
  }

  get openScans(): number {
    return [...this.#held.values()].reduce((sum, rows) => sum + rows.openScans, 0)
  }

  get scans(): number {
    return [...this.#held.values()].reduce((sum, rows) => sum + rows.scans, 0)
  }

  /** Gives the partition up. */
  drop(partition: number): void {
    this.#held.delete(partition)
  }

  descriptor(store: string): AnyStore | undefined {
    return store === this.#store.name ? this.#store : undefined
  }

  isGlobal(): boolean {
    return false
  }

  partitionCount(store: string): number | undefined {
    return store === this.#store.name ? this.partitions : undefined
  }

  local(store: string, partition: number): LocalPartition | undefined {
    const rows = this.#held.get(partition)
    if (rows === undefined || store !== this.#store.name) return undefined
    if (this.standbys.has(partition)) {
      const lag = this.standbys.get(partition)
      return { role: 'standby', state: 'running', view: rows, lag, position: {} }
    }
    const isRestoring = this.restoring.has(partition)
    return {
      role: 'active',
      state: isRestoring ? 'restoring' : 'running',
      view: rows,
      lag: isRestoring ? 7 : 0,
      position: { lines: { [partition]: 100 + partition } },
    }
  }

  hosts(_store: string, partition: number): PartitionHosts {
    return { active: this.owners.get(partition), standby: this.copies.get(partition) ?? [] }
  }
}
