import {
  compareNearness,
  type AssignorTask,
  type Nearness,
  type ProcessState,
} from './process-state.ts'
import { Rooms, evenShares } from './even-shares.ts'

/** How an active task with stores may leave who runs it. */
export type Moves = 'for-balance' | 'never'

/**
 * Sets who is to run the tasks with stores, without a look at who can do so at once
 * (`movements.ts` sees to that).
 *
 * - Balanced: each process gets as many for each of its members as the others, give or take one.
 * - Sticky: as few as possible leave the process that runs them: those that the receivers are nearest
 *   to, so that what was begun in an earlier round (a warm-up) is gone on with. With `never` none does.
 * - What nobody runs goes where its state is, as far as the balance allows.
 */
export function placeActive(
  tasks: readonly AssignorTask[],
  processes: readonly ProcessState[],
  moves: Moves,
): void {
  const held = new Map<ProcessState, AssignorTask[]>(processes.map((process) => [process, []]))
  for (const task of tasks) if (task.owner !== undefined) held.get(task.owner)?.push(task)
  const heldCount = (process: ProcessState): number => held.get(process)?.length ?? 0
  const quotas = evenQuotas(tasks.length, processes, heldCount)
  const quota = (process: ProcessState): number => quotas.get(process) ?? 0
  const receivers = new Set(processes.filter((process) => heldCount(process) < quota(process)))
  const homeless = tasks.filter(({ owner }) => owner === undefined)
  for (const [process, own] of held) {
    const surplus = moves === 'never' ? 0 : own.length - quota(process)
    const given = surplus > 0 ? easiestToGive(own, receivers).slice(0, surplus) : []
    homeless.push(...given)
    const gone = new Set(given)
    for (const task of own) if (!gone.has(task)) process.active.add(task)
  }
  settle(homeless, processes)
}

/** The whole over the members. Where it does not divide, those get one more that keep one by it. */
function evenQuotas(
  count: number,
  processes: readonly ProcessState[],
  heldCount: (process: ProcessState) => number,
): Map<ProcessState, number> {
  const capacity = processes.reduce((sum, process) => sum + process.capacity, 0)
  const floor = Math.floor(count / capacity)
  const quotas = new Map(processes.map((process) => [process, floor * process.capacity]))
  const quota = (process: ProcessState): number => quotas.get(process) ?? 0
  for (let extras = count - floor * capacity; extras > 0; extras -= 1) {
    let best: ProcessState | undefined
    let bestSurplus = -Infinity
    for (const process of processes) {
      const isFull = quota(process) >= (floor + 1) * process.capacity
      const surplus = heldCount(process) - quota(process)
      if (isFull || surplus <= bestSurplus) continue
      best = process
      bestSurplus = surplus
    }
    if (best !== undefined) quotas.set(best, quota(best) + 1)
  }
  return quotas
}

/** First those that a receiver could take over at once, or is nearest to; else the last ones. */
function easiestToGive(
  own: readonly AssignorTask[],
  receivers: ReadonlySet<ProcessState>,
): AssignorTask[] {
  const ranked = own.map((task) => {
    const copy = task.copies.find(({ process }) => receivers.has(process))
    return {
      task,
      nearness: copy?.nearness ?? task.nearnessOfNothing,
      lag: copy?.lag ?? task.lagOfNothing,
      hasNothing: copy === undefined,
    }
  })
  ranked.sort(
    (a, b) =>
      compareNearness(a.nearness, b.nearness) ||
      Number(a.hasNothing) - Number(b.hasNothing) ||
      a.lag - b.lag ||
      b.task.index - a.task.index,
  )
  return ranked.map(({ task }) => task)
}

/** Finds a home for each, evenly: those with the fewest good ones choose first. */
function settle(homeless: readonly AssignorTask[], processes: readonly ProcessState[]): void {
  const shares = evenShares(
    homeless.length,
    processes.map(({ active, capacity }) => ({ has: active.size, capacity, wishes: 0 })),
  )
  const rooms = new Rooms(processes, shares)
  const choices = homeless.map((task) => {
    const withRoom = task.copies.filter(({ process }) => rooms.of(process) > 0)
    const good = withRoom.filter(({ nearness }) => nearness === 'caught-up')
    return { task, choiceCount: good.length || withRoom.length || Number.MAX_SAFE_INTEGER }
  })
  choices.sort((a, b) => a.choiceCount - b.choiceCount || a.task.index - b.task.index)
  for (const { task } of choices) {
    const process = nearestWithRoom(task, rooms)
    if (process === undefined) continue
    process.active.add(task)
    rooms.take(process)
  }
}

/** Of those that are equally near, the one with the most room. */
function nearestWithRoom(task: AssignorTask, rooms: Rooms<ProcessState>): ProcessState | undefined {
  let best: { process: ProcessState; nearness: Nearness; lag: number } | undefined
  for (const copy of task.copies) {
    if (rooms.of(copy.process) <= 0) continue
    // They are in order: only one that is exactly as near can be better, by its room.
    if (best !== undefined && (best.nearness !== copy.nearness || best.lag !== copy.lag)) break
    if (best === undefined || rooms.of(copy.process) > rooms.of(best.process)) best = copy
  }
  if (best !== undefined && compareNearness(best.nearness, task.nearnessOfNothing) <= 0)
    return best.process
  return rooms.roomiest() ?? best?.process
}
