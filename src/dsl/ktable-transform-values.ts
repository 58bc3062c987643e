import { assertOptions } from '../base/assert-options.ts'
import { StreamsError } from '../errors.ts'
import type { Stores } from '../processor/local-store.ts'
import {
  openTransformer,
  type AnyValueTransformerSupplier,
} from '../processor/user-value-transformer.ts'
import { assertStores } from '../topology/given-stores.ts'
import { TransformValuesNode } from './graph/transform-values-node.ts'
import type { KTableState } from './ktable-impl.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import {
  ktableTransformValues,
  transformedView,
  type TransformerOpener,
} from './operators/ktable-transform-values.ts'
import { TableState } from './operators/table-state.ts'
import type { AnySerde, SerdeOf } from './topic.ts'

/** The stores of a transformer, and how the result is named and kept. */
export interface TransformValuesOptions<K, V2, S extends Stores> extends Named {
  /** Stores of the transformer's own, by the names that it has for them. */
  readonly stores?: S
  /** Keeps the result, so that it can be queried, and so that each change is transformed once. */
  readonly store?: TableStoreRef<K, NonNullable<V2>>
  /** The serde of the result, for steps below that need one. */
  readonly value?: SerdeOf<V2>
}

const prefix = 'KTABLE-TRANSFORMVALUES-'

/** Java's KTableImpl#transformValues. */
export function transformValuesOfTable<K, V2>(
  state: KTableState,
  supplier: AnyValueTransformerSupplier,
  options: TransformValuesOptions<K, V2, Stores> | undefined,
): KTableState {
  assertFunction(supplier, 'the supplier of transformValues')
  assertOptions(options, 'transformValues')
  const { graph, node: parent, key, table: above } = state
  const { names } = graph
  const name = names.step(prefix, options?.name)
  const stores = options?.stores ?? {}
  assertStores(stores, `the step ${name}`)
  const inherited = { key, value: options?.value }
  const store =
    options?.store === undefined
      ? undefined
      : Materialized.of(options.store, { names, prefix, step: name, inherited })
  const opener: TransformerOpener = (context, row) =>
    openTransformer(context, { supplier, stores, row })
  const table = new TableState({
    store: store?.storeName,
    versioned: store?.isVersioned,
    above: {
      tables: [above],
      view: (rows) => {
        assertReadable(name, stores)
        return transformedView(rows, opener)
      },
    },
  })
  const node = new TransformValuesNode(name, () => ktableTransformValues(table, opener), {
    store: () => store,
    stores,
  })
  graph.add(node, [parent])
  const value: AnySerde | undefined = options?.value
  return {
    ...state,
    node,
    key: store?.key ?? key,
    value: store?.value ?? value,
    table,
    queryableStoreName: store?.storeName,
  }
}

/** A transformer with state gives another answer each time: its rows must be kept to be looked up. */
function assertReadable(name: string, stores: Stores): void {
  if (Object.keys(stores).length === 0) return
  const detail = `the rows of ${name} are looked up by a step below, and its transformer has stores of its own: give it a \`store\` that keeps the rows`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
