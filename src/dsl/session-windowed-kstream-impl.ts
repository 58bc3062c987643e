import type { NodeSupplier } from '../processor/processor.ts'
import { serdes } from '../serde/serdes.ts'
import type { Windowed } from '../serde/windowed.ts'
import { assertEmitStrategy, type EmitStrategy } from './emit-strategy.ts'
import type { GroupedStreamAggregateBuilder } from './grouped-stream-aggregate-builder.ts'
import type { KTable } from './ktable.ts'
import { assertFunction } from './naming.ts'
import { counting, reducing } from './operators/aggregation.ts'
import {
  kstreamSessionWindowAggregate,
  type SessionAggregation,
} from './operators/kstream-session-window-aggregate.ts'
import type { WindowedTable } from './operators/windowed-table.ts'
import type { SerdeOf } from './topic.ts'
import {
  burnStoreName,
  windowedAggregate,
  type WindowedAggregateCall,
} from './windowed-aggregate.ts'
import type {
  EmittedSession,
  SessionWindowedKStream,
  SessionWindowedOptions,
} from './windowed-kstream.ts'
import type { SessionWindows } from './windows.ts'

const aggregatePrefix = 'KSTREAM-AGGREGATE-'
const reducePrefix = 'KSTREAM-REDUCE-'

/** Java's SessionWindowedKStreamImpl. */
export class SessionWindowedKStreamImpl<
  K,
  V,
  S extends EmitStrategy,
> implements SessionWindowedKStream<K, V, S> {
  readonly #grouped: GroupedStreamAggregateBuilder
  readonly #windows: SessionWindows
  readonly #emit: S

  constructor(grouped: GroupedStreamAggregateBuilder, windows: SessionWindows, emit: S) {
    this.#grouped = grouped
    this.#windows = windows
    this.#emit = emit
  }

  emitStrategy<S2 extends EmitStrategy>(strategy: S2): SessionWindowedKStream<K, V, S2> {
    assertEmitStrategy(strategy)
    return new SessionWindowedKStreamImpl<K, V, S2>(this.#grouped, this.#windows, strategy)
  }

  count(
    options?: SessionWindowedOptions<K, number>,
  ): KTable<Windowed<K>, number, EmittedSession<S, number>> {
    burnStoreName(this.#grouped, aggregatePrefix, options)
    const merger = (one: number, two: number): number => one + two
    const call = { prefix: aggregatePrefix, options, value: serdes.long }
    return this.#aggregate(call, { ...counting, merger })
  }

  reduce(
    reducer: (aggregate: NonNullable<V>, value: V) => NonNullable<V> | null | undefined,
    options?: SessionWindowedOptions<K, NonNullable<V>>,
  ): KTable<Windowed<K>, NonNullable<V>, EmittedSession<S, NonNullable<V>>> {
    assertFunction(reducer, 'the reducer of reduce')
    const aggregation = reducing(reducer)
    const call = { prefix: reducePrefix, options, value: this.#grouped.state.value }
    return this.#aggregate(call, { ...aggregation, merger: aggregation.aggregator })
  }

  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>>(
    initializer: () => A,
    aggregator: (aggregate: A, value: V, key: K) => A | null | undefined,
    merger: (one: A, two: A, key: K) => A,
    options?: SessionWindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, EmittedSession<S, A>> {
    assertFunction(initializer, 'the initializer of aggregate')
    assertFunction(aggregator, 'the aggregator of aggregate')
    assertFunction(merger, 'the merger of aggregate')
    const call = { prefix: aggregatePrefix, options, value: options?.value }
    return this.#aggregate(call, { initializer, aggregator, merger })
  }

  #aggregate<A>(
    call: Omit<WindowedAggregateCall, 'supplier'>,
    aggregation: SessionAggregation,
  ): KTable<Windowed<K>, A, EmittedSession<S, A>> {
    const windows = this.#windows
    const supplier = (table: WindowedTable): NodeSupplier =>
      kstreamSessionWindowAggregate(table, windows, aggregation)
    return windowedAggregate(this.#grouped, { windows, emit: this.#emit }, { ...call, supplier })
  }
}
