import { assert } from '../base/assert.ts'
import type { RecordQueue } from './record-queue.ts'

/** One partition of a global topic. */
export interface GlobalInput {
  readonly store: string
  readonly topic: string
  readonly partition: number
  /** The next offset to read; undefined: nothing of it is in the store, begin with the first. */
  readonly position: number | undefined
}

/** The same while it is read. */
export interface OpenInput extends GlobalInput {
  position: number | undefined
  readonly queue: RecordQueue
}

/** The partitions of all global topics, and which of them have moved since a checkpoint. */
export class GlobalInputs {
  readonly #inputs: OpenInput[] = []
  readonly #moved = new Set<OpenInput>()

  /** In the order in which they were added. */
  get all(): readonly GlobalInput[] {
    return this.#inputs
  }

  add(input: OpenInput): void {
    this.#inputs.push(input)
  }

  /** Partitions of a topic that are here. */
  countOf(topic: string): number {
    return this.#inputs.filter((input) => input.topic === topic).length
  }

  of(topic: string, partition: number): OpenInput {
    const input = this.#inputs.find((one) => one.topic === topic && one.partition === partition)
    assert(input !== undefined, `${topic}-${partition} is a partition of a global topic`)
    return input
  }

  move(input: OpenInput, position: number | undefined): void {
    if (position === undefined || position === input.position) return
    input.position = position
    this.#moved.add(input)
  }

  /** Some have moved since they were taken. */
  get haveMoved(): boolean {
    return this.#moved.size > 0
  }

  /** Those that have moved since the last call. */
  takeMoved(): OpenInput[] {
    const moved = [...this.#moved]
    this.#moved.clear()
    return moved
  }
}
