import { compareNearness, type AssignorTask, type ProcessState } from './process-state.ts'
import { TagClasses } from './tag-classes.ts'

/** How copies are spread. */
export interface StandbyOptions {
  /** Copies of each task beside the active one. */
  readonly standbyReplicas: number
  /** Tags by which copies are kept apart, such as `zone`. */
  readonly rackTags: readonly string[]
  /** False: whoever follows a task goes on with it, however uneven that is. */
  readonly isBalancing: boolean
}

/**
 * Sets who is to follow the tasks that have changelogs. Java's DefaultStandbyTaskAssignor and
 * ClientTagAwareStandbyTaskAssignor.
 *
 * - Never two copies in one process, the active one included: with too few processes there are fewer.
 * - As far as there is a choice, never where a tag has the same value as at another copy.
 * - Sticky: who follows a task goes on with it, as long as the copies of both roles are even.
 */
export function placeStandbys(
  tasks: readonly AssignorTask[],
  processes: readonly ProcessState[],
  options: StandbyOptions,
): void {
  if (options.standbyReplicas === 0 || processes.length < 2) return
  const placement = new Placement(processes, options)
  const logged = tasks.filter(({ isLogged }) => isLogged)
  for (const task of logged) placement.keep(task)
  for (const task of logged) placement.fill(task)
  if (options.isBalancing) placement.balance()
}

class Placement {
  readonly #processes: readonly ProcessState[]
  readonly #replicas: number
  readonly #tags: TagClasses
  /** Where the copies of a task are, the active one first; by the number of the task. */
  readonly #holders: ProcessState[][] = []
  /** How many tasks that the one runs the other follows, by both their numbers. */
  readonly #pairs: Int32Array
  /** Tasks in both roles for each member, by the number of the process. */
  readonly #loads: Float64Array

  constructor(processes: readonly ProcessState[], options: StandbyOptions) {
    this.#processes = processes
    this.#replicas = Math.min(options.standbyReplicas, processes.length - 1)
    this.#tags = new TagClasses(processes, options.rackTags)
    this.#pairs = new Int32Array(processes.length ** 2)
    this.#loads = Float64Array.from(processes, ({ load }) => load)
    for (const process of processes)
      for (const task of process.active) this.#holders[task.index] = [process]
  }

  /** Lets those who follow the task go on with it, the nearest first. */
  keep(task: AssignorTask): void {
    for (const { process } of task.copies) {
      const holders = this.#holdersOf(task)
      if (holders.length > this.#replicas) return
      if (!process.heldStandby.has(task.id) || holders.includes(process)) continue
      if (this.#tags.isAmongBest(process, holders)) this.#add(task, process)
    }
  }

  /** Finds the processes that are still wanted. */
  fill(task: AssignorTask): void {
    while (this.#holdersOf(task).length <= this.#replicas) {
      const process = this.#best(task)
      if (process === undefined) return
      this.#add(task, process)
    }
  }

  /** Moves copies from who has more to who has fewer, until nobody has two more than another. */
  balance(): void {
    // Every move brings two loads nearer to each other: this comes to an end.
    for (let hasMoved = true; hasMoved;) {
      hasMoved = false
      for (const receiver of [...this.#processes].sort(byLoad)) {
        const offers = new Map<ProcessState, AssignorTask[]>()
        while (this.#takeOne(receiver, offers)) hasMoved = true
      }
    }
  }

  /** True: the receiver has got a copy of one that had more. `offers` are what those would give to it. */
  #takeOne(receiver: ProcessState, offers: Map<ProcessState, AssignorTask[]>): boolean {
    const count = receiver.active.size + receiver.standby.size
    const after = (count + 1) / receiver.capacity
    const givers = this.#processes.filter((giver) => {
      const left = giver.active.size + giver.standby.size - 1
      return giver !== receiver && left / giver.capacity >= after
    })
    for (const giver of givers.sort((a, b) => b.load - a.load || a.index - b.index)) {
      const offered = offers.get(giver) ?? this.#offers(giver, receiver)
      offers.set(giver, offered)
      let task = offered.pop()
      // Another copy of the same task may have come from somebody else meanwhile.
      while (task !== undefined && !this.#mayMove(task, giver, receiver)) task = offered.pop()
      if (task === undefined) continue
      this.#remove(task, giver)
      this.#add(task, receiver)
      return true
    }
    return false
  }

  /** What may move from the one to the other; that to which the receiver is nearest is the last. */
  #offers(giver: ProcessState, receiver: ProcessState): AssignorTask[] {
    const offers = [...giver.standby]
      .filter((task) => this.#mayMove(task, giver, receiver))
      .map((task) => {
        const copy = task.copyAt(receiver)
        const { nearness, lag } = copy ?? {
          nearness: task.nearnessOfNothing,
          lag: task.lagOfNothing,
        }
        return { task, nearness, lag, hasNothing: Number(copy === undefined) }
      })
    offers.sort(
      (a, b) =>
        compareNearness(b.nearness, a.nearness) ||
        b.hasNothing - a.hasNothing ||
        b.lag - a.lag ||
        a.task.index - b.task.index,
    )
    return offers.map(({ task }) => task)
  }

  /** The receiver has no copy, and would not lie closer to the others than the giver. */
  #mayMove(task: AssignorTask, giver: ProcessState, receiver: ProcessState): boolean {
    const holders = this.#holdersOf(task)
    if (holders.includes(receiver)) return false
    if (this.#tags.isOne) return true
    const others = holders.filter((holder) => holder !== giver)
    return this.#tags.clashes(others, receiver) <= this.#tags.clashes(others, giver)
  }

  /**
   * The one whose tags are the most different, then the least loaded; and among those the one that
   * follows the fewest of the same owner, so that not one has to take over all when that one fails.
   */
  #best(task: AssignorTask): ProcessState | undefined {
    const holders = this.#holdersOf(task)
    const clashes = this.#tags.clashesByProcess(holders)
    const pairs = (holders[0]?.index ?? 0) * this.#processes.length
    let best: ProcessState | undefined
    let bestClashes = Infinity
    let bestLoad = Infinity
    for (const process of this.#processes) {
      const { index } = process
      const own = clashes[index] ?? 0
      if (own > bestClashes) continue
      const load = this.#loads[index] ?? 0
      if (own === bestClashes && load > bestLoad) continue
      if (holders.includes(process)) continue
      if (own === bestClashes && load === bestLoad && best !== undefined) {
        const order =
          compareNearness(task.nearnessAt(process), task.nearnessAt(best)) ||
          (this.#pairs[pairs + index] ?? 0) - (this.#pairs[pairs + best.index] ?? 0)
        if (order >= 0) continue
      }
      best = process
      bestClashes = own
      bestLoad = load
    }
    return best
  }

  #holdersOf(task: AssignorTask): ProcessState[] {
    return this.#holders[task.index] ?? []
  }

  #add(task: AssignorTask, process: ProcessState): void {
    process.standby.add(task)
    this.#count(task, process, 1)
    this.#holdersOf(task).push(process)
  }

  #remove(task: AssignorTask, process: ProcessState): void {
    process.standby.delete(task)
    this.#count(task, process, -1)
    const holders = this.#holdersOf(task)
    holders.splice(holders.indexOf(process), 1)
  }

  #count(task: AssignorTask, process: ProcessState, change: number): void {
    const { index } = process
    this.#loads[index] = process.load
    const owner = this.#holdersOf(task)[0]
    if (owner === undefined) return
    const pair = owner.index * this.#processes.length + index
    this.#pairs[pair] = (this.#pairs[pair] ?? 0) + change
  }
}

function byLoad(a: ProcessState, b: ProcessState): number {
  return a.load - b.load || a.index - b.index
}
