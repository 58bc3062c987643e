import { assertOptions } from '../base/assert-options.ts'
import type { NoStores, Stores } from '../processor/local-store.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import type { ValueTransformerSupplier } from '../processor/value-transformer.ts'
import type { Windowed } from '../serde/windowed.ts'
import type { GraphNode } from './graph/graph-node.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import type { Emitted } from './kgrouped-stream.ts'
import type { KGroupedTable } from './kgrouped-table.ts'
import { groupTable } from './kgrouped-table-impl.ts'
import type { KStream } from './kstream.ts'
import { KStreamImpl } from './kstream-impl.ts'
import { joinForeignKey, type ForeignKeyJoinOptions } from './ktable-foreign-key-join.ts'
import { joinTables, type KTableJoinOptions } from './ktable-ktable-join.ts'
import { suppressTable } from './ktable-suppress.ts'
import { transformValuesOfTable, type TransformValuesOptions } from './ktable-transform-values.ts'
import type { KTable, MappedEmission } from './ktable.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { filtered, ktableFilter } from './operators/ktable-filter.ts'
import { ktableMapValues, mapped } from './operators/ktable-map-values.ts'
import { ktableToStream } from './operators/ktable-to-stream.ts'
import type { Table } from './operators/table-forwarder.ts'
import { TableState } from './operators/table-state.ts'
import { mappedView, type RowMapping } from './operators/table-view.ts'
import type { JoinFunction } from './operators/user-function.ts'
import type { StreamGraph } from './stream-graph.ts'
import type {
  Suppressed,
  SuppressedUntilTimeLimit,
  SuppressedUntilWindowCloses,
} from './suppressed.ts'
import type { AnySerde, SerdeOf } from './topic.ts'

/** What a table is while the program is written. */
export interface KTableState {
  readonly graph: StreamGraph
  readonly node: GraphNode
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
  /** Source nodes of the sub-topology that the table is in. */
  readonly sources: ReadonlySet<string>
  /** Shared with the operator that makes the table. */
  readonly table: TableState
  /** The store that can be queried. */
  readonly queryableStoreName: string | undefined
}

/** A table each of whose rows is worked out from one row of another table. */
interface MappedTable {
  readonly mapping: RowMapping
  readonly operator: (table: Table, mapping: RowMapping, above: TableState) => NodeSupplier
}

/** Java's KTableImpl. */
export class KTableImpl<K, V, E> implements KTable<K, V, E> {
  readonly state: KTableState

  constructor(state: KTableState) {
    this.state = state
  }

  get queryableStoreName(): string | undefined {
    return this.state.queryableStoreName
  }

  filter<W extends V>(
    predicate: (value: V, key: K) => boolean,
    options?: Named & { store?: TableStoreRef<K, W> },
  ): KTable<K, W, W | null> {
    assertFunction(predicate, 'the predicate of filter')
    return this.#filter<W>(predicate, 'keep', options)
  }

  filterNot(
    predicate: (value: V, key: K) => boolean,
    options?: Named & { store?: TableStoreRef<K, V> },
  ): KTable<K, V> {
    assertFunction(predicate, 'the predicate of filterNot')
    return this.#filter<V>(predicate, 'drop', options)
  }

  mapValues<V2>(
    mapper: (value: V, key: K) => V2,
    options?: Named & { value?: SerdeOf<V2>; store?: TableStoreRef<K, NonNullable<V2>> },
  ): KTable<K, NonNullable<V2>, MappedEmission<V2, E>> {
    assertFunction(mapper, 'the mapper of mapValues')
    return this.#next('KTABLE-MAPVALUES-', options, options?.value, {
      mapping: mapped(mapper),
      operator: ktableMapValues,
    })
  }

  transformValues<V2, S extends Stores = NoStores>(
    supplier: ValueTransformerSupplier<K, V, V2, S>,
    options?: TransformValuesOptions<K, V2, S>,
  ): KTable<K, NonNullable<V2>, Emitted<NonNullable<V2>, V2>> {
    return new KTableImpl(transformValuesOfTable(this.state, supplier, options))
  }

  join<K2, V2, E2, R>(
    other: KTable<K2, V2, E2>,
    joiner: (value: V, otherValue: V2, key: K) => R,
    options?: KTableJoinOptions<K, R> | ForeignKeyJoinOptions<K, V, K2, R>,
  ): KTable<K, NonNullable<R>, MappedEmission<R, E | E2>> {
    return this.#join(other, joiner, 'inner', options)
  }

  leftJoin<K2, V2, E2, R>(
    other: KTable<K2, V2, E2>,
    joiner: (value: V, otherValue: V2 | undefined, key: K) => R,
    options?: KTableJoinOptions<K, R> | ForeignKeyJoinOptions<K, V, K2, R>,
  ): KTable<K, NonNullable<R>, MappedEmission<R, E>> {
    return this.#join(other, joiner, 'left', options)
  }

  outerJoin<V2, E2, R>(
    other: KTable<K, V2, E2>,
    joiner: (value: V | undefined, otherValue: V2 | undefined, key: K) => R,
    options?: KTableJoinOptions<K, R>,
  ): KTable<K, NonNullable<R>, MappedEmission<R, E | E2>> {
    return new KTableImpl(joinTables(this.state, other, joiner, 'outer', options))
  }

  #join<K2, R, E3>(
    other: unknown,
    joiner: JoinFunction,
    kind: 'inner' | 'left',
    options: KTableJoinOptions<K, R> | ForeignKeyJoinOptions<K, V, K2, R> | undefined,
  ): KTable<K, NonNullable<R>, E3> {
    const { state } = this
    assertOptions(options, kind === 'inner' ? 'join' : 'leftJoin')
    return new KTableImpl(
      options !== undefined && 'foreignKey' in options
        ? joinForeignKey(state, other, joiner, kind, options)
        : joinTables(state, other, joiner, kind, options),
    )
  }

  groupBy<K2, V2>(
    selector: (value: V, key: K) => readonly [key: K2, value: V2] | null | undefined,
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V2> },
  ): KGroupedTable<NonNullable<K2>, NonNullable<V2>> {
    return groupTable(this.state, selector, options)
  }

  suppress(
    options: K extends Windowed<unknown> ? SuppressedUntilWindowCloses : never,
  ): KTable<K, V, V>
  suppress(options: SuppressedUntilTimeLimit): KTable<K, V, E>
  suppress(options: Suppressed): KTable<K, V, V> | KTable<K, V, E> {
    return new KTableImpl<K, V, E>(suppressTable(this.state, options))
  }

  toStream<K2>(
    selector: (value: E, key: K) => K2,
    options?: Named & { key?: SerdeOf<K2> },
  ): KStream<K2, E>
  toStream(options?: Named): KStream<K, E>
  toStream<K2>(
    selector?: ((value: E, key: K) => K2) | Named,
    options?: Named & { key?: SerdeOf<K2> },
  ): KStream<K, E> | KStream<K2, E> {
    if (typeof selector !== 'function') {
      assertOptions(selector, 'toStream')
      return this.#toStream(selector)
    }
    // As in Java, the name is that of the first of two steps.
    const select = selector as (value: E, key: K) => K2
    return this.#toStream(options).selectKey(select, { key: options?.key })
  }

  #toStream(options: Named | undefined): KStreamImpl<K, E> {
    const { graph, node: parent, key, value, sources } = this.state
    const name = graph.names.step('KTABLE-TOSTREAM-', options?.name)
    const node = new ProcessorGraphNode(name, ktableToStream)
    graph.add(node, [parent])
    return new KStreamImpl({ graph, node, key, value, sources, repartitionRequired: false })
  }

  #filter<W extends V>(
    predicate: (value: V, key: K) => boolean,
    mode: 'keep' | 'drop',
    options: (Named & { store?: TableStoreRef<K, W> }) | undefined,
  ): KTable<K, W, W | null> {
    const table = this.#next<W, W | null>('KTABLE-FILTER-', options, this.state.value, {
      mapping: filtered(predicate, mode),
      operator: ktableFilter,
    })
    table.state.table.inheritOldValues()
    return table
  }

  /** Adds a step whose result is kept only when the user names a store for it. */
  #next<V2, E2>(
    prefix: string,
    options: (Named & { store?: TableStoreRef<K, V2> }) | undefined,
    value: AnySerde | undefined,
    { mapping, operator }: MappedTable,
  ): KTableImpl<K, V2, E2> {
    const { graph, node: parent, key } = this.state
    const name = graph.names.step(prefix, options?.name)
    const inherited = { key, value }
    const naming = { names: graph.names, prefix, step: name, inherited }
    const store = options?.store === undefined ? undefined : Materialized.of(options.store, naming)
    const above = this.state.table
    const table = new TableState({
      store: store?.storeName,
      versioned: store?.isVersioned,
      above: { tables: [above], view: (rows) => mappedView(rows, mapping) },
    })
    const node = new ProcessorGraphNode(
      name,
      () => operator(table, mapping, above),
      () => store,
    )
    graph.add(node, [parent])
    return new KTableImpl({
      ...this.state,
      node,
      key: store?.key ?? key,
      value: store?.value ?? value,
      table,
      queryableStoreName: store?.storeName,
    })
  }
}
