import { StreamsError } from '../errors.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import type { Windowed } from '../serde/windowed.ts'
import type {
  CogroupedKStream,
  SessionWindowedCogroupedKStream,
  TimeWindowedCogroupedKStream,
} from './cogrouped-kstream.ts'
import {
  CogroupedStreamAggregateBuilder,
  cogroupAggregatePrefix,
  type CogroupPatterns,
} from './cogrouped-stream-aggregate-builder.ts'
import type { GroupedStreamAggregateBuilder } from './grouped-stream-aggregate-builder.ts'
import type { Emitted, KGroupedStream } from './kgrouped-stream.ts'
import { KGroupedStreamImpl } from './kgrouped-stream-impl.ts'
import type { KTable } from './ktable.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { kstreamAggregate } from './operators/kstream-aggregate.ts'
import { kstreamSessionWindowAggregate } from './operators/kstream-session-window-aggregate.ts'
import type { AggregateFunction } from './operators/user-function.ts'
import type { WindowedTable } from './operators/windowed-table.ts'
import { windowedView } from './operators/windowed-views.ts'
import type { AnySerde, SerdeOf } from './topic.ts'
import type { SessionWindowedOptions, WindowedOptions } from './windowed-kstream.ts'
import { windowOperator } from './windowed-kstream-impl.ts'
import { WindowedMaterialized, type WindowedStoreOptions } from './windowed-materialized.ts'
import {
  assertWindows,
  closingTimeOf,
  type CustomWindows,
  type SessionWindows,
  type SlidingWindows,
  type TimeBasedWindows,
  type TimeWindows,
  type UnlimitedWindows,
  type Windows,
} from './windows.ts'

const emit = 'on-window-update'

type WindowedAggregateOptions = Named &
  WindowedStoreOptions & { readonly value?: AnySerde | undefined }

/** What cogroups of all kinds share. */
interface Cogroup {
  /** The stream that began it. */
  readonly first: GroupedStreamAggregateBuilder
  readonly builder: CogroupedStreamAggregateBuilder
}

/** Java's CogroupedKStreamImpl. */
export class CogroupedKStreamImpl<K, A, R> implements CogroupedKStream<K, A, R> {
  readonly #patterns: CogroupPatterns
  readonly #cogroup: Cogroup

  constructor(first: GroupedStreamAggregateBuilder, aggregator: AggregateFunction) {
    assertFunction(aggregator, 'the aggregator of cogroup')
    this.#patterns = new Map([[first, aggregator]])
    this.#cogroup = { first, builder: new CogroupedStreamAggregateBuilder(this.#patterns) }
  }

  cogroup<V, R2 extends A | null | undefined>(
    grouped: KGroupedStream<K, V>,
    aggregator: (aggregate: A, value: V, key: K) => R2,
  ): CogroupedKStream<K, A, R | R2> {
    assertFunction(aggregator, 'the aggregator of cogroup')
    const { first } = this.#cogroup
    if (
      !(grouped instanceof KGroupedStreamImpl) ||
      grouped.builder.state.graph !== first.state.graph
    ) {
      const detail = 'cogroup needs a grouped stream of the same StreamsBuilder'
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    this.#patterns.set(grouped.builder, aggregator)
    return this as CogroupedKStreamImpl<K, A, R | R2>
  }

  aggregate(
    initializer: () => A,
    options?: Named & { store?: TableStoreRef<K, A>; value?: SerdeOf<A> },
  ): KTable<K, A, Emitted<A, R>> {
    assertFunction(initializer, 'the initializer of aggregate')
    const { first, builder } = this.#cogroup
    const { graph, key } = first.state
    const store = Materialized.of(options?.store, {
      names: graph.names,
      prefix: cogroupAggregatePrefix,
      step: `cogroup of ${first.step}`,
      inherited: { key, value: options?.value },
    })
    const { storeName } = store
    return builder.build({
      name: options?.name,
      store,
      key: store.key,
      table: { versioned: store.isVersioned },
      supplier: (aggregator, sendOldValues) =>
        kstreamAggregate({ storeName, sendOldValues }, initializer, aggregator),
    })
  }

  windowedBy(
    windows: TimeWindows | SlidingWindows | UnlimitedWindows | CustomWindows,
  ): TimeWindowedCogroupedKStream<K, A, R>
  windowedBy(windows: SessionWindows): SessionWindowedCogroupedKStream<K, A>
  windowedBy(windows: Windows): object {
    assertWindows(windows, 'windowedBy')
    return windows.kind === 'session'
      ? new SessionWindowedCogroupedKStreamImpl(this.#cogroup, windows)
      : new TimeWindowedCogroupedKStreamImpl(this.#cogroup, windows)
  }
}

/** Java's TimeWindowedCogroupedKStreamImpl and SlidingWindowedCogroupedKStreamImpl. */
export class TimeWindowedCogroupedKStreamImpl<K, A, R> implements TimeWindowedCogroupedKStream<
  K,
  A,
  R
> {
  readonly #cogroup: Cogroup
  readonly #windows: TimeBasedWindows | SlidingWindows

  constructor(cogroup: Cogroup, windows: TimeBasedWindows | SlidingWindows) {
    this.#cogroup = cogroup
    this.#windows = windows
  }

  aggregate(
    initializer: () => A,
    options?: WindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, Emitted<A, R>> {
    assertFunction(initializer, 'the initializer of aggregate')
    const windows = this.#windows
    return windowedAggregate(this.#cogroup, { windows, options }, (table, aggregator) =>
      windowOperator(table, windows, { initializer, aggregator }),
    )
  }
}

/** Java's SessionWindowedCogroupedKStreamImpl. */
export class SessionWindowedCogroupedKStreamImpl<K, A> implements SessionWindowedCogroupedKStream<
  K,
  A
> {
  readonly #cogroup: Cogroup
  readonly #windows: SessionWindows

  constructor(cogroup: Cogroup, windows: SessionWindows) {
    this.#cogroup = cogroup
    this.#windows = windows
  }

  aggregate(
    initializer: () => A,
    merger: (one: A, two: A, key: K) => A,
    options?: SessionWindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, A | null> {
    assertFunction(initializer, 'the initializer of aggregate')
    assertFunction(merger, 'the merger of aggregate')
    const windows = this.#windows
    return windowedAggregate(this.#cogroup, { windows, options }, (table, aggregator) =>
      kstreamSessionWindowAggregate(table, windows, { initializer, aggregator, merger }),
    )
  }
}

/** What both kinds of windows have in common: the store, its rows, and when windows close. */
function windowedAggregate<K, A, E>(
  { first, builder }: Cogroup,
  { windows, options }: { windows: Windows; options: WindowedAggregateOptions | undefined },
  operator: (table: WindowedTable, aggregator: AggregateFunction) => NodeSupplier,
): KTable<Windowed<K>, A, E> {
  const { graph, key } = first.state
  const store = new WindowedMaterialized(options, {
    names: graph.names,
    prefix: cogroupAggregatePrefix,
    step: `cogroup of ${first.step}`,
    inherited: { key, value: options?.value },
    windows,
    emit,
  })
  const { storeName } = store
  return builder.build({
    name: options?.name,
    store,
    key: store.windowedKey,
    table: { view: windowedView(windows, storeName) },
    gracePeriod: closingTimeOf(windows),
    supplier: (aggregator, sendOldValues) =>
      operator({ storeName, sendOldValues, emit }, aggregator),
  })
}
