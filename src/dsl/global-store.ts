import { descriptorOf, type StoreAccess } from '../processor/local-store.ts'
import type { ProcessorSupplier } from '../processor/processor-supplier.ts'
import { userProcessor } from '../processor/user-processor.ts'
import type { StoreNode } from '../topology/node.ts'
import { GlobalStoreNode } from './graph/global-store-node.ts'
import type { Named } from './naming.ts'
import type { StreamGraph } from './stream-graph.ts'
import type { Topic } from './topic.ts'

/** Adds the steps that keep a global store with a processor of the user's. */
export function addGlobalStore<K, V>(
  graph: StreamGraph,
  store: StoreAccess,
  topic: Topic<K, V>,
  options: Named & { supplier: ProcessorSupplier<K, V, never, never> },
): void {
  const { names } = graph
  // They have the names of a table's steps in Kafka Streams.
  const source = names.suffixedStep('KSTREAM-SOURCE-', '-source', options.name)
  const name = names.step('KTABLE-SOURCE-', options.name)
  const descriptor = descriptorOf(store)
  const node = new GlobalStoreNode(name, {
    source,
    topic: topic as Topic<unknown, unknown>,
    store: Object.freeze({
      descriptor: Object.freeze({ ...descriptor, caching: descriptor.caching ?? false }),
      timestamped: store.kind === 'timestamped',
    }) as StoreNode,
    supplier: userProcessor(options.supplier, { store }),
    reprocessOnRestore: true,
  })
  graph.addSource(node)
}
