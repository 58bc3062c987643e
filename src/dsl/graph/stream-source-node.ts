import { StreamsError } from '../../errors.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { Topic } from '../topic.ts'
import { GraphNode } from './graph-node.ts'

/** Reads topics as a stream. Java's StreamSourceNode. */
export class StreamSourceNode extends GraphNode {
  readonly topicNames: readonly string[]
  readonly #topic: Topic<unknown, unknown>

  /** All topics are read with the serdes and options of the first. */
  constructor(name: string, topics: readonly Topic<unknown, unknown>[]) {
    super(name)
    const [first, ...others] = topics
    if (first === undefined) {
      throw new StreamsError('TOPOLOGY_INVALID', { detail: 'stream() needs at least one topic' })
    }
    for (const other of others) assertReadAlike(first, other)
    this.#topic = first
    this.topicNames = [...new Set(topics.map((topic) => topic.name))]
  }

  /** Refuses a second source of the same topics that would read them in another way. */
  assertMergeable(other: StreamSourceNode): void {
    assertReadAlike(this.#topic, other.#topic)
  }

  override write(topology: InternalTopologyBuilder): void {
    const { key, value, timestamp, offsetReset } = this.#topic
    topology.addSource(this.name, { topics: this.topicNames, key, value, timestamp, offsetReset })
  }
}

function assertReadAlike(first: Topic<unknown, unknown>, other: Topic<unknown, unknown>): void {
  const difference =
    (first.key.name !== other.key.name && 'key serdes') ||
    (first.value.name !== other.value.name && 'value serdes') ||
    (first.timestamp !== other.timestamp && 'timestamp functions') ||
    (first.offsetReset !== other.offsetReset && 'offset resets')
  if (difference === false) return
  const topics = first.name === other.name ? first.name : `${first.name} and ${other.name}`
  const detail = `one source reads ${topics}, but it is declared with different ${difference}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
