/** Steps of a random program that give other keys and values: maps, and lists of them. */
import type { Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import type { RandomSide } from './random-joins.ts'
import { randomFunction, randomListFunction } from './typed-functions.ts'

export type ChangeKind = 'map' | 'mapValues' | 'selectKey' | 'flat'

/** Records multiply in lists; a chain of more than this many steps of lists is not made longer. */
const listStepsMax = 2

/** Adds steps below streams. */
export class RandomChanges {
  readonly #chance: Chance
  readonly #add: (step: Omit<Step, 'id'>) => string

  constructor(chance: Chance, add: (step: Omit<Step, 'id'>) => string) {
    this.#chance = chance
    this.#add = add
  }

  /** Adds a step below a stream; undefined: not with so many lists above. */
  step<S extends RandomSide>(from: S, kind: ChangeKind): S | undefined {
    switch (kind) {
      case 'map': {
        const [toKey, key] = randomFunction(this.#chance, from)
        const [toValue, value] = randomFunction(this.#chance, from)
        return this.#change(from, { op: 'map', with: [toKey, toValue] }, { key, value })
      }
      case 'mapValues': {
        const [spec, value] = randomFunction(this.#chance, from)
        return this.#change(from, { op: 'mapValues', with: spec }, { value })
      }
      case 'selectKey': {
        const [spec, key] = randomFunction(this.#chance, from)
        return this.#change(from, { op: 'selectKey', with: spec }, { key })
      }
      case 'flat':
        return from.listSteps < listStepsMax ? this.#flat(from) : undefined
      default:
        throw new TypeError(kind satisfies never)
    }
  }

  #flat<S extends RandomSide>(from: S): S {
    const [list, item] = randomListFunction(this.#chance, from.value)
    if (this.#chance.is(0.5)) {
      return this.#change(from, { op: 'flatMapValues', with: list }, { value: item }, 1)
    }
    const [toKey, key] = randomFunction(this.#chance, { ...from, value: item })
    const [toValue, value] = randomFunction(this.#chance, { ...from, value: item })
    const step = { op: 'flatMap', with: [list, toKey, toValue] }
    return this.#change(from, step, { key, value }, 1)
  }

  /** It may state the serdes of what it gives. */
  #change<S extends RandomSide>(
    from: S,
    step: { op: string; with: string | string[] },
    types: { key?: string; value?: string },
    listSteps = 0,
  ): S {
    const stated = this.#chance.is(0.5) ? types : {}
    const id = this.#add({ ...step, from: from.id, ...stated, ...this.#chance.name() })
    const changes = { key: types.key !== undefined, value: types.value !== undefined }
    return {
      ...from,
      ...types,
      id,
      javaKnows: {
        key: from.javaKnows.key && !changes.key,
        value: from.javaKnows.value && !changes.value,
      },
      known: {
        key: changes.key ? stated.key !== undefined : from.known.key,
        value: changes.value ? stated.value !== undefined : from.known.value,
      },
      changedKey: from.changedKey || changes.key,
      listSteps: from.listSteps + listSteps,
    }
  }
}
