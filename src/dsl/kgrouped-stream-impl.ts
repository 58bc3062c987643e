import type { NodeSupplier } from '../processor/processor.ts'
import { serdes } from '../serde/serdes.ts'
import type { CogroupedKStream } from './cogrouped-kstream.ts'
import { CogroupedKStreamImpl } from './cogrouped-kstream-impl.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import { GroupedStreamAggregateBuilder } from './grouped-stream-aggregate-builder.ts'
import type { Emitted, KGroupedStream } from './kgrouped-stream.ts'
import type { StreamState } from './kstream-impl.ts'
import type { KTable } from './ktable.ts'
import { KTableImpl } from './ktable-impl.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { kstreamAggregate } from './operators/kstream-aggregate.ts'
import { kstreamReduce } from './operators/kstream-reduce.ts'
import type { StoredTable } from './operators/table-forwarder.ts'
import { TableState } from './operators/table-state.ts'
import { SessionWindowedKStreamImpl } from './session-windowed-kstream-impl.ts'
import type { AnySerde, SerdeOf } from './topic.ts'
import type {
  SessionWindowedKStream,
  TimeWindowedKStream,
  WindowedKStream,
} from './windowed-kstream.ts'
import { WindowedKStreamImpl } from './windowed-kstream-impl.ts'
import {
  assertWindows,
  type CustomWindows,
  type SessionWindows,
  type SlidingWindows,
  type TimeWindows,
  type UnlimitedWindows,
  type Windows,
} from './windows.ts'

const zero = (): number => 0
const increment = (count: number): number => count + 1

/** Java's KGroupedStreamImpl. */
export class KGroupedStreamImpl<K, V> implements KGroupedStream<K, V> {
  readonly builder: GroupedStreamAggregateBuilder

  /** `step` is for messages. */
  constructor(state: StreamState, step: string, repartitionName: string | undefined) {
    this.builder = new GroupedStreamAggregateBuilder(state, step, repartitionName)
  }

  count(options?: Named & { store?: TableStoreRef<K, number> }): KTable<K, number, number> {
    return this.#aggregate('KSTREAM-AGGREGATE-', options, serdes.long, (table) =>
      kstreamAggregate(table, zero, increment),
    )
  }

  reduce<R extends NonNullable<V> | null | undefined>(
    reducer: (aggregate: NonNullable<V>, value: NonNullable<V>) => R,
    options?: Named & { store?: TableStoreRef<K, NonNullable<V>> },
  ): KTable<K, NonNullable<V>, Emitted<NonNullable<V>, R>> {
    assertFunction(reducer, 'the reducer of reduce')
    return this.#aggregate('KSTREAM-REDUCE-', options, this.builder.state.value, (table) =>
      kstreamReduce(table, reducer),
    )
  }

  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    initializer: () => A,
    aggregator: (aggregate: A, value: NonNullable<V>, key: K) => R,
    options?: Named & { store?: TableStoreRef<K, A>; value?: SerdeOf<A> },
  ): KTable<K, A, Emitted<A, R>> {
    assertFunction(initializer, 'the initializer of aggregate')
    assertFunction(aggregator, 'the aggregator of aggregate')
    return this.#aggregate('KSTREAM-AGGREGATE-', options, options?.value, (table) =>
      kstreamAggregate(table, initializer, aggregator),
    )
  }

  windowedBy(windows: TimeWindows): TimeWindowedKStream<K, V>
  windowedBy(windows: SlidingWindows): TimeWindowedKStream<K, NonNullable<V>>
  windowedBy(windows: SessionWindows): SessionWindowedKStream<K, V>
  windowedBy(windows: UnlimitedWindows | CustomWindows): WindowedKStream<K, V>
  windowedBy(windows: Windows): object {
    assertWindows(windows, 'windowedBy')
    return windows.kind === 'session'
      ? new SessionWindowedKStreamImpl(this.builder, windows, 'on-window-update')
      : new WindowedKStreamImpl(this.builder, windows, 'on-window-update')
  }

  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  cogroup<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    aggregator: (aggregate: A, value: V, key: K) => R,
  ): CogroupedKStream<K, A, R> {
    return new CogroupedKStreamImpl<K, A, R>(this.builder, aggregator)
  }

  #aggregate<A, E>(
    prefix: string,
    options: (Named & { store?: TableStoreRef<K, A> }) | undefined,
    value: AnySerde | undefined,
    supplier: (table: StoredTable) => NodeSupplier,
  ): KTable<K, A, E> {
    const { step, state } = this.builder
    const { graph, key } = state
    // The store takes its number before the step, and both before the repartition step.
    const store = Materialized.of(options?.store, {
      names: graph.names,
      prefix,
      step,
      inherited: { key, value },
    })
    const name = graph.names.step(prefix, options?.name)
    const { storeName } = store
    const table = new TableState({ store: storeName, versioned: store.isVersioned })
    const operator = (): NodeSupplier => supplier({ storeName, sendOldValues: table.sendOldValues })
    const node = new ProcessorGraphNode(name, operator, () => store)
    return new KTableImpl({
      graph,
      node,
      key: store.key,
      value: store.value,
      sources: this.builder.place(node, store),
      table,
      queryableStoreName: store.queryableName,
    })
  }
}
