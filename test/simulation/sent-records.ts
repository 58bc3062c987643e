import { partitionForKey } from '../../src/protocol/murmur2.ts'

/** A record as the load has sent it. Nobody else writes to inputs, so its offset is known. */
export interface SentRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: string | null
  readonly timestamp: number
}

/** All records that the load has sent to the inputs of a program, in order. */
export class SentRecords {
  readonly all: SentRecord[] = []
  readonly #partitions: ReadonlyMap<string, number>
  readonly #nextOffsets = new Map<string, number>()
  /** By topic and key. */
  readonly #values = new Map<string, (string | null)[]>()

  /** `partitions`: how many each input has. */
  constructor(partitions: ReadonlyMap<string, number>) {
    this.#partitions = partitions
  }

  add(record: Pick<SentRecord, 'topic' | 'key' | 'value' | 'timestamp'>): SentRecord {
    const partition = this.partitionOf(record.topic, record.key)
    const name = `${record.topic}-${partition}`
    const offset = this.#nextOffsets.get(name) ?? 0
    this.#nextOffsets.set(name, offset + 1)
    const sent = { ...record, partition, offset }
    this.all.push(sent)
    this.valuesOf(record.topic, record.key).push(record.value)
    return sent
  }

  /** Kafka's choice. */
  partitionOf(topic: string, key: string): number {
    return partitionForKey(Buffer.from(key), this.#partitions.get(topic) ?? 1)
  }

  /** All values that a key ever had, in order. */
  valuesOf(topic: string, key: string): (string | null)[] {
    const name = `${topic}/${key}`
    let values = this.#values.get(name)
    if (values === undefined) {
      values = []
      this.#values.set(name, values)
    }
    return values
  }

  /** Where the records of a key are. */
  offsetsOf(topic: string, key: string): number[] {
    const ofKey = this.all.filter((record) => record.topic === topic && record.key === key)
    return ofKey.map(({ offset }) => offset)
  }

  /** The last value of each key. */
  latest(topic: string): Map<string, string | null> {
    return new Map(
      this.all.filter((record) => record.topic === topic).map(({ key, value }) => [key, value]),
    )
  }
}
