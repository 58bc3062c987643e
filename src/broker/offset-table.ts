/** What a group has committed for a partition. */
export interface CommittedOffset {
  readonly offset: number
  /** -1 when it was not told. */
  readonly leaderEpoch: number
  readonly metadata: string
  readonly committedAtMs: number
}

/** An offset with the place of its record in the log: of two records of a key, the later one holds. */
export interface StoredOffset extends CommittedOffset {
  readonly position: number
}

/** A partition that a commit or a deletion is about. */
export interface OffsetKey {
  readonly topic: string
  readonly partition: number
}

/** Offsets by group, topic and partition, in memory. */
export class OffsetTable {
  readonly #groups = new Map<string, Map<string, Map<number, StoredOffset>>>()

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  groupIds(): string[] {
    return [...this.#groups.keys()]
  }

  has(groupId: string): boolean {
    return this.#groups.has(groupId)
  }

  get(groupId: string, { topic, partition }: OffsetKey): StoredOffset | undefined {
    return this.#groups.get(groupId)?.get(topic)?.get(partition)
  }

  /** The partitions of which there is an offset of the group. */
  keys(groupId: string): OffsetKey[] {
    const keys: OffsetKey[] = []
    for (const [topic, partitions] of this.#groups.get(groupId) ?? [])
      for (const partition of partitions.keys()) keys.push({ topic, partition })
    return keys
  }

  set(groupId: string, { topic, partition }: OffsetKey, stored: StoredOffset): void {
    let topics = this.#groups.get(groupId)
    if (topics === undefined) this.#groups.set(groupId, (topics = new Map()))
    let partitions = topics.get(topic)
    if (partitions === undefined) topics.set(topic, (partitions = new Map()))
    partitions.set(partition, stored)
  }

  remove(groupId: string, { topic, partition }: OffsetKey): void {
    const topics = this.#groups.get(groupId)
    const partitions = topics?.get(topic)
    partitions?.delete(partition)
    if (partitions?.size === 0) topics?.delete(topic)
    if (topics?.size === 0) this.#groups.delete(groupId)
  }

  /** Takes over what is newer in another table. */
  merge(other: OffsetTable): void {
    for (const groupId of other.groupIds()) {
      for (const key of other.keys(groupId)) {
        const theirs = other.get(groupId, key)
        if (theirs === undefined) continue
        const ours = this.get(groupId, key)
        if (ours === undefined || ours.position < theirs.position) this.set(groupId, key, theirs)
      }
    }
  }
}
