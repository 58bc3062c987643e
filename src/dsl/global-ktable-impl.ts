import { StreamsError } from '../errors.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { StoreNode } from '../topology/node.ts'
import type { GlobalKTable } from './global-ktable.ts'
import { GlobalStoreNode } from './graph/global-store-node.ts'
import { Materialized, type TableStore } from './materialized.ts'
import type { Named } from './naming.ts'
import { ktableSource } from './operators/ktable-source.ts'
import type { StreamGraph } from './stream-graph.ts'
import type { Topic } from './topic.ts'

/** Where a global table is kept: a name, or a descriptor. Absent: a generated name. */
export type GlobalTableStoreRef<K, V> = string | TableStore<K, V>

/** Java's GlobalKTableImpl. */
export class GlobalKTableImpl<K, V> implements GlobalKTable<K, V> {
  declare readonly '~types'?: { readonly key: K; readonly value: V }
  readonly graph: StreamGraph
  readonly queryableStoreName: string

  constructor(graph: StreamGraph, storeName: string) {
    this.graph = graph
    this.queryableStoreName = storeName
  }
}

/** Adds the steps that keep a global table. */
export function addGlobalTable<K, V>(
  graph: StreamGraph,
  topic: Topic<K, V>,
  options: Named & { store?: GlobalTableStoreRef<NonNullable<K>, NonNullable<V>> } = {},
): GlobalKTable<NonNullable<K>, NonNullable<V>> {
  const { names } = graph
  const step = `globalTable(${topic.name})`
  const materialized = Materialized.of(options.store, {
    names,
    prefix: `${topic.name}-`,
    step,
    inherited: topic,
  })
  if (materialized.isVersioned) {
    const detail = `${step} cannot be kept in the versioned store ${materialized.storeName}`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  const source = names.suffixedStep('KSTREAM-SOURCE-', '-source', options.name)
  const name = names.step('KTABLE-SOURCE-', options.name)
  const { storeName } = materialized
  const node = new GlobalStoreNode(name, {
    source,
    topic: topic as Topic<unknown, unknown>,
    store: restorableStore(materialized.storeNode(), topic),
    supplier: ktableSource({ storeName, sendOldValues: false }),
    reprocessOnRestore: false,
  })
  graph.addSource(node)
  return new GlobalKTableImpl(graph, storeName)
}

/** Restored records go into the store as they are: it must read what is in the topic. */
function restorableStore<K, V>(store: StoreNode, { key, value }: Topic<K, V>): StoreNode {
  const descriptor: AnyStore = Object.freeze({ ...store.descriptor, key, value })
  return Object.freeze({ ...store, descriptor })
}
