import type {
  SinkOptions,
  InternalTopologyBuilder,
} from '../../topology/internal-topology-builder.ts'
import { GraphNode } from './graph-node.ts'

/** Writes a topic. Java's StreamSinkNode. */
export class StreamSinkNode extends GraphNode {
  readonly #options: SinkOptions

  constructor(name: string, options: SinkOptions) {
    super(name)
    this.#options = options
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    topology.addSink(this.name, this.#options, parents)
  }
}
