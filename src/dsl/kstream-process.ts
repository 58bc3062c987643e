import type { Stores } from '../processor/local-store.ts'
import {
  userFixedKeyProcessor,
  userProcessor,
  type AnyFixedKeyProcessorSupplier,
  type AnyProcessorSupplier,
} from '../processor/user-processor.ts'
import { assertStores } from '../topology/given-stores.ts'
import type { Serde } from '../serde/serde.ts'
import { UserProcessorNode } from './graph/user-processor-node.ts'
import type { StreamState } from './kstream-impl.ts'
import { assertFunction, type Named } from './naming.ts'
import type { AnySerde } from './topic.ts'

/** What `processValues` takes beside the supplier. */
export interface ProcessValuesOptions<V, S extends Stores> extends Named {
  /** Descriptors of its stores, alone or `timestamped`, by the names that the processor has for them. */
  readonly stores?: S
  /** Of the values that are forwarded. */
  readonly value?: Serde<V>
}

/** What `process` takes beside the supplier. */
export interface ProcessOptions<K, V, S extends Stores> extends ProcessValuesOptions<V, S> {
  /** Of the keys that are forwarded. */
  readonly key?: Serde<K>
}

/** With types that were checked where the program was written. */
interface AnyOptions extends Named {
  readonly stores?: Stores
  readonly key?: AnySerde
  readonly value?: AnySerde
}

/** Java's KStreamImpl#process. Serdes cannot be inherited: the processor forwards what it likes. */
export function processStream(
  state: StreamState,
  supplier: AnyProcessorSupplier,
  { name, stores = {}, key, value }: AnyOptions = {},
): StreamState {
  assertFunction(supplier, 'the supplier of process')
  const { graph, node: parent } = state
  const step = graph.names.unnumberedStep('KSTREAM-PROCESSOR-', name)
  assertStores(stores, `the step ${step}`)
  const node = new UserProcessorNode(step, userProcessor(supplier, stores), stores)
  graph.add(node, [parent])
  return { ...state, node, key, value, repartitionRequired: true }
}

/** Java's KStreamImpl#processValues. */
export function processValuesOfStream(
  state: StreamState,
  supplier: AnyFixedKeyProcessorSupplier,
  { name, stores = {}, value }: AnyOptions = {},
): StreamState {
  assertFunction(supplier, 'the supplier of processValues')
  const { graph, node: parent } = state
  const step = graph.names.unnumberedStep('KSTREAM-PROCESSVALUES-', name)
  assertStores(stores, `the step ${step}`)
  const node = new UserProcessorNode(step, userFixedKeyProcessor(supplier, stores), stores)
  graph.add(node, [parent])
  return { ...state, node, value }
}
