import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import { describeAsJson } from './describe-json.ts'
import { describeAsMermaid } from './describe-mermaid.ts'
import { arrange, type Described } from './described-node.ts'
import { copiedHashSetOrder, hashSetOrder, type JavaTreeSet } from './java-order.ts'
import type { SinkNode, SourceNode } from './node.ts'
import type { DescribeOptions, GlobalSubtopology, Subtopology, Topology } from './topology.ts'

/** What of a topology is described. */
export type DescribedTopology = Pick<Topology, 'subtopologies' | 'globalStores'>

/** A topology for people and tools. Throws `TOPOLOGY_INVALID` for a format that there is not. */
export function describeTopology(
  topology: DescribedTopology,
  { format = 'text' }: DescribeOptions = {},
): string {
  switch (format) {
    case 'text':
      return describeAsText(topology)
    case 'json':
      return describeAsJson(topology)
    case 'mermaid':
      return describeAsMermaid(topology)
    default:
      throw new StreamsError('TOPOLOGY_INVALID', {
        detail: `describe() knows the formats text, json and mermaid, not ${shownValue(format satisfies never)}`,
      })
  }
}

/** The text of Java's TopologyDescription#toString, byte for byte. */
function describeAsText({ subtopologies, globalStores }: DescribedTopology): string {
  const texts = [
    ...subtopologies.map((one) => ({ id: one.id, text: describeSubtopology(one) })),
    ...globalStores.map((one) => ({ id: one.id, text: describeGlobalStore(one) })),
  ]
  texts.sort((left, right) => left.id - right.id)
  return `Topologies:\n ${texts.map(({ text }) => text).join('')}`
}

function describeSubtopology({ id, nodes }: Subtopology): string {
  const texts = arrange(nodes).map((described) => `    ${describeNode(described)}\n`)
  return `  Sub-topology: ${id}\n${texts.join('')}\n`
}

function describeGlobalStore({ id, source, processor }: GlobalSubtopology): string {
  const texts = arrange([source, processor]).map((described) => `    ${describeNode(described)}\n`)
  return `  Sub-topology: ${id} for global store (will not generate tasks)\n${texts.join('')}`
}

function describeNode({ node, predecessors, successors }: Described): string {
  const out = `\n      --> ${names(successors)}`
  const inward = `\n      <-- ${names(predecessors)}`
  switch (node.kind) {
    case 'source':
      return `Source: ${node.name} (topics: ${describeTopics(node)})${out}`
    case 'processor': {
      const stores = copiedHashSetOrder(hashSetOrder(node.stores))
      return `Processor: ${node.name} (stores: [${stores.join(', ')}])${out}${inward}`
    }
    case 'sink':
      return `Sink: ${node.name} (${describeTarget(node.topic)})${inward}`
    default:
      throw new TypeError(node satisfies never)
  }
}

function describeTopics({ topics, pattern }: SourceNode): string {
  return pattern === undefined ? `[${copiedHashSetOrder(topics).join(', ')}]` : pattern.text
}

function describeTarget(topic: SinkNode['topic']): string {
  return typeof topic === 'string' ? `topic: ${topic}` : `extractor class: ${topic.name}`
}

function names(nodes: JavaTreeSet<Described>): string {
  const items = nodes.items()
  return items.length === 0 ? 'none' : items.map(({ node }) => node.name).join(', ')
}
