import type { TaskId } from '../../processor/record-metadata.ts'
import type { TaskSet } from '../membership.ts'
import { evenShares, roomiest } from './even-shares.ts'
import type { AssignorMember, AssignorTask, ProcessState } from './process-state.ts'

/** What one member gets, while it is being computed. */
class Share {
  readonly member: AssignorMember
  readonly active = new Set<TaskId>()
  readonly standby = new Set<TaskId>()
  /** How many it may take in this round. */
  room = 0

  constructor(member: AssignorMember) {
    this.member = member
  }
}

/**
 * Splits what a process gets over its members, evenly for each kind of task. A task stays with the
 * member that has it, in whichever role, because another one can only take it once that one has closed
 * it: they share a directory. Java's StreamsPartitionAssignor.assignTasksToThreads.
 */
export function splitOverMembers(process: ProcessState): Map<string, TaskSet> {
  const [only] = process.members
  if (only !== undefined && process.members.length === 1) {
    const [active, standby] = [idsOf(process.active), idsOf(process.standby)]
    return new Map([[only.memberId, { active, standby }]])
  }
  const shares = process.members.map((member) => new Share(member))
  const stateful = [...process.active].filter((task) => task.stateful)
  const stateless = [...process.active].filter((task) => !task.stateful)
  for (const tasks of [stateful, stateless]) distribute(tasks, shares, 'active')
  distribute([...process.standby], shares, 'standby')
  return new Map(
    shares.map(({ member, active, standby }) => [member.memberId, { active, standby }]),
  )
}

function idsOf(tasks: ReadonlySet<AssignorTask>): Set<TaskId> {
  return new Set([...tasks].sort((a, b) => a.index - b.index).map(({ id }) => id))
}

function distribute(
  tasks: readonly AssignorTask[],
  shares: readonly Share[],
  role: 'active' | 'standby',
): void {
  const ordered = [...tasks].sort((a, b) => a.index - b.index)
  const wishes = new Map(ordered.map((task) => [task, holderOf(task, shares, role)] as const))
  const wishCount = (share: Share): number =>
    [...wishes.values()].filter((holder) => holder === share).length
  const rooms = evenShares(
    ordered.length,
    shares.map((share) => ({
      has: share.active.size + share.standby.size,
      capacity: 1,
      wishes: wishCount(share),
    })),
  )
  for (const [index, share] of shares.entries()) share.room = rooms[index] ?? 0
  const homeless: AssignorTask[] = []
  for (const task of ordered) {
    const holder = wishes.get(task)
    if (holder !== undefined && holder.room > 0) take(holder, task, role)
    else homeless.push(task)
  }
  for (const task of homeless) {
    const share = roomiest(shares, ({ room }) => room)
    if (share !== undefined) take(share, task, role)
  }
}

function take(share: Share, task: AssignorTask, role: 'active' | 'standby'): void {
  share[role].add(task.id)
  share.room -= 1
}

/** The member that has the task in this role, or else in the other; of several the newest claim. */
function holderOf(
  { id }: AssignorTask,
  shares: readonly Share[],
  role: 'active' | 'standby',
): Share | undefined {
  const other = role === 'active' ? 'standby' : 'active'
  for (const held of [role, other] as const) {
    const holders = shares.filter(({ member }) => member.held[held].has(id))
    if (holders.length > 0)
      return holders.reduce((best, share) =>
        share.member.generation > best.member.generation ? share : best,
      )
  }
  return undefined
}
