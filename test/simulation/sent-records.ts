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
  readonly #partitions: Map<string, number>
  readonly #nextOffsets = new Map<string, number>()
  /** By topic and key. */
  readonly #values = new Map<string, (string | null)[]>()

  /** `partitions`: how many each input has. */
  constructor(partitions: ReadonlyMap<string, number>) {
    this.#partitions = new Map(partitions)
  }

  /** From here on the topic has so many. */
  setPartitionCount(topic: string, count: number): void {
    this.#partitions.set(topic, count)
  }

  partitionCount(topic: string): number {
    return this.#partitions.get(topic) ?? 1
  }

  /** A key for each partition, that no record of the load has. */
  keysOfPartitions(topic: string): string[] {
    const keys = new Map<number, string>()
    for (let index = 0; keys.size < this.partitionCount(topic); index += 1) {
      const key = `closing-${index}`
      const partition = this.partitionOf(topic, key)
      if (!keys.has(partition)) keys.set(partition, key)
    }
    return [...keys.values()]
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
    return partitionForKey(Buffer.from(key), this.partitionCount(topic))
  }

  /** The first time from that one on that no record of the key has. */
  freeTime({ topic, key, timestamp }: Pick<SentRecord, 'topic' | 'key' | 'timestamp'>): number {
    const taken = new Set(
      this.all
        .filter((record) => record.key === key && record.topic === topic)
        .map((record) => record.timestamp),
    )
    let free = timestamp
    while (taken.has(free)) free += 1
    return free
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

  /** How many records each partition of a topic has. */
  ends(topic: string): Map<number, number> {
    const partitions = Array.from({ length: this.partitionCount(topic) }, (_, index) => index)
    return new Map(
      partitions.map((partition) => [
        partition,
        this.#nextOffsets.get(`${topic}-${partition}`) ?? 0,
      ]),
    )
  }

  /** The records of each key of a topic, in order. */
  byKey(topic: string): Map<string, SentRecord[]> {
    const records = new Map<string, SentRecord[]>()
    for (const record of this.all) {
      if (record.topic !== topic) continue
      const ofKey = records.get(record.key)
      if (ofKey === undefined) records.set(record.key, [record])
      else ofKey.push(record)
    }
    return records
  }

  /** The last value of each key. */
  latest(topic: string): Map<string, string | null> {
    return new Map(
      this.all.filter((record) => record.topic === topic).map(({ key, value }) => [key, value]),
    )
  }
}
