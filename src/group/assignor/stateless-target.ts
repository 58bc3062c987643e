import { Rooms, evenShares } from './even-shares.ts'
import type { AssignorTask, ProcessState } from './process-state.ts'

/**
 * Sets who is to run the tasks without stores: they fill up what the others have left uneven, and stay
 * where they are as far as that allows.
 */
export function placeStateless(
  tasks: readonly AssignorTask[],
  processes: readonly ProcessState[],
): void {
  const held = new Map<ProcessState, AssignorTask[]>(processes.map((process) => [process, []]))
  for (const task of tasks) if (task.owner !== undefined) held.get(task.owner)?.push(task)
  const shares = evenShares(
    tasks.length,
    processes.map((process) => ({
      has: process.active.size,
      capacity: process.capacity,
      wishes: held.get(process)?.length ?? 0,
    })),
  )
  const rooms = new Rooms(processes, shares)
  const take = (process: ProcessState, task: AssignorTask): void => {
    process.active.add(task)
    rooms.take(process)
  }
  const homeless: AssignorTask[] = []
  for (const task of tasks) {
    if (task.owner !== undefined && rooms.of(task.owner) > 0) take(task.owner, task)
    else homeless.push(task)
  }
  for (const task of homeless) {
    const process = rooms.roomiest()
    if (process !== undefined) take(process, task)
  }
}
