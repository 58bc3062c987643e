import { partitionForKey } from '../../protocol/murmur2.ts'
import type {
  SinkOptions,
  InternalTopologyBuilder,
} from '../../topology/internal-topology-builder.ts'
import type { StreamPartitioner } from '../../topology/node.ts'
import { GraphNode } from './graph-node.ts'

/** Writes a topic. Java's StreamSinkNode. */
export class StreamSinkNode extends GraphNode {
  readonly #options: SinkOptions

  constructor(name: string, options: SinkOptions) {
    super(name)
    this.#options = options
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    const partitioner = this.#options.partitioner ?? partitionerOfWindows(this.#options)
    topology.addSink(this.name, { ...this.#options, partitioner }, parents)
  }
}

/**
 * All windows of a key go where the key itself goes. Undefined: keys have no windows. Java's
 * WindowedStreamPartitioner.
 */
function partitionerOfWindows({ key: { baseKey } }: SinkOptions): StreamPartitioner | undefined {
  if (baseKey === undefined) return undefined
  return (_topic, key, _value, partitionCount) => partitionForKey(baseKey(key), partitionCount)
}
