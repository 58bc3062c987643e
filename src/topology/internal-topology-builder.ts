import { assert } from '../base/assert.ts'
import { StreamsError } from '../errors.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import type { Serde } from '../serde/serde.ts'
import type { AnyStore } from '../store/descriptor.ts'
import { assertDepth } from './assert-depth.ts'
import { assertAgreedCounts, unitedGroups } from './copartition.ts'
import { describeTopology } from './describe.ts'
import { hashSetOrder } from './java-order.ts'
import type {
  RepartitionTopic,
  SinkNode,
  SourceNode,
  StoreNode,
  StreamPartitioner,
  TimestampExtractor,
  TopicNameExtractor,
  TopologyNode,
} from './node.ts'
import type { OffsetReset } from './offset-reset.ts'
import { QuickUnion } from './quick-union.ts'
import { StoreRegistry, type GivenStoreOptions } from './store-registry.ts'
import { TopicPattern } from './topic-pattern.ts'
import type { DescribeOptions, GlobalSubtopology, Subtopology, Topology } from './topology.ts'

/** What a source node reads and how. */
export interface SourceOptions {
  /** Names, or all topics that match. */
  readonly topics: readonly string[] | TopicPattern
  readonly key: Serde<unknown>
  readonly value: Serde<unknown>
  readonly timestamp?: TimestampExtractor
  readonly offsetReset?: OffsetReset
}

/** What a sink node writes and how. */
export interface SinkOptions {
  readonly topic: string | TopicNameExtractor
  readonly key: Serde<unknown>
  readonly value: Serde<unknown>
  readonly partitioner?: StreamPartitioner
}

/** The nodes that keep a global store. */
export interface GlobalStoreOptions {
  readonly topic: string
  readonly key: Serde<unknown>
  readonly value: Serde<unknown>
  /** Name of the node that reads the topic. */
  readonly source: string
  /** Name of the node that writes the store. */
  readonly processor: string
  readonly supplier: NodeSupplier
  /** See {@link GlobalSubtopology}. */
  readonly reprocessOnRestore: boolean
}

const invalid = (detail: string): StreamsError => new StreamsError('TOPOLOGY_INVALID', { detail })

/**
 * Gathers nodes and stores and cuts them into sub-topologies. Java's InternalTopologyBuilder: what
 * it refuses is refused here, and the numbers of sub-topologies are the same.
 */
export class InternalTopologyBuilder {
  /** In the order of insertion, which is topological: a parent must be there before its children. */
  readonly #nodes = new Map<string, TopologyNode>()
  readonly #stores = new StoreRegistry()
  /** By the name of the source. */
  readonly #globalStores = new Map<string, Omit<GlobalSubtopology, 'id' | 'source' | 'processor'>>()
  readonly #globalProcessors = new Set<string>()
  readonly #internalTopics = new Map<string, RepartitionTopic>()
  /** Topic names that a source reads already. */
  readonly #sourceTopics = new Set<string>()
  readonly #patterns: TopicPattern[] = []
  readonly #copartitionGroups: string[][] = []
  readonly #groups = new QuickUnion()

  /** Adds a node that reads topics. */
  addSource(name: string, { topics, ...reading }: SourceOptions): this {
    this.#assertNew(name)
    if (topics instanceof TopicPattern) {
      this.#notePattern(topics)
      this.#addSource(name, { ...reading, topics: [], pattern: topics })
    } else {
      this.#noteTopics(name, topics)
      this.#addSource(name, { ...reading, topics })
    }
    return this
  }

  #notePattern(pattern: TopicPattern): void {
    for (const topic of this.#sourceTopics) {
      if (!pattern.matches(topic)) continue
      throw invalid(`the pattern ${pattern.text} matches the topic ${topic}, which a source reads`)
    }
    this.#patterns.push(pattern)
  }

  #noteTopics(source: string, topics: readonly string[]): void {
    if (topics.length === 0) throw invalid(`the source ${source} must have at least one topic`)
    for (const topic of topics) {
      if (this.#sourceTopics.has(topic)) {
        throw invalid(`the topic ${topic} is already read by another source than ${source}`)
      }
      const pattern = this.#patterns.find((each) => each.matches(topic))
      if (pattern !== undefined) {
        throw invalid(
          `the topic ${topic} of ${source} matches the pattern ${pattern.text}, which is read`,
        )
      }
    }
    for (const topic of topics) this.#sourceTopics.add(topic)
  }

  #addSource(
    name: string,
    { timestamp, offsetReset, ...reading }: Omit<SourceNode, 'kind' | 'name' | 'internal'>,
  ): void {
    this.#nodes.set(name, {
      ...reading,
      kind: 'source',
      name,
      internal: false,
      ...(timestamp !== undefined && { timestamp }),
      ...(offsetReset !== undefined && { offsetReset }),
    })
    this.#groups.add(name)
  }

  /** Adds a node that runs code on what its parents forward. */
  addProcessor(name: string, supplier: NodeSupplier, parents: readonly string[]): this {
    this.#assertNew(name)
    this.#assertParents(name, parents)
    this.#nodes.set(name, { kind: 'processor', name, parents, stores: [], supplier })
    this.#join(name, parents)
    return this
  }

  /** Adds a node that writes a topic. */
  addSink(name: string, options: SinkOptions, parents: readonly string[]): this {
    const { topic, key, value, partitioner } = options
    this.#assertNew(name)
    this.#assertParents(name, parents)
    const base = { kind: 'sink', name, parents, topic, key, value, internal: false } as const
    this.#nodes.set(name, { ...base, ...(partitioner !== undefined && { partitioner }) })
    this.#join(name, parents)
    return this
  }

  /** Adds the store of an operator and connects it. The same store may be added again. */
  addStore(store: StoreNode, processors: readonly string[]): this {
    const { name } = store.descriptor
    if (this.#globalStore(name) !== undefined) {
      throw invalid(`there are two stores with the name ${name}`)
    }
    this.#stores.add(store)
    for (const processor of processors) this.#connect(processor, name)
    return this
  }

  /**
   * Adds a store that the program states itself, by its descriptor, and connects it. When an operator
   * keeps a table in that descriptor, before or after this, it is that store.
   */
  addGivenStore(
    descriptor: AnyStore,
    options: GivenStoreOptions & { readonly processors: readonly string[] },
  ): this {
    const { name } = descriptor
    if (this.#globalStore(name) !== undefined) {
      throw invalid(`${name} is a global store: it is read without being added or connected`)
    }
    this.#stores.addGiven(descriptor, options)
    for (const processor of options.processors) this.#connect(processor, name)
    return this
  }

  /**
   * Adds a store that every instance holds whole, and keeps up to date with all partitions of one
   * topic. All processors can read it without being connected to it.
   */
  addGlobalStore(store: StoreNode, options: GlobalStoreOptions): this {
    const { topic, key, value, source, processor, supplier, reprocessOnRestore } = options
    const { name } = store.descriptor
    if (this.#stores.has(name) || this.#globalStore(name) !== undefined) {
      throw invalid(`there are two stores with the name ${name}`)
    }
    this.addSource(source, { topics: [topic], key, value })
    this.addProcessor(processor, supplier, [source])
    this.#stores.connect(processor, name)
    const kept = Object.freeze({ ...store, sourceTopic: topic })
    this.#globalStores.set(source, { store: kept, reprocessOnRestore })
    this.#globalProcessors.add(processor)
    return this
  }

  #globalStore(name: string): StoreNode | undefined {
    for (const { store } of this.#globalStores.values()) {
      if (store.descriptor.name === name) return store
    }
    return undefined
  }

  /** How a store that was added is described. */
  descriptorOf(store: string): AnyStore {
    return this.#stores.node(store).descriptor
  }

  /** Lets a processor use stores that were added. */
  connectProcessorAndStores(processor: string, stores: readonly string[]): this {
    if (stores.length === 0) throw invalid(`no store was named to connect to ${processor}`)
    for (const store of stores) this.#connect(processor, store)
    return this
  }

  /** Declares a topic that the engine creates: sources and sinks of that name get the prefix. */
  addInternalTopic(topic: RepartitionTopic): this {
    const known = this.#internalTopics.get(topic.name)?.partitionCount
    const asked = topic.partitionCount
    if (known !== undefined && asked !== undefined && known !== asked) {
      throw invalid(
        `the topic ${topic.name} is asked for with ${known} and with ${asked} partitions`,
      )
    }
    if (known === undefined || asked !== undefined) this.#internalTopics.set(topic.name, topic)
    return this
  }

  /** Demands equally many partitions of all topics that these source nodes read. */
  copartitionSources(sources: readonly string[]): this {
    this.#copartitionGroups.push([...sources])
    return this
  }

  /** The finished topology. The builder can be used further; what was built does not change. */
  build(): Topology {
    const groups = this.#groupsOfNodes()
    const subtopologies = Object.freeze(
      groups.flatMap((names, id) => (this.#isGlobal(names) ? [] : [this.#subtopology(id, names)])),
    )
    const globalStores = Object.freeze(
      groups.flatMap((names, id) =>
        this.#isGlobal(names) ? [this.#globalTopology(id, names)] : [],
      ),
    )
    const copartitionGroups = Object.freeze(
      unitedGroups(this.#copartitionGroups.map((names) => this.#topicsOf(names))),
    )
    assertAgreedCounts(copartitionGroups, this.#internalTopics)
    return Object.freeze({
      subtopologies,
      globalStores,
      nodeNames: Object.freeze([...this.#nodes.keys()]),
      copartitionGroups,
      copartitionedSources: Object.freeze([...this.#copartitionGroups]),
      describe: (options?: DescribeOptions) =>
        describeTopology({ subtopologies, globalStores }, options),
    })
  }

  #assertNew(name: string): void {
    if (name === '') throw invalid('the name of a step must not be empty')
    if (this.#nodes.has(name)) throw invalid(`there are two steps with the name ${name}`)
  }

  #assertParents(name: string, parents: readonly string[]): void {
    if (parents.length === 0) throw invalid(`the step ${name} must have at least one parent`)
    for (const parent of parents) {
      if (parent === name) throw invalid(`the step ${name} cannot be its own parent`)
      const node = this.#nodes.get(parent)
      if (node === undefined) throw invalid(`the parent ${parent} of ${name} is not added yet`)
      if (node.kind === 'sink') throw invalid(`the sink ${parent} cannot be the parent of ${name}`)
      if (this.#globalStores.has(parent) || this.#globalProcessors.has(parent)) {
        throw invalid(
          `${parent} keeps a global store: nothing can be below it, as ${name} would be`,
        )
      }
    }
  }

  #join(name: string, parents: readonly string[]): void {
    this.#groups.add(name)
    for (const parent of parents) this.#groups.unite(name, parent)
  }

  #connect(processor: string, store: string): void {
    if (this.#globalStore(store) !== undefined) {
      throw invalid(`the global store ${store} is read without being connected to ${processor}`)
    }
    if (!this.#stores.has(store)) throw invalid(`the store ${store} is not added yet`)
    const node = this.#nodes.get(processor)
    if (node === undefined) throw invalid(`the step ${processor} is not added yet`)
    if (node.kind !== 'processor') {
      throw invalid(`the store ${store} cannot be connected to the ${node.kind} ${processor}`)
    }
    // All users of a store must be in one task: it is theirs alone.
    const user = this.#stores.connect(processor, store)
    if (user !== undefined) this.#groups.unite(user, processor)
  }

  #topicsOf(sources: readonly string[]): readonly string[] {
    const topics = new Set<string>()
    for (const name of sources) {
      const node = this.#nodes.get(name)
      if (node === undefined) throw invalid(`the source ${name} is not added yet`)
      // As in Java, a cogroup stands there with the name of its last step, and is passed over.
      if (node.kind !== 'source') continue
      for (const topic of node.topics) topics.add(topic)
    }
    return Object.freeze([...topics])
  }

  /** Names of nodes that hang together, each in the order of insertion; so are the groups. */
  #groupsOfNodes(): string[][] {
    const namesByRoot = new Map<string, string[]>()
    for (const name of this.#nodes.keys()) {
      const root = this.#groups.root(name)
      const names = namesByRoot.get(root)
      if (names === undefined) namesByRoot.set(root, [name])
      else names.push(name)
    }
    return [...namesByRoot.values()]
  }

  #isGlobal([first = '']: readonly string[]): boolean {
    return this.#globalStores.has(first)
  }

  #globalTopology(id: number, names: readonly string[]): GlobalSubtopology {
    const [source, processor] = names.map((name) => this.#finished(name))
    assert(
      source?.kind === 'source' && processor?.kind === 'processor',
      'a global store has two nodes',
    )
    const global = this.#globalStores.get(source.name)
    assert(global !== undefined, 'a global source has a store')
    return Object.freeze({ id, source, processor, ...global })
  }

  #subtopology(id: number, names: readonly string[]): Subtopology {
    const nodes = names.map((name) => this.#finished(name))
    assertDepth(nodes)
    const sources = nodes.filter((node) => node.kind === 'source')
    const processors = nodes.filter((node) => node.kind === 'processor')
    const sinks = nodes.filter((node) => node.kind === 'sink')
    // Caches are flushed in this order, which the changelogs and outputs show; it is Java's.
    const storeNames = new Set(processors.flatMap((node) => hashSetOrder(node.stores)))
    const stores = [...storeNames].map((name) => this.#stores.node(name))
    const read = new Set(sources.flatMap((source) => source.topics))
    const repartitionSources = [...this.#internalTopics.values()].filter((topic) =>
      read.has(topic.name),
    )
    return Object.freeze({ id, nodes, sources, processors, sinks, stores, repartitionSources })
  }

  /** The node with what is only known when all nodes are there. */
  #finished(name: string): TopologyNode {
    const node = this.#nodes.get(name)
    assert(node !== undefined, 'a group holds only nodes that were added')
    switch (node.kind) {
      case 'source':
        return Object.freeze({ ...node, internal: this.#isInternal(node) })
      case 'processor':
        return Object.freeze({ ...node, stores: this.#stores.storesOf(name) })
      case 'sink':
        return Object.freeze({ ...node, internal: this.#writesInternal(node) })
      default:
        throw new TypeError(node satisfies never)
    }
  }

  #writesInternal({ topic }: SinkNode): boolean {
    return typeof topic === 'string' && this.#internalTopics.has(topic)
  }

  #isInternal(source: SourceNode): boolean {
    const internal = source.topics.filter((topic) => this.#internalTopics.has(topic))
    if (internal.length !== 0 && internal.length !== source.topics.length) {
      throw invalid(`the source ${source.name} reads internal topics beside others`)
    }
    return internal.length !== 0
  }
}
