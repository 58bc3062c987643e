/** Global tables of a random program, joins with them, and global stores with processors. */
import type { Step, StoreSpec } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { serdeNames, type Serdes } from './random-script.ts'
import { randomFunction } from './typed-functions.ts'
import { randomTopicStore, type TopicStore } from './random-topic-store.ts'

type Add = (step: Omit<Step, 'id'>) => string

interface GlobalTable {
  readonly id: string
  readonly key: string
  readonly value: string
}

/** Joins streams with global tables, which it adds as it needs them. */
export class RandomGlobals {
  readonly #chance: Chance
  readonly #inputs: Map<string, Serdes>
  readonly #add: Add
  readonly #tables: GlobalTable[] = []

  /** The topics of the tables are noted in `inputs`. */
  constructor(chance: Chance, inputs: Map<string, Serdes>, add: Add) {
    this.#chance = chance
    this.#inputs = inputs
    this.#add = add
  }

  /** Adds a join with a stream; gives its id and the type of its values. */
  join(from: { id: string; key: string; value: string }): { id: string; value: string } {
    const [lookup, key] = randomFunction(this.#chance, from)
    const table = this.#table(key)
    const [joiner, value] = this.#chance.pick([
      ['pair:+', 'string'],
      ['keyed-pair:/', 'string'],
      ['left', from.value],
      ['right', table.value],
    ] as const)
    const id = this.#add({
      op: this.#chance.pick(['joinGlobalTable', 'leftJoinGlobalTable']),
      from: [from.id, table.id],
      with: [joiner, lookup],
      ...this.#chance.name(),
    })
    return { id, value }
  }

  #table(key: string): GlobalTable {
    const known = this.#tables.filter((table) => table.key === key)
    if (known.length > 0 && this.#chance.is(0.7)) return this.#chance.pick(known)
    const topic = `rows-${this.#chance.number()}`
    const serdes = { key, value: this.#chance.pick(serdeNames) }
    this.#inputs.set(topic, serdes)
    const step = { op: 'globalTable', topic, ...serdes, ...this.#chance.name(), ...this.#store() }
    const table = { id: this.#add(step), ...serdes }
    this.#tables.push(table)
    return table
  }

  #store(): { store?: string | StoreSpec } {
    if (!this.#chance.is(0.5)) return {}
    const name = this.#chance.name(1).name ?? 'store'
    if (this.#chance.is(0.5)) return { store: name }
    return { store: { name, caching: this.#chance.is(0.5), persistent: this.#chance.is(0.2) } }
  }
}

/** A global store of a program of processors, and a processor that reads it; or neither. */
export function randomGlobalStore(
  chance: Chance,
  inputs: Map<string, Serdes>,
): TopicStore | undefined {
  if (!chance.is(0.4)) return undefined
  return randomTopicStore(chance, inputs, { op: 'globalStore', topics: 'rows', stores: 'global' })
}
