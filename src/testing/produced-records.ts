import type { RecordHeaders } from '../store/state-store.ts'
import type { RecordSink } from '../task/record-sink.ts'

/** A record as it was written to a topic. */
export interface ProducedRecord {
  readonly topic: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** Milliseconds. */
  readonly timestamp: number
  readonly headers: RecordHeaders
}

/** Of a record that states no time: see RecordSink. */
const noTimestamp = -1
/** Every topic of a test driver has one partition. */
const partitionCount = 1

/**
 * Takes what a task writes and keeps it, by topic and in the order over all topics, until a test
 * reads it. Acknowledges at once.
 */
export class ProducedRecords implements RecordSink {
  readonly #unread: ProducedRecord[] = []
  readonly #unreadByTopic = new Map<string, ProducedRecord[]>()
  /** Written since the driver last looked for records that go back into the topology. */
  #fresh: ProducedRecord[] = []
  readonly #nextOffsets = new Map<string, number>()
  readonly #now: () => number

  /** `now` is the time of records that state none. */
  constructor({ now }: { now: () => number }) {
    this.#now = now
  }

  partitionCount(): number {
    return partitionCount
  }

  send(
    topic: string,
    _partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders,
  ): void {
    const time = timestamp === noTimestamp ? this.#now() : timestamp
    const record = { topic, key: copy(key), value: copy(value), timestamp: time, headers }
    this.#unread.push(record)
    this.#fresh.push(record)
    this.queue(topic).push(record)
    this.#nextOffsets.set(topic, (this.#nextOffsets.get(topic) ?? 0) + 1)
  }

  nextOffset(topic: string): number | undefined {
    return this.#nextOffsets.get(topic)
  }

  /** What is unread of a topic: a live list, from which its reader takes. */
  queue(topic: string): ProducedRecord[] {
    let queue = this.#unreadByTopic.get(topic)
    if (queue === undefined) {
      queue = []
      this.#unreadByTopic.set(topic, queue)
    }
    return queue
  }

  /** Names of all topics that were written, in the order of their first record. */
  topics(): string[] {
    return [...this.#nextOffsets.keys()]
  }

  /** Everything since the last call, in the order in which it was written. */
  takeAll(): ProducedRecord[] {
    return this.#unread.splice(0)
  }

  /** True: {@link takeFresh} has something to give. */
  get hasFresh(): boolean {
    return this.#fresh.length > 0
  }

  /** Everything since the last call, for the driver itself. */
  takeFresh(): ProducedRecord[] {
    const fresh = this.#fresh
    this.#fresh = []
    return fresh
  }
}

function copy(bytes: Uint8Array | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes)
}
