import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import type { Answered } from './answered-requests.ts'
import { transactionOf } from './commit-watch.ts'
import type { LoggedStore } from './program.ts'

/** A value that a key got. */
interface Version {
  readonly partition: number
  readonly offset: number
  readonly key: string
  /** Undefined: it was deleted. */
  readonly value: string | undefined
}

interface Committed {
  readonly at: number
  /** Behind the last record that was committed by then. */
  readonly end: number
}

/**
 * What the changelog of a store says: each value with its offset, and when it was committed. Whoever answers from a
 * store must know of what was committed, so that this judges owners and copies alike.
 */
export class ChangelogWatch {
  readonly #topic: string
  readonly #store: LoggedStore
  readonly #now: () => number
  readonly #reader = new RecordBatchReader()
  readonly #inTransaction = new Map<string, Version[]>()
  /** By key, in the order of their offsets. */
  readonly #versions = new Map<string, Version[]>()
  /** By partition, in the order of time. */
  readonly #ends = new Map<number, Committed[]>()

  constructor(options: { topic: string; store: LoggedStore; now: () => number }) {
    this.#topic = options.topic
    this.#store = options.store
    this.#now = options.now
  }

  heard(answered: Answered): void {
    if (answered.name === 'Produce') this.#written(answered)
    if (answered.name !== 'EndTxn' || answered.response.errorCode !== 0) return
    const transaction = transactionOf(answered.request)
    const versions = this.#inTransaction.get(transaction) ?? []
    this.#inTransaction.delete(transaction)
    if (answered.request.committed) this.#commit(versions)
  }

  /**
   * The values that a key had, in order, up to the one that whoever lags by so many records must have: of what was
   * committed by that time.
   */
  known(key: string, { by, lag }: { by: number; lag: number }): (string | undefined)[] {
    const versions = this.#versions.get(key) ?? []
    const partition = versions[0]?.partition
    if (partition === undefined) return []
    const end = this.#ends.get(partition)?.findLast(({ at }) => at <= by)?.end ?? 0
    return versions.filter(({ offset }) => offset < end - lag).map(({ value }) => value)
  }

  /** Where the changelog of a partition ends, as far as it is committed. */
  end(partition: number): number {
    return this.#ends.get(partition)?.at(-1)?.end ?? 0
  }

  /** Undefined: the key has no value yet. */
  partitionOf(key: string): number | undefined {
    return this.#versions.get(key)?.[0]?.partition
  }

  #written({ request, response }: Extract<Answered, { name: 'Produce' }>): void {
    const accepted = response.responses.find(({ name }) => name === this.#topic)
    const sent = request.topicData.find(({ name }) => name === this.#topic)
    if (accepted === undefined || sent === undefined) return
    for (const { index, errorCode, baseOffset } of accepted.partitionResponses) {
      const records = sent.partitionData.find((one) => one.index === index)?.records
      if (errorCode === 0 && records instanceof Buffer) this.#read(index, records, baseOffset)
    }
  }

  /** The broker gives a batch its offsets where it lies, which may have happened by now. */
  #read(partition: number, records: Buffer, baseOffset: number): void {
    const reader = this.#reader
    reader.reset(records)
    while (reader.nextBatch()) {
      const versions: Version[] = []
      const { isTransactional } = reader
      const transaction = transactionOf(reader)
      while (reader.next()) {
        const [key, value] = [reader.key(), reader.value()]
        versions.push({
          partition,
          offset: baseOffset + reader.offset - reader.baseOffset,
          key: key === null ? '' : this.#store.key.deserialize(key),
          value: value === null ? undefined : String(this.#store.value.deserialize(value)),
        })
      }
      if (!isTransactional) this.#commit(versions)
      else {
        const open = this.#inTransaction.get(transaction)
        if (open === undefined) this.#inTransaction.set(transaction, versions)
        else open.push(...versions)
      }
    }
  }

  #commit(versions: readonly Version[]): void {
    for (const version of versions) {
      const { key, partition, offset } = version
      const ofKey = this.#versions.get(key)
      if (ofKey === undefined) this.#versions.set(key, [version])
      else if ((ofKey.at(-1)?.offset ?? -1) < offset) ofKey.push(version)
      const ends = this.#ends.get(partition) ?? []
      this.#ends.set(partition, ends)
      ends.push({ at: this.#now(), end: Math.max(offset + 1, ends.at(-1)?.end ?? 0) })
    }
  }
}
