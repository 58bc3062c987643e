import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { requiredSerde } from '../materialized.ts'
import type { AnySerde } from '../topic.ts'
import type { RepartitionNames } from '../naming.ts'
import { kstreamFilter } from '../operators/kstream-filter.ts'
import { GraphNode } from './graph-node.ts'

const hasKey = (_value: unknown, key: unknown): boolean => key !== null && key !== undefined

/**
 * Writes a stream to a topic of the engine and reads it back, so that equal keys meet in one
 * partition. Records without a key are left out. Java's OptimizableRepartitionNode.
 */
export class RepartitionNode extends GraphNode {
  readonly #names: RepartitionNames
  readonly #key: AnySerde | undefined
  readonly #value: AnySerde | undefined
  readonly #step: string

  /** `step` names the operator that needs the topic, for messages. */
  constructor(
    names: RepartitionNames,
    options: {
      key: AnySerde | undefined
      value: AnySerde | undefined
      step: string
    },
  ) {
    super(names.source)
    this.#names = names
    this.#key = options.key
    this.#value = options.value
    this.#step = options.step
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    const { topic, filter, sink, source } = this.#names
    const step = `the repartition topic of ${this.#step}`
    const key = requiredSerde(this.#key, 'key', step)
    const value = requiredSerde(this.#value, 'value', step)
    topology.addInternalTopic({ name: topic })
    topology.addProcessor(filter, kstreamFilter(hasKey, 'keep'), parents)
    topology.addSink(sink, { topic, key, value }, [filter])
    topology.addSource(source, { topics: [topic], key, value })
  }
}
