import { compareNearness, type AssignorTask, type ProcessState } from './process-state.ts'

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
  readonly #rackTags: readonly string[]
  /** The values of those tags, by the index of the process. */
  readonly #tagValues: readonly (readonly (string | undefined)[])[]
  /** Where the copies of a task are, the active one first. */
  readonly #holders = new Map<AssignorTask, ProcessState[]>()
  /** How many tasks that the one runs the other follows, by both their numbers. */
  readonly #pairs: number[]

  constructor(processes: readonly ProcessState[], options: StandbyOptions) {
    this.#processes = processes
    this.#replicas = Math.min(options.standbyReplicas, processes.length - 1)
    this.#rackTags = options.rackTags
    this.#tagValues = processes.map(({ tags }) => options.rackTags.map((tag) => tags.get(tag)))
    this.#pairs = Array.from({ length: processes.length ** 2 }, () => 0)
    for (const process of processes)
      for (const task of process.active) this.#holders.set(task, [process])
  }

  /** Lets those who follow the task go on with it, the nearest first. */
  keep(task: AssignorTask): void {
    for (const { process } of task.copies) {
      if (this.#missing(task) === 0) return
      const holders = this.#holdersOf(task)
      if (!process.heldStandby.has(task.id) || holders.includes(process)) continue
      if (this.#clashes(holders, process) <= this.#leastClashes(task)) this.#add(task, process)
    }
  }

  /** Finds the processes that are still wanted. */
  fill(task: AssignorTask): void {
    while (this.#missing(task) > 0) {
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
    return [...giver.standby]
      .filter((task) => this.#mayMove(task, giver, receiver))
      .sort((a, b) => compareTasksAt(receiver, b, a) || a.index - b.index)
  }

  /** The receiver has no copy, and would not lie closer to the others than the giver. */
  #mayMove(task: AssignorTask, giver: ProcessState, receiver: ProcessState): boolean {
    const holders = this.#holdersOf(task)
    if (holders.includes(receiver)) return false
    if (this.#rackTags.length === 0) return true
    const others = holders.filter((holder) => holder !== giver)
    return this.#clashes(others, receiver) <= this.#clashes(others, giver)
  }

  #missing(task: AssignorTask): number {
    return this.#replicas + 1 - this.#holdersOf(task).length
  }

  /**
   * The one whose tags are the most different, then the least loaded; and among those the one that
   * follows the fewest of the same owner, so that not one has to take over all when that one fails.
   */
  #best(task: AssignorTask): ProcessState | undefined {
    const holders = this.#holdersOf(task)
    let best: ProcessState | undefined
    let bestClashes = 0
    for (const process of this.#processes) {
      if (holders.includes(process)) continue
      const clashes = this.#clashes(holders, process)
      const order =
        best === undefined
          ? -1
          : clashes - bestClashes ||
            process.load - best.load ||
            compareNearness(task.nearnessAt(process), task.nearnessAt(best)) ||
            this.#pairCount(task, process) - this.#pairCount(task, best)
      if (order >= 0) continue
      best = process
      bestClashes = clashes
    }
    return best
  }

  #leastClashes(task: AssignorTask): number {
    if (this.#rackTags.length === 0) return 0
    const holders = this.#holdersOf(task)
    let least = Infinity
    for (const process of this.#processes)
      if (!holders.includes(process)) least = Math.min(least, this.#clashes(holders, process))
    return least
  }

  /** How many copies share the value of a tag with the process, summed over the tags. */
  #clashes(holders: readonly ProcessState[], process: ProcessState): number {
    let clashes = 0
    const values = this.#tagValues[process.index] ?? []
    for (const holder of holders) {
      const others = this.#tagValues[holder.index] ?? []
      for (let tag = 0; tag < values.length; tag += 1) if (values[tag] === others[tag]) clashes += 1
    }
    return clashes
  }

  #holdersOf(task: AssignorTask): ProcessState[] {
    return this.#holders.get(task) ?? []
  }

  #add(task: AssignorTask, process: ProcessState): void {
    process.standby.add(task)
    const pair = this.#pair(task, process)
    this.#holdersOf(task).push(process)
    if (pair !== undefined) this.#pairs[pair] = (this.#pairs[pair] ?? 0) + 1
  }

  #remove(task: AssignorTask, process: ProcessState): void {
    process.standby.delete(task)
    const holders = this.#holdersOf(task)
    const pair = this.#pair(task, process)
    holders.splice(holders.indexOf(process), 1)
    if (pair !== undefined) this.#pairs[pair] = (this.#pairs[pair] ?? 0) - 1
  }

  #pairCount(task: AssignorTask, process: ProcessState): number {
    const pair = this.#pair(task, process)
    return pair === undefined ? 0 : (this.#pairs[pair] ?? 0)
  }

  #pair(task: AssignorTask, process: ProcessState): number | undefined {
    const [owner] = this.#holdersOf(task)
    return owner === undefined ? undefined : owner.index * this.#processes.length + process.index
  }
}

function byLoad(a: ProcessState, b: ProcessState): number {
  return a.load - b.load || a.index - b.index
}

function compareTasksAt(process: ProcessState, a: AssignorTask, b: AssignorTask): number {
  const [left, right] = [a.copyAt(process), b.copyAt(process)]
  return (
    compareNearness(a.nearnessAt(process), b.nearnessAt(process)) ||
    Number(left === undefined) - Number(right === undefined) ||
    a.lagAt(process) - b.lagAt(process)
  )
}
