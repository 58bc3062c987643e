import { evenShares, roomiest } from './even-shares.ts'
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
  const room = new Map(processes.map((process, index) => [process, shares[index] ?? 0]))
  const take = (process: ProcessState, task: AssignorTask): void => {
    process.active.add(task)
    room.set(process, (room.get(process) ?? 0) - 1)
  }
  const homeless: AssignorTask[] = []
  for (const task of tasks) {
    if (task.owner !== undefined && (room.get(task.owner) ?? 0) > 0) take(task.owner, task)
    else homeless.push(task)
  }
  for (const task of homeless) {
    const process = roomiest(processes, (one) => room.get(one) ?? 0)
    if (process !== undefined) take(process, task)
  }
}
