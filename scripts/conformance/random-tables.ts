/** Steps of tables in a random program: groups, joins of both kinds, transformed values. */
import type { Step, StoreSpec } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { randomFunction } from './typed-functions.ts'

type Add = (step: Omit<Step, 'id'>) => string

interface Knows {
  readonly key: boolean
  readonly value: boolean
}

/** A table of the program, with the serdes that both sides carry at this point. */
export interface RandomTable {
  readonly id: string
  readonly key: string
  readonly value: string
  readonly javaKnows: Knows
  readonly known: Knows
}

/** Makes a store of a step with that probability. */
type MakeStore = (
  serdes: { key: string; value: string },
  probability: number,
) => { store?: string | StoreSpec }

const tries = 20
const both = { key: true, value: true }

/** Adds steps below tables. */
export class RandomTables {
  readonly #chance: Chance
  readonly #add: Add
  readonly #store: MakeStore

  constructor(chance: Chance, add: Add, store: MakeStore) {
    this.#chance = chance
    this.#add = add
    this.#store = store
  }

  /** Adds a step, with others of the open tables if it needs them; undefined when none fits. */
  step(from: RandomTable, tables: readonly RandomTable[]): RandomTable | undefined {
    return this.#chance.pick([
      () => this.#join(from, tables),
      () => this.#join(from, tables),
      () => this.#joinForeignKey(from, tables),
      () => this.#group(from),
      () => this.#group(from),
      () => this.#transform(from),
    ])()
  }

  #join(from: RandomTable, tables: readonly RandomTable[]): RandomTable {
    const other = this.#chance.pick(tables.filter(({ key }) => key === from.key))
    const op = this.#chance.pick(['join', 'leftJoin', 'outerJoin'])
    const [joiner, value] = this.#joiner(from, other)
    const store = this.#store({ key: from.key, value }, 0.4)
    const step = { op, from: [from.id, other.id], with: joiner, ...this.#chance.name(), ...store }
    return this.#result(from, this.#add(step), value, store)
  }

  #joinForeignKey(from: RandomTable, tables: readonly RandomTable[]): RandomTable | undefined {
    const knowsAll = ({ javaKnows, known }: RandomTable): boolean =>
      javaKnows.key && javaKnows.value && known.key && known.value
    if (!knowsAll(from)) return undefined
    const other = this.#chance.pick([from, ...tables.filter(knowsAll)])
    const foreignKey = this.#functionTo(other.key, from)
    if (foreignKey === undefined) return undefined
    const [joiner, value] = this.#joiner(from, other)
    const op = this.#chance.pick(['foreignKeyJoin', 'foreignKeyLeftJoin'])
    const store = this.#store({ key: from.key, value }, 0.4)
    const stated = store.store === undefined && this.#chance.is(0.5) ? { value } : {}
    const id = this.#add({
      op,
      from: [from.id, other.id],
      with: [joiner, foreignKey],
      ...this.#chance.name(),
      ...store,
      ...stated,
    })
    if (stated.value === undefined) return this.#result(from, id, value, store)
    return { id, key: from.key, value, javaKnows: both, known: both }
  }

  #joiner(left: RandomTable, right: RandomTable): readonly [spec: string, type: string] {
    return this.#chance.pick([
      ['pair:+', 'string'],
      ['pair:', 'string'],
      ['no-pair-of:to', 'string'],
      ['left', left.value],
      ['right', right.value],
      ['neither', 'string'],
    ] as const)
  }

  #functionTo(type: string, from: RandomTable): string | undefined {
    for (let i = 0; i < tries; i += 1) {
      const [spec, result] = randomFunction(this.#chance, from)
      if (result === type) return spec
    }
    return undefined
  }

  #group(from: RandomTable): RandomTable | undefined {
    const [toKey, key] = randomFunction(this.#chance, from)
    const [toValue, value] = randomFunction(this.#chance, from)
    // Kafka Streams takes arrays of bytes for equal only when they are the same object.
    if (key === 'bytes') return undefined
    const grouped = this.#add({
      op: 'groupBy',
      from: from.id,
      with: [toKey, toValue],
      key,
      value,
      ...this.#chance.name(0.3),
    })
    return this.#aggregate({ id: grouped, key, value })
  }

  #aggregate(grouped: { id: string; key: string; value: string }): RandomTable {
    const { id: from, key, value } = grouped
    const table = { key, javaKnows: both, known: both }
    const name = this.#chance.name()
    const op = this.#chance.pick(['count', 'reduce', 'aggregate'])
    if (op === 'count') {
      const id = this.#add({ op, from, ...name, ...this.#store({ key, value: 'long' }, 0.6) })
      return { ...table, id, value: 'long' }
    }
    if (op === 'reduce') {
      const functions = this.#chance.pick(
        value === 'string'
          ? [
              ['append', 'erase'],
              ['concat-until:9', 'first'],
              ['last', 'null-on:drop'],
            ]
          : [
              ['last', 'first'],
              ['first', 'nothing'],
              ...(value === 'long' ? [['sum', 'minus']] : []),
            ],
      )
      const store = this.#store({ key, value }, 0.6)
      const id = this.#add({ op, from, with: functions, ...name, ...store })
      return { ...table, id, value }
    }
    const isFraction = value === 'double' || value === 'float'
    const [initializer, adder, subtractor, type] = this.#chance.pick([
      ['constant:', 'append', 'erase', 'string'],
      ['constant:0', 'concat', 'nothing', 'string'],
      ['null', 'concat-keyed', 'first', 'string'],
      ...(isFraction ? [] : ([['number:0', 'sum', 'minus', 'long']] as const)),
    ] as const)
    const store = this.#store({ key, value: type }, 0.6)
    const stated = store.store === undefined ? { value: type } : store
    const functions = [initializer, adder, subtractor]
    const id = this.#add({ op, from, with: functions, ...name, ...stated })
    return { ...table, id, value: type }
  }

  #transform(from: RandomTable): RandomTable {
    const transformer = this.#chance.pick([
      'value-and-time',
      'never-gone',
      'headers',
      'origin',
      'calls',
    ])
    const store = this.#store({ key: from.key, value: 'string' }, 0.4)
    const id = this.#add({
      op: 'transformValues',
      from: from.id,
      transformer,
      ...(transformer === 'calls' && { stores: [`calls-${this.#chance.number()}`] }),
      ...this.#chance.name(),
      ...store,
    })
    return this.#result(from, id, 'string', store)
  }

  /** The key is that of the table above; the value is known only to a store. */
  #result(from: RandomTable, id: string, value: string, store: { store?: unknown }): RandomTable {
    const { key, javaKnows, known } = from
    if (store.store !== undefined) return { id, key, value, javaKnows: both, known: both }
    return {
      id,
      key,
      value,
      javaKnows: { key: javaKnows.key, value: false },
      known: { key: known.key, value: false },
    }
  }
}
