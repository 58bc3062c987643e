import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'

/** Looks at every so many-th event only: what is wrong for less time nobody could see. */
const lookEvery = 4

/**
 * No task may be open at two instances at a time, be it that it restores, runs, or is being committed and closed. One that was cut off from the group cannot know that it has
 * lost its tasks: whatever it holds does not count until it has stopped, or heard of it.
 */
export class OwnershipWatch {
  readonly #instances: readonly SimulatedInstance[]
  readonly #onBreach: (what: string) => void
  /** Until when what an instance says of itself does not count. */
  readonly #disturbedUntil = new Map<SimulatedInstance, number>()
  #events = 0

  constructor(instances: readonly SimulatedInstance[], onBreach: (what: string) => void) {
    this.#instances = instances
    this.#onBreach = onBreach
  }

  /** Until that time this instance may be thought dead while it lives: it is no witness. */
  disturbed(instance: SimulatedInstance, until: number): void {
    const before = this.#disturbedUntil.get(instance) ?? 0
    this.#disturbedUntil.set(instance, Math.max(before, until))
  }

  /** True: what this instance says of itself counts. */
  isWitness(instance: SimulatedInstance, now: number): boolean {
    return now >= (this.#disturbedUntil.get(instance) ?? 0)
  }

  look(now: number): void {
    this.#events += 1
    if (this.#events % lookEvery !== 0) return
    const owners = new Map<string, string>()
    for (const instance of this.#instances) {
      if (instance.state === 'gone' || !this.isWitness(instance, now)) continue
      for (const { id, role } of instance.streams.localTasks()) {
        if (role !== 'active') continue
        const other = owners.get(id)
        if (other !== undefined) {
          this.#onBreach(`task ${id} is open at ${other} and at ${instance.name}`)
        }
        owners.set(id, instance.name)
      }
    }
  }
}
