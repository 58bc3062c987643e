import { randomInteger, seededRandom, type Random } from '../../src/base/random.ts'

/** What a generator asks of chance, and the names that it has given. */
export class Chance {
  readonly #random: Random
  readonly #names = new Set<string>()
  #nextNumber = 0

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  /** True with that probability. */
  is(probability: number): boolean {
    return this.#random.next() < probability
  }

  /** An integer in [0, bound). */
  below(bound: number): number {
    return randomInteger(this.#random, bound)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** A list of `leastCount` to `mostCount` items. */
  list<T>(leastCount: number, mostCount: number, make: () => T): T[] {
    return Array.from({ length: leastCount + this.below(mostCount - leastCount + 1) }, make)
  }

  /** A number that was not given yet. */
  number(): number {
    this.#nextNumber += 1
    return this.#nextNumber
  }

  /** Nothing, or a name; very rarely one that is taken or not allowed. */
  name(probability = 0.2): { name?: string } {
    if (!this.is(probability)) return {}
    if (this.is(0.01)) return { name: this.pick(['', 'a b', ...this.#names]) }
    return this.validName()
  }

  /** A name that is allowed, and not taken. */
  validName(): { name: string } {
    const words = ['count', 'by-user', 'Log', 'trim', 'x', 'KSTREAM-FILTER', 'last.seen', '0']
    const name = `${this.pick(words)}-${this.number()}`
    this.#names.add(name)
    return { name }
  }
}
