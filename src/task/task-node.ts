import type { NodeProcessor } from '../processor/processor.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { RecordContext } from '../store/state-store.ts'
import { processorFailure } from './processor-failure.ts'

/**
 * A node of the topology as one task runs it (org.apache.kafka.streams.processor.internals.
 * ProcessorNode): the user's code and the nodes below.
 */
export class TaskNode {
  readonly name: string
  /** In the order in which the topology connected them. */
  readonly children: TaskNode[] = []
  readonly #task: TaskId
  readonly #record: RecordContext
  #processor: NodeProcessor = notInitialized
  #isClosed = false

  constructor(options: { name: string; task: TaskId; record: RecordContext }) {
    this.name = options.name
    this.#task = options.task
    this.#record = options.record
  }

  initialize(processor: NodeProcessor): void {
    this.#processor = processor
  }

  process(key: unknown, value: unknown): void {
    try {
      this.#processor.process(key, value)
    } catch (error) {
      throw this.failure(error)
    }
  }

  /** Runs work of this node that comes later than its record, whose context is there again. */
  run(work: () => void): void {
    try {
      work()
    } catch (error) {
      throw this.failure(error)
    }
  }

  /** What this node threw, with its name and the record; see {@link processorFailure}. */
  failure(error: unknown): unknown {
    return processorFailure(error, { node: this.name, task: this.#task, record: this.#record })
  }

  /**
   * Closes the user's code, at most once; false: it has nothing to close. The node still processes:
   * the commit that follows may flush rows through it.
   */
  close(): boolean {
    const processor = this.#processor
    if (this.#isClosed || processor.close === undefined) return false
    this.#isClosed = true
    try {
      processor.close()
    } catch (error) {
      throw this.failure(error)
    }
    return true
  }
}

const notInitialized: NodeProcessor = {
  process() {
    throw new Error('the node is not initialized')
  },
}
