import type { DescribedTopology } from './describe.ts'
import { arrange, type Described } from './described-node.ts'
import { copiedHashSetOrder, hashSetOrder, type JavaTreeSet } from './java-order.ts'
import type { RepartitionTopic, StoreNode } from './node.ts'

/**
 * A topology as JSON: sub-topologies with their nodes (in the order of the text), stores and
 * repartition topics, and global stores. Absent are things that do not apply, such as the topics of a
 * source that has a pattern.
 */
export function describeAsJson({ subtopologies, globalStores }: DescribedTopology): string {
  const described = {
    subtopologies: subtopologies.map(({ id, nodes, stores, repartitionSources }) => ({
      id,
      nodes: arrange(nodes).map(describeNode),
      stores: stores.map(describeStore),
      repartitionTopics: repartitionSources.map(describeRepartition),
    })),
    globalStores: globalStores.map(({ id, source, processor, store }) => ({
      id,
      nodes: arrange([source, processor]).map(describeNode),
      store: describeStore(store),
    })),
  }
  return `${JSON.stringify(described, undefined, 2)}\n`
}

function describeNode({ node, predecessors, successors }: Described): object {
  const [above, below] = [namesOf(predecessors), namesOf(successors)]
  const { kind, name } = node
  switch (kind) {
    case 'source': {
      const { pattern, topics } = node
      const read =
        pattern === undefined ? { topics: copiedHashSetOrder(topics) } : { pattern: pattern.text }
      return { kind, name, ...read, successors: below }
    }
    case 'processor': {
      const stores = copiedHashSetOrder(hashSetOrder(node.stores))
      return { kind, name, stores, predecessors: above, successors: below }
    }
    case 'sink': {
      const { topic } = node
      const written = typeof topic === 'string' ? { topic } : { extractor: topic.name }
      return { kind, name, ...written, predecessors: above }
    }
    default:
      throw new TypeError(kind satisfies never)
  }
}

function namesOf(nodes: JavaTreeSet<Described>): string[] {
  return nodes.items().map(({ node }) => node.name)
}

function describeStore({ descriptor, timestamped, sourceTopic }: StoreNode): object {
  const { name, kind, persistent = true, caching, changelog = true } = descriptor
  return {
    name,
    kind,
    timestamped,
    persistent,
    caching: caching ?? timestamped,
    changelog: sourceTopic === undefined ? changelog !== false : { topic: sourceTopic },
  }
}

function describeRepartition({ name, partitionCount }: RepartitionTopic): object {
  return { name, partitionCount: partitionCount ?? null }
}
