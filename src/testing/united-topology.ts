import type { AnyStore } from '../store/descriptor.ts'
import { matchingTopics, withTopics } from '../topology/matched-topics.ts'
import type { StoreNode } from '../topology/node.ts'
import type { GlobalSubtopology, Subtopology, Topology } from '../topology/topology.ts'

/**
 * All sub-topologies of a topology as one, with those topics that its patterns have come to match: a
 * test driver has no cluster that could be asked which topics there are.
 */
export class UnitedTopology {
  readonly globalStores: readonly GlobalSubtopology[]
  readonly #topology: Topology
  readonly #applicationId: string
  readonly #globalTopics: ReadonlySet<string>
  #matched: readonly string[] = []
  #whole: Subtopology

  constructor(topology: Topology, applicationId: string) {
    this.globalStores = topology.globalStores
    this.#topology = topology
    this.#applicationId = applicationId
    this.#globalTopics = new Set(topology.globalStores.flatMap(({ source }) => source.topics))
    this.#whole = united(topology)
  }

  /** The one sub-topology. */
  get whole(): Subtopology {
    return this.#whole
  }

  /** True: a global store is kept up to date with that topic. */
  isGlobal(topic: string): boolean {
    return this.#globalTopics.has(topic)
  }

  /** True: a pattern matches that topic, which is read from now on; see {@link whole}. */
  adopt(topic: string): boolean {
    if (matchingTopics(this.#topology, this.#applicationId, [topic]).length === 0) return false
    this.#matched = [...this.#matched, topic]
    this.#whole = united(withTopics(this.#topology, this.#matched))
    return true
  }

  /** The store of that name, if it is of that kind; undefined: there is none. */
  storeNode({ name, kind }: AnyStore): StoreNode | undefined {
    const isAsked = ({ descriptor }: StoreNode): boolean =>
      descriptor.name === name && descriptor.kind === kind
    return this.#whole.stores.find(isAsked) ?? this.#globalStoreNodes.find(isAsked)
  }

  get #globalStoreNodes(): StoreNode[] {
    return this.globalStores.map(({ store }) => store)
  }
}

function united({ subtopologies, nodeNames }: Topology): Subtopology {
  const nodes = new Map(
    subtopologies.flatMap((one) => one.nodes.map((node) => [node.name, node] as const)),
  )
  return {
    id: 0,
    // As they were inserted: they are initialized so, and punctuations of one time run so.
    nodes: nodeNames.flatMap((name) => nodes.get(name) ?? []),
    sources: subtopologies.flatMap(({ sources }) => sources),
    processors: subtopologies.flatMap(({ processors }) => processors),
    sinks: subtopologies.flatMap(({ sinks }) => sinks),
    stores: subtopologies.flatMap(({ stores }) => stores),
    repartitionSources: subtopologies.flatMap(({ repartitionSources }) => repartitionSources),
  }
}
