/** A partition of a topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** Partitions, each once, in the order in which they came. Does not change: `with` makes a new one. */
export class PartitionSet implements Iterable<TopicPartition> {
  static readonly empty = new PartitionSet(new Map())
  readonly #byTopic: ReadonlyMap<string, ReadonlySet<number>>

  private constructor(byTopic: ReadonlyMap<string, ReadonlySet<number>>) {
    this.#byTopic = byTopic
  }

  get byTopic(): ReadonlyMap<string, ReadonlySet<number>> {
    return this.#byTopic
  }

  has({ topic, partition }: TopicPartition): boolean {
    return this.#byTopic.get(topic)?.has(partition) ?? false
  }

  hasAll(partitions: readonly TopicPartition[]): boolean {
    return partitions.every((one) => this.has(one))
  }

  with(partitions: readonly TopicPartition[]): PartitionSet {
    const byTopic = new Map<string, Set<number>>()
    for (const { topic, partition } of [...this, ...partitions]) {
      const known = byTopic.get(topic)
      if (known === undefined) byTopic.set(topic, new Set([partition]))
      else known.add(partition)
    }
    return new PartitionSet(byTopic)
  }

  *[Symbol.iterator](): Iterator<TopicPartition> {
    for (const [topic, partitions] of this.#byTopic)
      for (const partition of partitions) yield { topic, partition }
  }
}
