import { StreamsError } from '../../errors.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { GraphNode } from './graph-node.ts'
import type { StoreOfStep } from './processor-graph-node.ts'

/** Where a join lets records wait for late changes of its table. */
export interface JoinBuffer {
  readonly store: StoreOfStep
  /** Milliseconds of stream time. */
  readonly grace: number
}

/** Joins a stream with a table, whose stores it reads. Java's StreamTableJoinNode. */
export class StreamTableJoinNode extends GraphNode {
  readonly #supplier: NodeSupplier
  readonly #storeNames: readonly string[]
  readonly #buffer: JoinBuffer | undefined

  constructor(
    name: string,
    options: {
      supplier: NodeSupplier
      storeNames: readonly string[]
      buffer: JoinBuffer | undefined
    },
  ) {
    super(name)
    this.#supplier = options.supplier
    this.#storeNames = options.storeNames
    this.#buffer = options.buffer
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    topology.addProcessor(this.name, this.#supplier, parents)
    if (this.#buffer !== undefined) {
      for (const store of this.#storeNames) this.#assertHistory(topology, store, this.#buffer)
      topology.addStore(this.#buffer.store.storeNode(), [this.name])
    }
    topology.connectProcessorAndStores(this.name, this.#storeNames)
  }

  /** A record that has waited is joined with what was true at its time: the table must still know it. */
  #assertHistory(topology: InternalTopologyBuilder, store: string, { grace }: JoinBuffer): void {
    const descriptor = topology.descriptorOf(store)
    if (descriptor.kind !== 'versioned') {
      const detail = `the join ${this.name} has a grace, so its table must be in a versioned store; ${store} is a ${descriptor.kind} store`
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    const { historyRetention } = descriptor
    if (historyRetention >= grace) return
    const detail = `the join ${this.name} has a grace of ${grace} ms, and the store ${store} keeps only ${historyRetention} ms of history`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
}
