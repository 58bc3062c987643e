import { partitionKey, type PartitionKey } from '../client/offsets.ts'
import type { Gauge } from '../metrics/registry.ts'
import type { GlobalInput } from '../task/global-inputs.ts'
import { globalTaskId } from '../task/global-task.ts'
import type { RestoreLag, RestoreProgress } from './changelog-reader.ts'

interface Restore {
  readonly input: GlobalInput
  readonly endOffset: number
  restored: number
  isDone: boolean
}

/**
 * How far the partitions of global topics are on their way to the ends that the topics had when the
 * restoration began. As with changelogs everything is counted by offset: see ChangelogReader.
 */
export class GlobalRestore {
  readonly #restores = new Map<PartitionKey, Restore>()
  readonly #remaining: Gauge
  readonly #onProgress: (progress: RestoreProgress) => void

  constructor(options: { remaining: Gauge; onProgress: (progress: RestoreProgress) => void }) {
    this.#remaining = options.remaining
    this.#onProgress = options.onProgress
  }

  /** Begins with a partition at an offset. */
  begin(input: GlobalInput, offset: number, endOffset: number): void {
    const restore = { input, endOffset, restored: 0, isDone: false }
    this.#restores.set(partitionKey(input.topic, input.partition), restore)
    this.#report('start', restore, offset)
    this.#move(restore, offset)
  }

  /** So many records were applied, and the partition is at this offset. */
  applied(topic: string, partition: number, records: number, offset: number): void {
    const restore = this.#restores.get(partitionKey(topic, partition))
    if (restore === undefined || restore.isDone) return
    restore.restored += records
    this.#report('batch', restore, offset)
    this.#move(restore, offset)
  }

  #move(restore: Restore, offset: number): void {
    if (offset >= restore.endOffset) {
      restore.isDone = true
      this.#report('end', restore, offset)
    }
    this.#measure()
  }

  /** True: all partitions have arrived. */
  get isDone(): boolean {
    for (const { isDone } of this.#restores.values()) if (!isDone) return false
    return true
  }

  /** Ends with those partitions that have not arrived. */
  suspend(): void {
    for (const restore of this.#restores.values()) {
      if (!restore.isDone) this.#report('suspended', restore, restore.input.position ?? 0)
    }
    this.#restores.clear()
    this.#measure()
  }

  /** How far each partition has to go. */
  lags(): RestoreLag[] {
    return [...this.#restores.values()].map(({ input, endOffset }) => {
      return { store: input.store, offset: input.position ?? 0, endOffset }
    })
  }

  #report(phase: RestoreProgress['phase'], restore: Restore, offset: number): void {
    const { input, endOffset, restored } = restore
    const { store, topic, partition } = input
    const taskId = globalTaskId
    this.#onProgress({ phase, store, taskId, topic, partition, offset, endOffset, restored })
  }

  #measure(): void {
    let remaining = 0
    for (const { input, endOffset, isDone } of this.#restores.values()) {
      if (!isDone) remaining += Math.max(0, endOffset - (input.position ?? 0))
    }
    this.#remaining.set(remaining)
  }
}
