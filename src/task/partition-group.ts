/**
 * The input partitions of one task (org.apache.kafka.streams.processor.internals.PartitionGroup):
 * hands out the record with the earliest timestamp next, and keeps the stream time.
 *
 * A record can only be the earliest of all if every partition shows its head. While one is empty, the
 * group therefore waits as long as the broker is known to hold more for it, or what it holds is not
 * known; when it is caught up, for `maxTaskIdleMs` more.
 */
import { BinaryHeap } from '../base/heap.ts'
import type { RecordQueue } from './record-queue.ts'

export interface PartitionGroupOptions {
  readonly queues: readonly RecordQueue[]
  /** Negative: never wait. 0: wait only for what is known to be there. */
  readonly maxTaskIdleMs: number
  /**
   * Records that the broker has beyond those that were added; undefined: not known yet. Asked only
   * for a partition that is empty while another is not.
   */
  readonly lag: (topic: string, partition: number) => number | undefined
  /** Milliseconds, for idling. */
  readonly monotonic: () => number
}

/** Merges the queues of a task by time. */
export class PartitionGroup {
  readonly #queues: RecordQueue[]
  /** The largest timestamp that was handed out, -1 before the first. */
  streamTime = -1

  readonly #maxTaskIdleMs: number
  readonly #lag: (topic: string, partition: number) => number | undefined
  readonly #monotonic: () => number
  /** Queues with a head. */
  readonly #heads = new BinaryHeap<RecordQueue>((a, b) => a.headTimestamp - b.headTimestamp)
  /** Queues that got bytes while they were empty, in the order of their arrival. */
  readonly #filled: RecordQueue[] = []
  /** Handed out last; not in the heap, where it goes only if there is another one to compare with. */
  #current: RecordQueue | undefined
  #isReady = false
  /** When idling for an empty partition ends. */
  readonly #idleDeadlines = new Map<RecordQueue, number>()

  constructor(options: PartitionGroupOptions) {
    this.#queues = [...options.queues]
    this.#maxTaskIdleMs = options.maxTaskIdleMs
    this.#lag = options.lag
    this.#monotonic = options.monotonic
  }

  get queues(): readonly RecordQueue[] {
    return this.#queues
  }

  /** One more partition is read. */
  addQueue(queue: RecordQueue): void {
    this.#queues.push(queue)
    this.#isReady = false
  }

  /** A partition is read no more: what waits of it is forgotten. */
  removeQueue(queue: RecordQueue): void {
    this.#queues.splice(this.#queues.indexOf(queue), 1)
    this.#heads.remove(queue)
    const filled = this.#filled.indexOf(queue)
    if (filled >= 0) this.#filled.splice(filled, 1)
    if (this.#current === queue) this.#current = undefined
    this.#idleDeadlines.delete(queue)
    queue.clear()
    this.#isReady = false
  }

  /** Continues from the partition times that an earlier owner committed. */
  restoreTimes(): void {
    for (const { partitionTime } of this.#queues) {
      if (partitionTime > this.streamTime) this.streamTime = partitionTime
    }
  }

  add(queue: RecordQueue, records: Buffer, startOffset: number): void {
    const isCurrent = queue === this.#current
    if (isCurrent ? queue.bufferedRecords === 0 : !queue.mayHaveHead) {
      // One whose last record was taken has its turn after those that were filled in the meantime.
      if (isCurrent) this.#current = undefined
      this.#filled.push(queue)
    }
    queue.add(records, startOffset)
    this.#isReady = false
  }

  /** Lags may have changed: look again whether empty partitions hold the others up. */
  beginTurn(): void {
    this.#isReady = false
  }

  /**
   * The queue whose head is to be processed now, or undefined: nothing, or not yet. Call `take()` on
   * it when that is done, before the next call.
   *
   * @throws what {@link RecordQueue.advance} throws.
   */
  next(): RecordQueue | undefined {
    const queue = this.#earliest()
    if (queue === undefined) return undefined
    if (!this.#isReady) {
      this.#isReady = this.#checkReady()
      if (!this.#isReady) return undefined
    }
    if (queue !== this.#current) {
      this.#heads.pop()
      this.#current = queue
    }
    if (queue.headTimestamp > this.streamTime) this.streamTime = queue.headTimestamp
    return queue
  }

  #earliest(): RecordQueue | undefined {
    const current = this.#current
    if (current !== undefined) {
      if (!current.advance()) this.#isReady = false
      else if (this.#heads.size === 0 && this.#filled.length === 0) return current
      else this.#heads.push(current)
      this.#current = undefined
    }
    let filled = this.#filled[0]
    while (filled !== undefined) {
      if (filled.advance()) this.#heads.push(filled)
      this.#filled.shift()
      filled = this.#filled[0]
    }
    return this.#heads.peek()
  }

  #checkReady(): boolean {
    if (this.#maxTaskIdleMs < 0) return true
    if (this.#heads.size === this.#queues.length) {
      this.#idleDeadlines.clear()
      return true
    }
    for (const queue of this.#queues) {
      if (queue.hasHead) {
        this.#idleDeadlines.delete(queue)
        continue
      }
      const lag = this.#lag(queue.topic, queue.partition)
      if (lag === undefined || lag > 0) {
        this.#idleDeadlines.delete(queue)
        return false
      }
      if (this.#maxTaskIdleMs > 0 && !this.#hasIdled(queue)) return false
    }
    return true
  }

  #hasIdled(queue: RecordQueue): boolean {
    const now = this.#monotonic()
    const deadline = this.#idleDeadlines.get(queue)
    if (deadline !== undefined) return now >= deadline
    this.#idleDeadlines.set(queue, now + this.#maxTaskIdleMs)
    return false
  }

  /** Forgets all records that wait. */
  clear(): void {
    for (const queue of this.#queues) queue.clear()
    this.#heads.clear()
    this.#filled.length = 0
    this.#current = undefined
    this.#idleDeadlines.clear()
  }
}
