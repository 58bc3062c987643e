import { requiredSerde } from '../materialized.ts'
import type { AnySerde } from '../topic.ts'
import { subscriptionResponseWrapperSerde } from './subscription-response-wrapper.ts'
import { subscriptionWrapperSerde } from './subscription-wrapper.ts'

/** The serdes of one table as far as they are known. */
interface Serdes {
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
}

/** The serdes of a foreign-key join. Each is asked for when the topology is built, and may be missing. */
export class ForeignKeyJoinSerdes {
  readonly #left: Serdes
  readonly #right: Serdes
  readonly #step: string
  #subscription: AnySerde | undefined
  #response: AnySerde | undefined

  /** `step` is for messages. */
  constructor({ left, right, step }: { left: Serdes; right: Serdes; step: string }) {
    this.#left = left
    this.#right = right
    this.#step = step
  }

  get primaryKey(): AnySerde {
    return requiredSerde(this.#left.key, 'key', `the left table of ${this.#step}`)
  }

  get leftValue(): AnySerde {
    return requiredSerde(this.#left.value, 'value', `the left table of ${this.#step}`)
  }

  get foreignKey(): AnySerde {
    return requiredSerde(this.#right.key, 'key', `the right table of ${this.#step}`)
  }

  get subscription(): AnySerde {
    this.#subscription ??= subscriptionWrapperSerde(this.primaryKey)
    return this.#subscription
  }

  get response(): AnySerde {
    const value = requiredSerde(this.#right.value, 'value', `the right table of ${this.#step}`)
    this.#response ??= subscriptionResponseWrapperSerde(value)
    return this.#response
  }
}
