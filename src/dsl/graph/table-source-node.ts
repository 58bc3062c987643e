import { StreamsError } from '../../errors.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { StoreNode } from '../../topology/node.ts'
import type { Materialized } from '../materialized.ts'
import type { Topic } from '../topic.ts'
import type { BuildPlan } from './build-plan.ts'
import { GraphNode } from './graph-node.ts'

/** Reads a topic as a table. Java's TableSourceNode. */
export class TableSourceNode extends GraphNode {
  readonly #source: string
  readonly #topic: Topic<unknown, unknown>
  readonly #supplier: () => NodeSupplier
  readonly #store: () => Materialized | undefined

  constructor(
    name: string,
    options: {
      source: string
      topic: Topic<unknown, unknown>
      supplier: () => NodeSupplier
      /** Asked when the topology is built: then it is known whether a step below needs it. */
      store: () => Materialized | undefined
    },
  ) {
    super(name)
    this.#source = options.source
    this.#topic = options.topic
    this.#supplier = options.supplier
    this.#store = options.store
  }

  override write(
    topology: InternalTopologyBuilder,
    _parents: readonly string[],
    { reusesSourceTopics }: BuildPlan,
  ): void {
    const { name, key, value, timestamp, offsetReset } = this.#topic
    topology.addSource(this.#source, { topics: [name], key, value, timestamp, offsetReset })
    topology.addProcessor(this.name, this.#supplier(), [this.#source])
    const store = this.#store()?.storeNode()
    if (store === undefined) return
    if (reusesSourceTopics) assertSameSerdes(this.#topic, store)
    const sourceTopic = reusesSourceTopics ? name : undefined
    topology.addStore({ ...store, sourceTopic }, [this.name])
  }
}

/** What is restored are the bytes of the topic. */
function assertSameSerdes({ name, key, value }: Topic<unknown, unknown>, store: StoreNode): void {
  const { descriptor } = store
  if (descriptor.key.name === key.name && descriptor.value.name === value.name) return
  const detail = `the table of ${name} cannot use that topic as its changelog: its store ${descriptor.name} has other serdes`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
