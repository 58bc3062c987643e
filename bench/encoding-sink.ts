import { RecordBatchBuilder } from '../src/protocol/record-builder.ts'
import type { RecordHeaders } from '../src/store/state-store.ts'
import type { RecordSink } from '../src/task/record-sink.ts'

const batchBytesMax = 256 * 1024

/** What a batch says of a producer that is none. */
export const noProducer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }

/** Encodes what it is given into batches, which nobody gets. */
export class EncodingSink implements RecordSink {
  readonly #builder = new RecordBatchBuilder()
  records = 0

  partitionCount(): number {
    return 1
  }

  send(
    _topic: string,
    _partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders,
  ): void {
    this.#builder.append(key, value, timestamp, headers)
    this.records += 1
    if (this.#builder.sizeInBytes >= batchBytesMax) this.flush()
  }

  flush(): void {
    if (this.#builder.isEmpty) return
    this.#builder.build(noProducer)
    this.#builder.reset()
  }

  nextOffset(): number | undefined {
    return this.records === 0 ? undefined : this.records
  }
}
