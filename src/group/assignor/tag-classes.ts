import type { ProcessState } from './process-state.ts'

/**
 * How far apart processes are by their tags. Processes with the same values are one class: there are few
 * classes, and what two of them share is counted once.
 */
export class TagClasses {
  readonly #processes: readonly ProcessState[]
  /** The class of each process, by its number. */
  readonly #classes: Int32Array
  readonly #classCount: number
  /** Tags that two classes share, by both their numbers. */
  readonly #shared: Int32Array
  /** What {@link clashesByProcess} returns. */
  readonly #clashes: Int32Array

  constructor(processes: readonly ProcessState[], tags: readonly string[]) {
    this.#processes = processes
    const numbers = new Map<string, number>()
    const values: (string | undefined)[][] = []
    this.#classes = Int32Array.from(processes, (process) => {
      const own = tags.map((tag) => process.tags.get(tag))
      // A tag that is not there is null here, which is no text.
      const key = JSON.stringify(own)
      const known = numbers.get(key)
      if (known !== undefined) return known
      numbers.set(key, values.length)
      return values.push(own) - 1
    })
    this.#classCount = values.length
    this.#shared = Int32Array.from({ length: values.length ** 2 }, (_, pair) => {
      const a = values[Math.floor(pair / values.length)] ?? []
      const b = values[pair % values.length] ?? []
      return a.reduce((sum, value, tag) => sum + (value === b[tag] ? 1 : 0), 0)
    })
    this.#clashes = new Int32Array(processes.length)
  }

  /** All processes are alike: no place is better than another. */
  get isOne(): boolean {
    return this.#classCount === 1
  }

  /** How many copies share the value of a tag with the process, summed over the tags. */
  clashes(holders: readonly ProcessState[], process: ProcessState): number {
    const row = (this.#classes[process.index] ?? 0) * this.#classCount
    let clashes = 0
    for (const { index } of holders) clashes += this.#shared[row + (this.#classes[index] ?? 0)] ?? 0
    return clashes
  }

  /** The same of every process, by its number; valid until the next call. */
  clashesByProcess(holders: readonly ProcessState[]): Int32Array {
    const all = this.#clashes
    if (this.isOne) return all
    all.fill(0)
    for (const { index } of holders) {
      const row = (this.#classes[index] ?? 0) * this.#classCount
      for (let process = 0; process < all.length; process += 1) {
        const shared = this.#shared[row + (this.#classes[process] ?? 0)] ?? 0
        all[process] = (all[process] ?? 0) + shared
      }
    }
    return all
  }

  /** No process without a copy shares less with the holders. */
  isAmongBest(process: ProcessState, holders: readonly ProcessState[]): boolean {
    if (this.isOne) return true
    const own = this.clashes(holders, process)
    if (own === 0) return true
    const all = this.clashesByProcess(holders)
    return this.#processes.every((one) => (all[one.index] ?? 0) >= own || holders.includes(one))
  }
}
