import { StreamsError } from '../errors.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import { serdes } from '../serde/serdes.ts'
import type { Windowed } from '../serde/windowed.ts'
import { assertEmitStrategy, type EmitStrategy } from './emit-strategy.ts'
import type { GroupedStreamAggregateBuilder } from './grouped-stream-aggregate-builder.ts'
import type { KTable } from './ktable.ts'
import { assertFunction } from './naming.ts'
import { kstreamSlidingWindowAggregate } from './operators/kstream-sliding-window-aggregate.ts'
import { kstreamWindowAggregate } from './operators/kstream-window-aggregate.ts'
import { counting, reducing, type Aggregation } from './operators/aggregation.ts'
import type { WindowedTable } from './operators/windowed-table.ts'
import type { SerdeOf } from './topic.ts'
import {
  burnStoreName,
  windowedAggregate,
  type WindowedAggregateCall,
} from './windowed-aggregate.ts'
import type { EmittedBy, TimeWindowedKStream, WindowedOptions } from './windowed-kstream.ts'
import type { SlidingWindows, TimeBasedWindows } from './windows.ts'

const aggregatePrefix = 'KSTREAM-AGGREGATE-'
const reducePrefix = 'KSTREAM-REDUCE-'

/** Java's TimeWindowedKStreamImpl and SlidingWindowedKStreamImpl. */
export class WindowedKStreamImpl<K, V, S extends EmitStrategy> implements TimeWindowedKStream<
  K,
  V,
  S
> {
  readonly #grouped: GroupedStreamAggregateBuilder
  readonly #windows: TimeBasedWindows | SlidingWindows
  readonly #emit: S

  constructor(
    grouped: GroupedStreamAggregateBuilder,
    windows: TimeBasedWindows | SlidingWindows,
    emit: S,
  ) {
    this.#grouped = grouped
    this.#windows = windows
    this.#emit = emit
  }

  emitStrategy<S2 extends EmitStrategy>(strategy: S2): TimeWindowedKStream<K, V, S2> {
    assertEmitStrategy(strategy)
    const { kind } = this.#windows
    if (strategy === 'on-window-close' && kind !== 'time' && kind !== 'sliding') {
      const detail = `only time windows and sliding windows can emit on close, not ${kind} windows`
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    return new WindowedKStreamImpl<K, V, S2>(this.#grouped, this.#windows, strategy)
  }

  count(options?: WindowedOptions<K, number>): KTable<Windowed<K>, number, number> {
    if (this.#windows.kind !== 'sliding') burnStoreName(this.#grouped, aggregatePrefix, options)
    return this.#aggregate({ prefix: aggregatePrefix, options, value: serdes.long }, counting)
  }

  reduce<R extends NonNullable<V> | null | undefined>(
    reducer: (aggregate: NonNullable<V>, value: V) => R,
    options?: WindowedOptions<K, NonNullable<V>>,
  ): KTable<
    Windowed<K>,
    NonNullable<V>,
    EmittedBy<S, NonNullable<V>, R | Extract<V, null | undefined>>
  > {
    assertFunction(reducer, 'the reducer of reduce')
    const { value } = this.#grouped.state
    return this.#aggregate({ prefix: reducePrefix, options, value }, reducing(reducer))
  }

  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    initializer: () => A,
    aggregator: (aggregate: A, value: V, key: K) => R,
    options?: WindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, EmittedBy<S, A, R>> {
    assertFunction(initializer, 'the initializer of aggregate')
    assertFunction(aggregator, 'the aggregator of aggregate')
    return this.#aggregate(
      { prefix: aggregatePrefix, options, value: options?.value },
      { initializer, aggregator },
    )
  }

  #aggregate<A, E>(
    call: Omit<WindowedAggregateCall, 'supplier'>,
    aggregation: Aggregation,
  ): KTable<Windowed<K>, A, E> {
    const windows = this.#windows
    const supplier = (table: WindowedTable): NodeSupplier =>
      windowOperator(table, windows, aggregation)
    return windowedAggregate(this.#grouped, { windows, emit: this.#emit }, { ...call, supplier })
  }
}

/** The operator for windows of that kind. */
export function windowOperator(
  table: WindowedTable,
  windows: TimeBasedWindows | SlidingWindows,
  aggregation: Aggregation,
): NodeSupplier {
  return windows.kind === 'sliding'
    ? kstreamSlidingWindowAggregate(table, windows, aggregation)
    : kstreamWindowAggregate(table, windows, aggregation)
}
