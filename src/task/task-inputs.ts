import { assert } from '../base/assert.ts'
import type { SourceNode } from '../topology/node.ts'
import { topicsOfSource, type Subtopology } from '../topology/topology.ts'
import { PartitionGroup, type PartitionGroupOptions } from './partition-group.ts'
import type { ProcessorMetadata } from './processor-metadata.ts'
import type { ProcessorTopology } from './processor-topology.ts'
import { RecordQueue, type RecordQueueOptions } from './record-queue.ts'
import type { CommittedOffset, TaskInput } from './task.ts'
import { decodeMetadata, encodeMetadata } from './topic-partition-metadata.ts'

export interface TaskInputsOptions
  extends
    Omit<PartitionGroupOptions, 'queues'>,
    Omit<RecordQueueOptions, 'topic' | 'source' | 'node'> {
  readonly applicationId: string
  readonly subtopology: Subtopology
  /** Where records go. */
  readonly topology: ProcessorTopology
  /** Partitions of a source topic: the task reads those topics that have its partition number. */
  readonly partitionCount: (topic: string) => number
}

/** The partitions that one task reads: a queue for each, merged by time, and how far they were read. */
export class TaskInputs {
  readonly group: PartitionGroup
  readonly #options: TaskInputsOptions
  readonly #queues = new Map<string, RecordQueue>()
  #inputs: readonly TaskInput[]

  constructor(options: TaskInputsOptions) {
    this.#options = options
    this.group = new PartitionGroup({ ...options, queues: [] })
    this.#inputs = []
    this.update(options.subtopology)
  }

  get inputs(): readonly TaskInput[] {
    return this.#inputs
  }

  /** Undefined: the task does not read that partition. */
  queue(topic: string, partition: number): RecordQueue | undefined {
    return partition === this.#options.partition ? this.#queues.get(topic) : undefined
  }

  /** See {@link StreamTask.updateInputs}. */
  update({ sources }: Subtopology): readonly TaskInput[] {
    const { applicationId, partition, partitionCount } = this.#options
    const added: TaskInput[] = []
    this.#inputs = sources.flatMap((source) =>
      topicsOfSource(applicationId, source)
        // What is read stays: a broker that is behind may tell of fewer, and what was read since the last
        // commit, and has gone out, would be left out of the next one.
        .filter((topic) => this.#queues.has(topic) || partitionCount(topic) > partition)
        .map((topic): TaskInput => {
          const input = { topic, partition, offsetReset: source.offsetReset }
          if (this.#queues.has(topic)) return input
          this.#add(topic, source)
          added.push(input)
          return input
        }),
    )
    const read = new Set(this.#inputs.map(({ topic }) => topic))
    for (const [topic, queue] of this.#queues) if (!read.has(topic)) this.#remove(topic, queue)
    return added
  }

  #add(topic: string, source: SourceNode): void {
    const node = this.#options.topology.node(source.name)
    const queue = new RecordQueue({ ...this.#options, topic, source, node })
    this.#queues.set(topic, queue)
    this.group.addQueue(queue)
  }

  #remove(topic: string, queue: RecordQueue): void {
    this.#queues.delete(topic)
    this.group.removeQueue(queue)
  }

  /** Takes up where the group left off; offsets of other partitions are passed over. */
  takeCommitted(committed: readonly CommittedOffset[], metadata: ProcessorMetadata): void {
    for (const { topic, partition, offset, leaderEpoch = -1, metadata: text } of committed) {
      const queue = this.queue(topic, partition)
      if (queue === undefined) continue
      queue.committedPosition = offset
      queue.leaderEpoch = leaderEpoch
      const { partitionTime, processors } = decodeMetadata(text)
      queue.partitionTime = partitionTime
      metadata.merge(processors)
    }
    this.group.restoreTimes()
  }

  add(topic: string, partition: number, records: Buffer, startOffset: number): void {
    const queue = this.queue(topic, partition)
    assert(queue !== undefined, `task ${this.#options.task} reads ${topic}-${partition}`)
    this.group.add(queue, records, startOffset)
  }

  /** Bytes of fetched batches that wait. */
  bufferedBytes(): number {
    let bytes = 0
    for (const queue of this.group.queues) bytes += queue.bufferedBytes
    return bytes
  }

  /** True: something was read since the last commit. */
  get hasMoved(): boolean {
    return this.group.queues.some(hasMoved)
  }

  /** What a commit has to write: of all partitions that were read, with what processors keep. */
  offsets(metadata: ProcessorMetadata): CommittedOffset[] {
    const offsets: CommittedOffset[] = []
    for (const queue of this.group.queues) {
      const { topic, partition, position, leaderEpoch, partitionTime } = queue
      // What processors keep goes with every partition: whichever is read back later has it.
      if (position === undefined || !(hasMoved(queue) || metadata.needsCommit)) continue
      offsets.push({
        topic,
        partition,
        offset: position,
        ...(leaderEpoch >= 0 && { leaderEpoch }),
        metadata: encodeMetadata(partitionTime, metadata),
      })
    }
    return offsets
  }

  /** These offsets are committed. */
  committed(offsets: readonly CommittedOffset[]): void {
    for (const { topic, partition, offset } of offsets) {
      const queue = this.queue(topic, partition)
      if (queue !== undefined) queue.committedPosition = offset
    }
  }
}

function hasMoved({ position, committedPosition }: RecordQueue): boolean {
  return position !== undefined && position !== committedPosition
}
