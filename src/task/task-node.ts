import type { NodeProcessor } from '../processor/processor.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { RecordContext } from '../store/state-store.ts'
import { finalError, type ErrorHandlers } from './error-handlers.ts'
import { processorFailure } from './processor-failure.ts'

export interface TaskNodeOptions {
  readonly name: string
  /** About what a source or a sink throws, the nearest processor above is asked, as in Java. */
  readonly kind: 'source' | 'processor' | 'sink'
  readonly task: TaskId
  readonly record: RecordContext
  /** Decide what a failure of a processor means. */
  readonly handlers: ErrorHandlers
}

/**
 * A node of the topology as one task runs it (org.apache.kafka.streams.processor.internals.
 * ProcessorNode): the user's code and the nodes below.
 */
export class TaskNode {
  readonly name: string
  /** In the order in which the topology connected them. */
  readonly children: TaskNode[] = []
  readonly #kind: TaskNodeOptions['kind']
  readonly #task: TaskId
  readonly #record: RecordContext
  readonly #handlers: ErrorHandlers
  #processor: NodeProcessor = notInitialized
  #isClosed = false

  constructor(options: TaskNodeOptions) {
    this.name = options.name
    this.#kind = options.kind
    this.#task = options.task
    this.#record = options.record
    this.#handlers = options.handlers
  }

  initialize(processor: NodeProcessor): void {
    this.#processor = processor
  }

  process(key: unknown, value: unknown): void {
    try {
      this.#processor.process(key, value)
    } catch (error) {
      this.#failed(error, { key, value })
    }
  }

  /** Returns when the record is to be passed over. */
  #failed(error: unknown, record: { key: unknown; value: unknown }): void {
    switch (this.#kind) {
      case 'source':
        throw error
      case 'sink':
        throw this.#handlers.sinkFailure(this.name, error)
      case 'processor':
        this.#handlers.failed(this.name, error, record)
        break
      default:
        throw new TypeError(this.#kind satisfies never)
    }
  }

  /** Runs work of this node that comes later than its record, whose context is there again. */
  run(work: () => void, { key, value }: { key: unknown; value: unknown }): void {
    try {
      work()
    } catch (error) {
      this.#failed(error, { key, value })
    }
  }

  /** What this node threw, with its name and the record; see {@link processorFailure}. */
  failure(error: unknown): unknown {
    return processorFailure(error, { node: this.name, task: this.#task, record: this.#record })
  }

  /** As {@link TaskNode.failure}, and no handler is asked about it. */
  finalFailure(error: unknown): unknown {
    return finalError(this.failure(error))
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
