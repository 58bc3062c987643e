import { assertName } from '../base/legal-name.ts'
import { StreamsError } from '../errors.ts'

/** The name of a step; absent: the engine gives it one, as Kafka Streams does. Java's Named. */
export interface Named {
  /** Letters, digits, `.`, `_` and `-`, at most 249; unique in the topology. */
  readonly name?: string
}

const nameDigits = 10
const numberedName = /^KSTREAM.*-[0-9]{10}$/

/** The nodes of a repartition step. */
export interface RepartitionNames {
  readonly topic: string
  readonly filter: string
  readonly sink: string
  readonly source: string
}

/**
 * Gives steps and stores their names. There is one counter, and every step takes a number even
 * when it has a name of its own: so naming one step does not rename the others. Java's
 * InternalNameProvider.
 */
export class NameProvider {
  #next = 0
  readonly #generated = new Set<string>()

  /** The given name, checked, or a generated one. Takes a number in both cases. */
  step(prefix: string, name?: string): string {
    const generated = `${prefix}${this.#number()}`
    if (name === undefined) return this.#kept(generated)
    assertName(name, `a step (instead of ${generated})`)
    return name
  }

  /** The given name, checked, or a generated one, which alone takes a number: Java's process. */
  unnumberedStep(prefix: string, name?: string): string {
    if (name === undefined) return this.step(prefix)
    assertName(name, `a step (${prefix})`)
    return name
  }

  /** The given name with the suffix, or a generated one. Takes a number in both cases. */
  suffixedStep(prefix: string, suffix: string, name?: string): string {
    if (name !== undefined) assertName(name, `a step (${prefix})`)
    return this.step(prefix, name === undefined ? undefined : `${name}${suffix}`)
  }

  /** A name for a store that the user did not name. */
  store(prefix: string): string {
    return this.#kept(`${prefix}STATE-STORE-${this.#number()}`)
  }

  /** Names for a repartition step; three numbers are taken, whether they are used or not. */
  repartition(prefix: string): RepartitionNames {
    const topic = prefix.endsWith('-repartition') ? prefix : `${prefix}-repartition`
    const sink = this.step('KSTREAM-SINK-')
    const filter = this.step('KSTREAM-FILTER-')
    const source = this.step('KSTREAM-SOURCE-')
    if (numberedName.test(prefix)) return { topic, filter, sink, source }
    return {
      topic,
      filter: `${topic}-filter`,
      sink: `${topic}-sink`,
      source: `${topic}-source`,
    }
  }

  /** True: the name, or what it begins with, was made up here. */
  isGenerated(name: string): boolean {
    return [...this.#generated].some((generated) => name.startsWith(generated))
  }

  /** One that goes on from here by itself: what it names leaves no trace. */
  copy(): NameProvider {
    const copy = new NameProvider()
    copy.#next = this.#next
    return copy
  }

  #kept(generated: string): string {
    this.#generated.add(generated)
    return generated
  }

  #number(): string {
    const number = String(this.#next).padStart(nameDigits, '0')
    this.#next += 1
    return number
  }
}

/** Refuses an operator that was given no function. `what` is for the message. */
export function assertFunction(given: unknown, what: string): void {
  if (typeof given === 'function') return
  const detail = `${what} must be a function, it is ${given === null ? 'null' : typeof given}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
