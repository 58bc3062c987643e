import type {
  InternalTopologyBuilder,
  SinkOptions,
  SourceOptions,
} from '../../topology/internal-topology-builder.ts'
import { GraphNode } from './graph-node.ts'

/** Writes a topic that the engine makes for itself. */
export class InternalSinkNode extends GraphNode {
  readonly #topic: string
  readonly #options: () => Omit<SinkOptions, 'topic'>

  /** The serdes are asked for when the topology is built: then it is known which are missing. */
  constructor(name: string, topic: string, options: () => Omit<SinkOptions, 'topic'>) {
    super(name)
    this.#topic = topic
    this.#options = options
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    topology.addInternalTopic({ name: this.#topic })
    topology.addSink(this.name, { ...this.#options(), topic: this.#topic }, parents)
  }
}

/** Reads such a topic. */
export class InternalSourceNode extends GraphNode {
  readonly #topic: string
  readonly #serdes: () => Pick<SourceOptions, 'key' | 'value'>

  constructor(name: string, topic: string, serdes: () => Pick<SourceOptions, 'key' | 'value'>) {
    super(name)
    this.#topic = topic
    this.#serdes = serdes
  }

  override write(topology: InternalTopologyBuilder): void {
    topology.addSource(this.name, { ...this.#serdes(), topics: [this.#topic] })
  }
}
