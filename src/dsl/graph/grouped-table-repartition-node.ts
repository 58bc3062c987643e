import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { changeSerde } from '../change-serde.ts'
import { requiredSerde } from '../materialized.ts'
import type { AnySerde } from '../topic.ts'
import { GraphNode } from './graph-node.ts'

/**
 * Writes the changes of a grouped table to a topic of the engine and reads them back, so that the rows
 * of a group meet in one partition. Java's GroupedTableOperationRepartitionNode.
 */
export class GroupedTableRepartitionNode extends GraphNode {
  readonly #options: {
    readonly topic: string
    readonly sink: string
    readonly key: AnySerde | undefined
    readonly value: AnySerde | undefined
    /** The operator that needs the topic, for messages. */
    readonly step: string
  }

  constructor(
    source: string,
    options: {
      topic: string
      sink: string
      key: AnySerde | undefined
      value: AnySerde | undefined
      step: string
    },
  ) {
    super(source)
    this.#options = options
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    const { topic, sink, step } = this.#options
    const where = `the repartition topic of ${step}`
    const key = requiredSerde(this.#options.key, 'key', where)
    const value: AnySerde = changeSerde(requiredSerde(this.#options.value, 'value', where))
    topology.addInternalTopic({ name: topic })
    topology.addSink(sink, { topic, key, value }, parents)
    topology.addSource(this.name, { topics: [topic], key, value })
  }
}
