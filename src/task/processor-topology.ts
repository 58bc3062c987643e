import { topicOfSink, type Subtopology } from '../topology/topology.ts'
import { ProcessorContext, type ContextTask } from './processor-context.ts'
import type { RecordCollector } from './record-collector.ts'
import { TaskNode, type TaskNodeOptions } from './task-node.ts'

/**
 * The nodes of a sub-topology as one task runs them
 * (org.apache.kafka.streams.processor.internals.ProcessorTopology): connected when it is made, with
 * the user's code once the state is there.
 */
export class ProcessorTopology {
  readonly #subtopology: Subtopology
  readonly #nodes = new Map<string, TaskNode>()

  constructor(subtopology: Subtopology, options: Omit<TaskNodeOptions, 'name' | 'kind'>) {
    this.#subtopology = subtopology
    for (const { name, kind } of subtopology.nodes) {
      this.#nodes.set(name, new TaskNode({ name, kind, ...options }))
    }
    for (const description of subtopology.nodes) {
      if (description.kind === 'source') continue
      const node = this.node(description.name)
      for (const parent of description.parents) this.node(parent).children.push(node)
    }
  }

  node(name: string): TaskNode {
    return this.#nodes.get(name) as TaskNode
  }

  /** Makes the code of all nodes, which may use stores and schedule punctuations. */
  initialize(
    task: ContextTask,
    options: { collector: RecordCollector; applicationId: string },
  ): void {
    const { collector, applicationId } = options
    for (const description of this.#subtopology.nodes) {
      const node = this.node(description.name)
      const stores = description.kind === 'processor' ? description.stores : []
      const context = new ProcessorContext({ applicationId, node, task, stores })
      switch (description.kind) {
        case 'source':
          node.initialize({ process: (key, value) => context.forward(key, value) })
          break
        case 'sink':
          node.initialize(collector.sink(description, topicOfSink(applicationId, description)))
          break
        case 'processor':
          try {
            node.initialize(description.supplier(context))
          } catch (error) {
            throw node.failure(error)
          }
          break
        default:
          description satisfies never
      }
    }
  }

  /**
   * Closes the code of all nodes; false: none has anything to close. The first failure is thrown when
   * all are closed.
   */
  close(): boolean {
    const failures: unknown[] = []
    let hasClosed = false
    for (const node of this.#nodes.values()) {
      try {
        if (node.close()) hasClosed = true
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return hasClosed
  }
}
