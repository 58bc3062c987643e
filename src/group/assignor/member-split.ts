import type { TaskId } from '../../processor/record-metadata.ts'
import type { TaskSet } from '../membership.ts'
import { Rooms, evenShares } from './even-shares.ts'
import type { AssignorMember, AssignorTask, ProcessState } from './process-state.ts'

/** What one member gets, while it is being computed. */
class Share {
  readonly member: AssignorMember
  readonly active = new Set<TaskId>()
  readonly standby = new Set<TaskId>()

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
  const holders = { active: holdersOf(shares, 'active'), standby: holdersOf(shares, 'standby') }
  const stateful = [...process.active].filter((task) => task.stateful)
  const stateless = [...process.active].filter((task) => !task.stateful)
  for (const tasks of [stateful, stateless]) distribute(tasks, shares, holders, 'active')
  distribute([...process.standby], shares, holders, 'standby')
  return new Map(
    shares.map(({ member, active, standby }) => [member.memberId, { active, standby }]),
  )
}

function idsOf(tasks: ReadonlySet<AssignorTask>): Set<TaskId> {
  return new Set([...tasks].sort((a, b) => a.index - b.index).map(({ id }) => id))
}

/** Who has what by now, by role. */
type Holders = Readonly<Record<'active' | 'standby', ReadonlyMap<TaskId, Share>>>

/** The members that have tasks in this role; of several who claim one the newest claim counts. */
function holdersOf(shares: readonly Share[], role: 'active' | 'standby'): Map<TaskId, Share> {
  const holders = new Map<TaskId, Share>()
  for (const share of shares) {
    for (const id of share.member.held[role]) {
      const other = holders.get(id)
      const isNewer = other === undefined || share.member.generation > other.member.generation
      if (isNewer) holders.set(id, share)
    }
  }
  return holders
}

function distribute(
  tasks: readonly AssignorTask[],
  shares: readonly Share[],
  holders: Holders,
  role: 'active' | 'standby',
): void {
  const other = role === 'active' ? 'standby' : 'active'
  const ordered = [...tasks].sort((a, b) => a.index - b.index)
  const wished = ordered.map(({ id }) => holders[role].get(id) ?? holders[other].get(id))
  const wishes = new Map<Share | undefined, number>()
  for (const share of wished) wishes.set(share, (wishes.get(share) ?? 0) + 1)
  const rooms = new Rooms(
    shares,
    evenShares(
      ordered.length,
      shares.map((share) => ({
        has: share.active.size + share.standby.size,
        capacity: 1,
        wishes: wishes.get(share) ?? 0,
      })),
    ),
  )
  const take = (share: Share, task: AssignorTask): void => {
    share[role].add(task.id)
    rooms.take(share)
  }
  const isPlaced = ordered.map(() => false)
  // What changes its role stops for a moment anyway: what has it already comes first.
  for (const held of [role, other] as const) {
    for (const [index, task] of ordered.entries()) {
      const holder = isPlaced[index] === true ? undefined : holders[held].get(task.id)
      if (holder === undefined || holder !== wished[index] || rooms.of(holder) === 0) continue
      take(holder, task)
      isPlaced[index] = true
    }
  }
  const homeless = ordered.filter((_, index) => isPlaced[index] === false)
  for (const task of homeless) {
    const share = rooms.roomiest()
    if (share !== undefined) take(share, task)
  }
}
