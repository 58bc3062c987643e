import { describe, expect, test } from 'vitest'
import { Change } from '../../processor/change.ts'
import type { NodeContext, NodeProcessor, NodeSupplier } from '../../processor/processor.ts'
import type { RecordHeaders } from '../../store/state-store.ts'
import { kstreamAggregate } from './kstream-aggregate.ts'
import { kstreamBranch } from './kstream-branch.ts'
import { kstreamFilter } from './kstream-filter.ts'
import { kstreamFlatMap } from './kstream-flat-map.ts'
import { kstreamFlatMapValues } from './kstream-flat-map-values.ts'
import { kstreamMap } from './kstream-map.ts'
import { kstreamMapValues } from './kstream-map-values.ts'
import { kstreamForEach, kstreamPeek } from './kstream-peek.ts'
import { kstreamReduce } from './kstream-reduce.ts'
import { kstreamSelectKey } from './kstream-select-key.ts'
import { filtered, ktableFilter } from './ktable-filter.ts'
import { ktableMapValues, mapped } from './ktable-map-values.ts'
import { ktableSource } from './ktable-source.ts'
import { ktableToStream } from './ktable-to-stream.ts'
import { passThrough } from './pass-through.ts'
import { thrownBy } from '../../../test/peers/thrown-by.ts'

type Forwarded = readonly [key: unknown, value: unknown, timestamp: number]
type Listener = (key: unknown, newValue: unknown, oldValue: unknown, timestamp: number) => void

/** A store as an operator sees it; cached, it keeps back changes until `flush`. */
class HarnessStore {
  readonly rows = new Map<unknown, { value: unknown; timestamp: number }>()
  readonly cached: boolean
  listener: Listener | undefined

  constructor(mode: 'cached' | 'uncached') {
    this.cached = mode === 'cached'
  }

  get(key: unknown): { value: unknown; timestamp: number } | undefined {
    return this.rows.get(key)
  }

  put(key: unknown, value: unknown, timestamp: number): void {
    if (value === undefined) this.rows.delete(key)
    else this.rows.set(key, { value, timestamp })
  }
}

/** Runs one operator, with one child that records what arrives. */
class Harness implements NodeContext {
  readonly applicationId = 'app'
  readonly node = 'STEP'
  readonly taskId = '0_0'
  readonly headers: RecordHeaders = []
  readonly recordMetadata = undefined
  readonly streamTime = -1
  readonly emitIntervalMs = 0
  timestamp = 0
  readonly forwarded: Forwarded[] = []
  readonly droppedReasons: string[] = []
  readonly kept: HarnessStore
  /** Called when a record comes to the child, before the child looks at it. */
  onForward: (() => void) | undefined
  readonly #processor: NodeProcessor

  constructor(supplier: NodeSupplier, mode: 'cached' | 'uncached' = 'uncached') {
    this.kept = new HarnessStore(mode)
    this.#processor = supplier(this)
  }

  process(key: unknown, value: unknown, timestamp = 0): this {
    this.timestamp = timestamp
    this.#processor.process(key, value)
    return this
  }

  wallClockTime(): number {
    return 0
  }

  metadata(): undefined {}

  setMetadata(): void {
    throw new Error('not used here')
  }

  asyncStep(): never {
    throw new Error('not used here')
  }

  forwardFrom(): void {
    throw new Error('not used here')
  }

  forward(key: unknown, value: unknown): void {
    this.forwardAt(key, value, this.timestamp)
  }

  forwardAt(key: unknown, value: unknown, timestamp: number): void {
    this.onForward?.()
    // A child may not keep a Change: the harness copies what it sees.
    const seen = value instanceof Change ? [value.newValue, value.oldValue] : value
    this.forwarded.push([key, seen, timestamp])
  }

  forwardRecord(): void {
    throw new Error('no operator of this file forwards whole records')
  }

  store(): unknown {
    return this.kept
  }

  onStoreFlush(_name: string, listener: Listener): boolean {
    this.kept.listener = listener
    return this.kept.cached
  }

  schedule(): Disposable {
    throw new Error('no operator of this file schedules')
  }

  commit(): void {}

  dropped(reason: string): void {
    this.droppedReasons.push(reason)
  }
}

const stored = (sendOldValues = false) => ({ storeName: 'store', sendOldValues })
const notStored = (sendOldValues = false) => ({ storeName: undefined, sendOldValues })
const unversioned = { isVersioned: false }

describe('stateless operators of streams', () => {
  test('filter keeps or drops what the predicate says, value first', () => {
    const isLarge = (value: number, key: string): boolean => value > 1 && key !== 'never'
    const kept = new Harness(kstreamFilter(isLarge, 'keep'))
    kept.process('a', 1).process('b', 2).process('never', 3)
    const dropped = new Harness(kstreamFilter(isLarge, 'drop'))
    dropped.process('a', 1).process('b', 2).process('never', 3)

    expect(kept.forwarded).toEqual([['b', 2, 0]])
    expect(dropped.forwarded).toEqual([
      ['a', 1, 0],
      ['never', 3, 0],
    ])
  })

  test('map, mapValues and selectKey replace their part and keep the timestamp', () => {
    expect(
      new Harness(kstreamMap((value, key) => [value, key])).process('k', 'v', 7).forwarded,
    ).toEqual([['v', 'k', 7]])
    expect(
      new Harness(kstreamMapValues((value, key) => `${key}=${value}`)).process('k', 'v', 7)
        .forwarded,
    ).toEqual([['k', 'k=v', 7]])
    expect(
      new Harness(kstreamSelectKey((value, key) => `${value}/${key}`)).process('k', 'v', 7)
        .forwarded,
    ).toEqual([['v/k', 'v', 7]])
  })

  test('flatMap and flatMapValues give any number of records, from arrays and from iterables', () => {
    const pairs = new Harness(
      kstreamFlatMap((value: number[]) => value.map((item) => [item, -item] as const)),
    )
    expect(pairs.process('k', [1, 2], 3).process('k', []).forwarded).toEqual([
      [1, -1, 3],
      [2, -2, 3],
    ])
    const lazyPairs = new Harness(kstreamFlatMap((value: Map<string, number>) => value.entries()))
    expect(lazyPairs.process('k', new Map([['x', 1]])).forwarded).toEqual([['x', 1, 0]])
    const values = new Harness(kstreamFlatMapValues((value: string) => value.split(' ')))
    expect(values.process('k', 'a b').forwarded).toEqual([
      ['k', 'a', 0],
      ['k', 'b', 0],
    ])
    const lazyValues = new Harness(kstreamFlatMapValues((value: string) => new Set(value)))
    expect(lazyValues.process('k', 'aba').forwarded).toEqual([
      ['k', 'a', 0],
      ['k', 'b', 0],
    ])
  })

  test('peek passes on, forEach does not', () => {
    const seen: unknown[] = []
    const note = (value: unknown, key: unknown): void => void seen.push([key, value])

    expect(new Harness(kstreamPeek(note)).process('k', 'v').forwarded).toEqual([['k', 'v', 0]])
    expect(new Harness(kstreamForEach(note)).process('k', 'w').forwarded).toEqual([])
    expect(seen).toEqual([
      ['k', 'v'],
      ['k', 'w'],
    ])
    expect(new Harness(passThrough()).process(null, null).forwarded).toEqual([[null, null, 0]])
  })

  test.each([
    ['peek', kstreamPeek],
    ['forEach', kstreamForEach],
  ])('%s refuses a promise, which nobody would wait for', (_name, operator) => {
    const action = (): unknown => Promise.reject(new Error('nobody hears it'))
    const failure = thrownBy(() => new Harness(operator(action)).process('k', 'v'))

    expect(failure.code).toBe('PROCESSOR_ASYNC')
  })

  const later = (): never => Promise.reject(new Error('nobody hears it')) as never

  test.each<[string, NodeSupplier]>([
    ['filter', kstreamFilter(later, 'keep')],
    ['filterNot', kstreamFilter(later, 'drop')],
    ['split', kstreamBranch([{ child: 'a', predicate: later }], 'rest')],
    ['mapValues', kstreamMapValues(later)],
    ['map', kstreamMap(later)],
    ['map to a promise', kstreamMap((value) => ['k', Promise.resolve(value)])],
    ['flatMap', kstreamFlatMap(later)],
    ['flatMap to promises', kstreamFlatMap((value) => [['k', Promise.resolve(value)]])],
    ['flatMapValues', kstreamFlatMapValues(later)],
    ['flatMapValues to promises', kstreamFlatMapValues((value) => [Promise.resolve(value)])],
    ['selectKey', kstreamSelectKey(later)],
    ['aggregate', kstreamAggregate({ storeName: 's', sendOldValues: false }, () => 0, later)],
    ['an initializer', kstreamAggregate({ storeName: 's', sendOldValues: false }, later, () => 1)],
  ])('%s takes no promise for a value', (_name, supplier) => {
    const harness = new Harness(supplier)
    const failure = thrownBy(() => harness.process('k', 'v'))

    expect([failure.code, failure.context]).toEqual(['PROCESSOR_ASYNC', { node: 'STEP' }])
    expect(failure.message).toContain('mapValuesAsync')
    expect(harness.forwarded).toEqual([])
  })

  test('reduce takes no promise for a value', () => {
    const harness = new Harness(kstreamReduce({ storeName: 's', sendOldValues: false }, later))
    harness.process('k', 'v')
    expect(thrownBy(() => harness.process('k', 'w')).code).toBe('PROCESSOR_ASYNC')
    expect(harness.kept.get('k')?.value).toBe('v')
  })

  test('a field of the name then is data', () => {
    const value = JSON.parse('{ "then": 2 }') as unknown
    expect(new Harness(kstreamMapValues(() => value)).process('k', 'v').forwarded).toEqual([
      ['k', value, 0],
    ])
  })

  test.each<[string, NodeSupplier]>([
    [
      'filter',
      ktableFilter({ sendOldValues: false } as never, filtered(later, 'keep'), {
        isVersioned: false,
      }),
    ],
    ['mapValues', ktableMapValues({ sendOldValues: false } as never, mapped(later))],
  ])('%s of a table takes no promise for a value', (_name, supplier) => {
    const failure = thrownBy(() => new Harness(supplier).process('k', new Change('v', undefined)))
    expect(failure.code).toBe('PROCESSOR_ASYNC')
  })

  test('null keys and values flow through stateless operators', () => {
    const mapper = new Harness(kstreamMapValues((value) => value))
    expect(mapper.process(null, null).forwarded).toEqual([[null, null, 0]])
  })

  test.each<[string, NodeSupplier, string]>([
    [
      'map',
      kstreamMap(() => undefined as never),
      'STEP must give pairs [key, value], it gave undefined',
    ],
    ['map', kstreamMap(() => 'v' as never), 'it gave string'],
    ['map', kstreamMap(() => ['v'] as never), 'it gave an array of 1'],
    [
      'flatMap',
      kstreamFlatMap(() => undefined as never),
      'STEP must give an iterable, it gave undefined',
    ],
    ['flatMap', kstreamFlatMap(() => ['v'] as never), 'it gave string'],
    ['flatMap', kstreamFlatMap(() => new Set(['v']) as never), 'it gave string'],
    ['flatMapValues', kstreamFlatMapValues(() => undefined as never), 'it gave undefined'],
    ['flatMapValues', kstreamFlatMapValues(() => 5 as never), 'it gave number'],
    [
      'flatMapValues',
      kstreamFlatMapValues(() => 'text' as never),
      'it gave string: give [text] for one item, [...text] for its characters',
    ],
  ])('%s with a function that returns something else fails clearly', (_name, supplier, message) => {
    expect(() => new Harness(supplier).process('k', 'v')).toThrowError(message)
  })
})

describe('aggregations', () => {
  const count = (sendOldValues = false): NodeSupplier =>
    kstreamAggregate(
      stored(sendOldValues),
      () => 0,
      (sum: number) => sum + 1,
    )

  test('an aggregate has the latest timestamp of its records', () => {
    const harness = new Harness(count())
    harness.process('k', 'a', 5).process('k', 'b', 9).process('k', 'late', 7)

    expect(harness.forwarded).toEqual([
      ['k', [1, undefined], 5],
      ['k', [2, undefined], 9],
      ['k', [3, undefined], 9],
    ])
    expect(harness.kept.get('k')).toEqual({ value: 3, timestamp: 9 })
  })

  test('a record without key or value is dropped and counted', () => {
    const harness = new Harness(count())
    harness.process(null, 'v').process('k', null).process(undefined, 'v').process('k', undefined)

    expect(harness.forwarded).toEqual([])
    expect(harness.droppedReasons).toEqual(Array(4).fill('null-key-or-value'))
    expect(harness.kept.rows.size).toBe(0)
  })

  test('keys and values that are only falsy are not dropped', () => {
    const harness = new Harness(count())
    harness.process('', 0).process(0, '').process(false, false)

    expect(harness.droppedReasons).toEqual([])
    expect(harness.forwarded.map(([key]) => key)).toEqual(['', 0, false])
  })

  test('old values are sent on request; that of a new key is what the initializer gave', () => {
    const harness = new Harness(count(true))
    harness.process('k', 'a').process('k', 'b')

    expect(harness.forwarded.map(([, change]) => change)).toEqual([
      [1, 0],
      [2, 1],
    ])
  })

  test('an initializer that gives null leaves no old value', () => {
    const harness = new Harness(
      kstreamAggregate(
        stored(true),
        () => null,
        (before: string | null, now: string) => `${before}${now}`,
      ),
    )
    harness.process('k', 'a')

    expect(harness.forwarded.map(([, change]) => change)).toEqual([['nulla', undefined]])
  })

  test.each([null, undefined])('an aggregator that gives %s deletes', (nothing) => {
    const harness = new Harness(
      kstreamAggregate(
        stored(true),
        () => 10,
        (sum: number, value: number) => (value < 0 ? nothing : sum + value),
      ),
    )
    harness.process('k', 1, 1).process('k', -1, 2).process('k', 5, 1)

    expect(harness.forwarded).toEqual([
      ['k', [11, 10], 1],
      ['k', [undefined, 11], 2],
      // The deleted row is forgotten with its timestamp.
      ['k', [15, 10], 1],
    ])
  })

  test('reduce begins with the first value and drops what has no key or value', () => {
    const harness = new Harness(
      kstreamReduce(stored(true), (before: string, now: string) =>
        now === 'clear' ? null : before + now,
      ),
    )
    harness.process('k', 'a', 5).process('k', 'b', 3).process('k', null).process(null, 'c')
    harness.process('k', 'clear', 6).process('k', 'd', 1)

    expect(harness.forwarded).toEqual([
      ['k', ['a', undefined], 5],
      ['k', ['ab', 'a'], 5],
      ['k', [undefined, 'ab'], 6],
      ['k', ['d', undefined], 1],
    ])
    expect(harness.droppedReasons).toEqual(['null-key-or-value', 'null-key-or-value'])
  })

  test('a cached store forwards what its cache gives up, and nothing else', () => {
    const harness = new Harness(count(), 'cached')
    harness.process('k', 'a', 5).process('k', 'b', 6)
    expect(harness.forwarded).toEqual([])
    harness.kept.listener?.('k', 2, 0, 6)

    expect(harness.forwarded).toEqual([['k', [2, 0], 6]])
  })

  test('a change that arrives inside another one leaves the outer one whole', () => {
    const harness = new Harness(count(), 'cached')
    harness.onForward = () => {
      harness.onForward = undefined
      harness.kept.listener?.('inner', 20, 10, 2)
    }
    harness.kept.listener?.('outer', 2, 1, 1)

    expect(harness.forwarded).toEqual([
      ['inner', [20, 10], 2],
      ['outer', [2, 1], 1],
    ])
  })
})

describe('tables', () => {
  test('a source takes the last value, deletes on null, and drops what has no key', () => {
    const harness = new Harness(ktableSource(stored(true)))
    harness.process('k', 'a', 5).process('k', 'older', 3).process('k', null, 6).process(null, 'x')

    expect(harness.forwarded).toEqual([
      ['k', ['a', undefined], 5],
      ['k', ['older', 'a'], 3],
      ['k', [undefined, 'older'], 6],
    ])
    expect(harness.droppedReasons).toEqual(['null-key'])
    expect(harness.kept.rows.size).toBe(0)
  })

  test('a source that is not kept passes changes on without old values', () => {
    const harness = new Harness(ktableSource(notStored()))
    harness.process('k', 'a', 5).process('k', null, 6).process(null, 'x')

    expect(harness.forwarded).toEqual([
      ['k', ['a', undefined], 5],
      ['k', [undefined, undefined], 6],
    ])
    expect(harness.kept.rows.size).toBe(0)
    expect(harness.droppedReasons).toEqual(['null-key'])
  })

  const isEven = (value: number): boolean => value % 2 === 0

  test('filter deletes rows that do not hold, each time when old values are not known', () => {
    const harness = new Harness(ktableFilter(notStored(), filtered(isEven, 'keep'), unversioned))
    harness.process('k', new Change<unknown>(2, undefined), 1)
    harness.process('k', new Change<unknown>(3, undefined), 2)
    harness.process('k', new Change<unknown>(5, undefined), 3)

    expect(harness.forwarded).toEqual([
      ['k', [2, undefined], 1],
      ['k', [undefined, undefined], 2],
      ['k', [undefined, undefined], 3],
    ])
  })

  test('filter with old values passes on only what changes something', () => {
    const harness = new Harness(
      ktableFilter(notStored(true), filtered(isEven, 'drop'), unversioned),
    )
    harness.process('k', new Change<unknown>(2, undefined))
    harness.process('k', new Change<unknown>(3, 2))
    harness.process('k', new Change<unknown>(4, 3))
    harness.process('k', new Change<unknown>(undefined, 4))

    expect(harness.forwarded.map(([, change]) => change)).toEqual([
      [3, undefined],
      [undefined, 3],
    ])
  })

  test('a kept filter stores what holds, and finds old values in its store', () => {
    const harness = new Harness(ktableFilter(stored(true), filtered(isEven, 'keep'), unversioned))
    harness.process('k', new Change<unknown>(2, undefined), 1)
    harness.process('k', new Change<unknown>(3, undefined), 2)
    harness.process('k', new Change<unknown>(5, undefined), 3)

    expect(harness.forwarded).toEqual([
      ['k', [2, undefined], 1],
      ['k', [undefined, 2], 2],
    ])
    expect(harness.kept.rows.size).toBe(0)
  })

  test('mapValues maps both values, and null deletes', () => {
    const half = (value: number): number | null => (value === 0 ? null : value / 2)
    const harness = new Harness(ktableMapValues(notStored(true), mapped(half)))
    harness.process('k', new Change<unknown>(4, undefined), 1)
    harness.process('k', new Change<unknown>(0, 4), 2)
    harness.process('k', new Change<unknown>(undefined, 0), 3)

    expect(harness.forwarded).toEqual([
      ['k', [2, undefined], 1],
      ['k', [undefined, 2], 2],
      ['k', [undefined, undefined], 3],
    ])
  })

  test('kept mapValues stores the result with the timestamp of the change', () => {
    const harness = new Harness(
      ktableMapValues(
        stored(true),
        mapped((value: number) => value * 2),
      ),
    )
    harness.process('k', new Change<unknown>(4, undefined), 1)
    harness.process('k', new Change<unknown>(5, undefined), 2)

    expect(harness.forwarded).toEqual([
      ['k', [8, undefined], 1],
      ['k', [10, 8], 2],
    ])
    expect(harness.kept.get('k')).toEqual({ value: 10, timestamp: 2 })
  })

  test('toStream gives new values, and null where the row is gone', () => {
    const harness = new Harness(ktableToStream())
    harness.process('k', new Change<unknown>(0, 5), 1)
    harness.process('k', new Change<unknown>(undefined, 5), 2)

    expect(harness.forwarded).toEqual([
      ['k', 0, 1],
      ['k', null, 2],
    ])
  })
})
