import type { StreamPartitioner } from '../../topology/node.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { requiredSerde } from '../materialized.ts'
import type { AnySerde } from '../topic.ts'
import type { RepartitionNames } from '../naming.ts'
import { kstreamFilter } from '../operators/kstream-filter.ts'
import type { BuildPlan } from './build-plan.ts'
import { GraphNode } from './graph-node.ts'

const hasKey = (_value: unknown, key: unknown): boolean => key !== null && key !== undefined
const always = (): boolean => true

export interface RepartitionOptions {
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
  /** The operator that needs the topic, for messages. */
  readonly step: string
  /** The user asked for the topic: it stays where it is. Default false. */
  readonly isExplicit?: boolean
  /** Default: as many as the widest topic above. */
  readonly partitionCount?: number | undefined
  /** Default: Kafka's choice for the key. */
  readonly partitioner?: StreamPartitioner | undefined
}

/**
 * Writes a stream to a topic of the engine and reads it back, so that equal keys meet in one
 * partition. Records without a key are left out, unless a step below has a use for them. Java's
 * OptimizableRepartitionNode, or UnoptimizableRepartitionNode when the user asked for it.
 */
export class RepartitionNode extends GraphNode {
  readonly names: RepartitionNames
  readonly options: RepartitionOptions

  constructor(names: RepartitionNames, options: RepartitionOptions) {
    super(names.source)
    this.names = names
    this.options = options
  }

  override write(
    topology: InternalTopologyBuilder,
    parents: readonly string[],
    plan: BuildPlan,
  ): void {
    const { topic, filter, sink, source } = this.names
    const { partitionCount, partitioner } = this.options
    const step = `the repartition topic of ${this.options.step}`
    const key = requiredSerde(this.options.key, 'key', step)
    const value = requiredSerde(this.options.value, 'value', step)
    const keeps = plan.keepingNullKeys.has(this) ? always : hasKey
    topology.addInternalTopic({ name: topic, partitionCount })
    topology.addProcessor(filter, kstreamFilter(keeps, 'keep'), parents)
    topology.addSink(sink, { topic, key, value, partitioner }, [filter])
    topology.addSource(source, { topics: [topic], key, value })
  }
}
