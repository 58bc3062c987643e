import type { AbortedTransaction } from '../../src/client/committed-runs.ts'
import { buildControlBatch } from '../../src/protocol/record-control.ts'
import { RecordBatchBuilder } from '../../src/protocol/record-builder.ts'
import { ScriptedLog } from './scripted-logs.ts'

interface Transaction {
  readonly producerId: number
  readonly firstOffset: number
  /** Offset of the marker; undefined: it is open. */
  markerOffset?: number
  isCommitted?: boolean
}

/** The log of one partition with transactions in it, served as Kafka serves it. */
export class TransactionalLog extends ScriptedLog {
  readonly #batches: { bytes: Buffer; baseOffset: number; lastOffset: number }[] = []
  readonly #transactions: Transaction[] = []
  readonly #written: { offset: number; value: string; transaction: Transaction | undefined }[] = []
  #end = 0

  override get end(): number {
    return this.#end
  }

  /** The begin of the first open transaction. */
  override get stableEnd(): number {
    const open = this.#transactions.filter(({ markerOffset }) => markerOffset === undefined)
    return Math.min(this.#end, ...open.map(({ firstOffset }) => firstOffset))
  }

  /** Writes a batch; by a producer with an open transaction it belongs to that. -1: to none. */
  write(producerId: number, values: readonly string[]): void {
    const isTransactional = producerId >= 0
    const transaction = isTransactional ? this.#begin(producerId) : undefined
    const builder = new RecordBatchBuilder()
    for (const [index, value] of values.entries()) {
      builder.append(null, Buffer.from(value), 1000)
      this.#written.push({ offset: this.#end + index, value, transaction })
    }
    const batch = builder.build({
      baseOffset: this.#end,
      producerId,
      producerEpoch: 0,
      baseSequence: isTransactional ? 0 : -1,
      isTransactional,
    })
    this.#push(batch, values.length)
  }

  /** Ends the transaction of a producer; one that has none still gets its marker. */
  finish(producerId: number, type: 'commit' | 'abort'): void {
    const open = this.#openOf(producerId)
    if (open !== undefined) {
      open.markerOffset = this.#end
      open.isCommitted = type === 'commit'
    }
    const marker = buildControlBatch({
      type,
      producerId,
      producerEpoch: 0,
      timestamp: 1000,
      coordinatorEpoch: 0,
      baseOffset: this.#end,
    })
    this.#push(marker, 1)
  }

  /** What a reader of committed records is to see from an offset on. */
  committedValues(from: number): string[] {
    const end = this.stableEnd
    return this.#written
      .filter(
        ({ offset, transaction }) =>
          offset >= from && offset < end && transaction?.isCommitted !== false,
      )
      .map(({ value }) => value)
  }

  override read(offset: number, bytesMax: number, isolation = 0): Buffer {
    const end = isolation === 0 ? this.#end : this.stableEnd
    const readable = this.#batches.filter(
      ({ baseOffset, lastOffset }) => lastOffset >= offset && baseOffset < end,
    )
    const bytes = Buffer.concat(readable.map((batch) => batch.bytes))
    return bytes.subarray(0, Math.max(bytesMax, readable[0]?.bytes.length ?? 0))
  }

  /** As Kafka: those that end at or after the offset, and begin before the end of what is read. */
  override aborted(offset: number, records: Buffer): AbortedTransaction[] {
    let end = offset
    let bytes = 0
    for (const batch of this.#batches) {
      if (batch.lastOffset < offset) continue
      if (bytes >= records.length) break
      bytes += batch.bytes.length
      end = batch.lastOffset + 1
    }
    return this.#transactions
      .filter(({ firstOffset, markerOffset = Infinity, isCommitted }) => {
        return isCommitted === false && markerOffset >= offset && firstOffset < end
      })
      .map(({ producerId, firstOffset }) => ({ producerId, firstOffset }))
  }

  #openOf(producerId: number): Transaction | undefined {
    return this.#transactions.find(
      (one) => one.producerId === producerId && one.markerOffset === undefined,
    )
  }

  #begin(producerId: number): Transaction {
    const open = this.#openOf(producerId)
    if (open !== undefined) return open
    const begun = { producerId, firstOffset: this.#end }
    this.#transactions.push(begun)
    return begun
  }

  #push(bytes: Buffer, count: number): void {
    this.#batches.push({ bytes, baseOffset: this.#end, lastOffset: this.#end + count - 1 })
    this.#end += count
  }
}
