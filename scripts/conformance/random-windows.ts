/** Aggregations in windows, cogroups and suppressions of a random program. */
import type { Step, StoreSpec, WindowsSpec } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { randomAggregator, randomReducer } from './typed-functions.ts'

type Add = (step: Omit<Step, 'id'>) => string

/** A table that was added: the types of its keys and values. */
export interface WindowedTable {
  readonly id: string
  readonly key: string
  readonly value: string
}

const sizes = [1, 5, 10, 60, 1000]
const graces = [0, 0, 1, 5, 30, 1000, 100_000]

/** Makes tables of grouped streams. */
export class RandomWindows {
  readonly #chance: Chance
  readonly #add: Add

  constructor(chance: Chance, add: Add) {
    this.#chance = chance
    this.#add = add
  }

  /** Adds an aggregation in windows. */
  aggregate({ id, key, value }: WindowedTable): WindowedTable {
    const into = this.#windows()
    let from = this.#add({ op: 'windowedBy', from: id, into })
    if (this.#chance.is(0.35)) {
      // Few windows can emit on close; both sides refuse the others.
      const canClose = into.kind !== 'unlimited' && into.kind !== 'custom'
      const strategy =
        canClose || this.#chance.is(0.05) ? 'on-window-close' : ('on-window-update' as const)
      from = this.#add({ op: 'emitStrategy', from, strategy })
    }
    const windowedKey = keyIn(into, key)
    const op = this.#chance.pick(['count', 'reduce', 'aggregate'])
    const step = { op, from, ...this.#chance.name() }
    if (op === 'count') {
      const store = this.#store({ key, value: 'long' }, into)
      return { id: this.#add({ ...step, ...store }), key: windowedKey, value: 'long' }
    }
    if (op === 'reduce') {
      const spec = randomReducer(this.#chance, value)
      const store = this.#store({ key, value }, into, true)
      return { id: this.#add({ ...step, with: spec, ...store }), key: windowedKey, value }
    }
    const [initializer, fold, result] = randomAggregator(this.#chance, value)
    const merger = into.kind === 'session' ? [this.#merger(result)] : []
    const store = this.#store({ key, value: result }, into, true)
    const functions = [initializer, fold, ...merger]
    return {
      id: this.#add({ ...step, with: functions, ...this.#stated(store, { key, value: result }) }),
      key: windowedKey,
      value: result,
    }
  }

  /** Adds a cogroup of streams that are grouped by keys of one type, and its aggregation. */
  cogroup(grouped: readonly WindowedTable[]): WindowedTable {
    const { key } = grouped[0] as WindowedTable
    const serdes = { key, value: 'string' }
    let id = ''
    for (const [index, { id: stream }] of grouped.entries()) {
      const fold = this.#chance.pick([
        'concat',
        'concat',
        'concat-keyed',
        'concat-until:9',
        'first',
      ])
      const from = index === 0 ? stream : [id, stream]
      id = this.#add({ op: 'cogroup', from, with: fold })
    }
    if (this.#chance.is(0.4)) {
      const store = this.#store(serdes, undefined, true)
      const step = { op: 'aggregate', from: id, with: 'constant:0', ...this.#chance.name() }
      return { id: this.#add({ ...step, ...this.#stated(store, serdes) }), ...serdes }
    }
    const into = this.#windows()
    const from = this.#add({ op: 'windowedBy', from: id, into })
    const merger = into.kind === 'session' ? [this.#merger('string')] : []
    const store = this.#store(serdes, into, true)
    const step = { op: 'aggregate', from, with: ['constant:0', ...merger], ...this.#chance.name() }
    return {
      id: this.#add({ ...step, ...this.#stated(store, serdes) }),
      key: keyIn(into, key),
      value: 'string',
    }
  }

  /** Adds a suppression of a table. */
  suppress(from: WindowedTable): string {
    const isWindowed = from.key.startsWith('windowed:') || from.key.startsWith('session:')
    const isFinal = this.#chance.is(isWindowed ? 0.6 : 0.03)
    const onFull = isFinal || this.#chance.is(0.3) ? 'shut-down' : 'emit-early'
    return this.#add({
      op: 'suppress',
      from: from.id,
      until: isFinal ? 'window-closes' : this.#chance.pick([0, 1, 5, 30, 1000]),
      buffer: this.#chance.is(0.6)
        ? 'unbounded'
        : this.#chance.pick([
            { maxRecords: this.#chance.below(4), onFull },
            { maxBytes: 40 + this.#chance.below(300), onFull },
          ]),
      // Kafka Streams does not look at names of suppressions; Millpond refuses what is no name.
      ...(this.#chance.is(0.2) && { name: `held-${this.#chance.number()}` }),
      ...(this.#chance.is(0.1) && { changelog: false }),
    })
  }

  #windows(): WindowsSpec {
    const size = this.#chance.pick(sizes)
    const grace = this.#chance.pick(graces)
    switch (this.#chance.below(10)) {
      case 0:
      case 1:
        return { kind: 'time', size, grace }
      case 2:
      case 3: {
        const advance = Math.max(1, Math.ceil(size / (1 + this.#chance.below(5))))
        return { kind: 'time', size, advance, grace }
      }
      case 4:
      case 5:
        return { kind: 'sliding', timeDifference: size, grace }
      case 6:
      case 7:
        return { kind: 'session', gap: this.#chance.pick([0, ...sizes]), grace }
      case 8:
        return { kind: 'unlimited', start: this.#chance.pick([0, 10]) }
      default:
        return { kind: 'custom', size, grace, offset: this.#chance.below(20) }
    }
  }

  #merger(type: string): string {
    return this.#chance.pick(
      type === 'long' ? ['sum', 'first', 'last'] : ['concat', 'concat', 'first', 'last', 'longest'],
    )
  }

  /** An unnamed store states the serdes that nobody knows. */
  #stated(
    store: { store?: string | StoreSpec; retention?: number },
    serdes: { key: string; value: string },
  ): Partial<Step> {
    return store.store === undefined ? { ...store, ...serdes } : store
  }

  #store(
    { key, value }: { key: string; value: string },
    into: WindowsSpec | undefined,
    stated = false,
  ): { store?: string | StoreSpec; retention?: number } {
    const retention = this.#retention(into)
    if (!this.#chance.is(0.7)) return retention === undefined ? {} : { retention }
    const name = this.#chance.name(1).name ?? 'store'
    if (!stated && this.#chance.is(0.3)) return { store: name }
    const isInMemory = this.#chance.is(0.5)
    return {
      store: {
        name,
        key,
        value,
        // Kafka Streams shows a row of memory twice when a cached key is the beginning of another.
        ...((this.#chance.is(0.4) || (isInMemory && key === 'bytes')) && { caching: false }),
        ...(isInMemory && { persistent: false }),
        ...(this.#chance.is(0.1) && { changelog: false }),
        ...(retention !== undefined && { retention }),
      },
    }
  }

  /** Mostly none; rarely one that is too short. */
  #retention(into: WindowsSpec | undefined): number | undefined {
    if (into === undefined || into.kind === 'unlimited' || !this.#chance.is(0.2)) return undefined
    if (this.#chance.is(0.1)) return this.#chance.below(10)
    return this.#chance.pick([200_000, 500_000, 10_000_000])
  }
}

function keyIn({ kind, size, timeDifference }: WindowsSpec, key: string): string {
  if (kind === 'session') return `session:${key}`
  return `windowed:${size ?? timeDifference ?? ''}:${key}`
}
