import type { TaskId } from '../../processor/record-metadata.ts'
import { compareTaskIds } from '../task-ids.ts'

/** A task to be given to somebody. */
export interface AssignableTask {
  readonly id: TaskId
  /** It has a store: moving it costs a restore. */
  readonly stateful: boolean
}

/** A member as the assignor sees it. */
export interface AssignorMember {
  readonly memberId: string
  /** Lasts over restarts, other than the member id: what makes the order of members the same again. */
  readonly processId: string
  /** Generation in which it got what it holds; of two claims on a task the newer one counts. */
  readonly generation: number
  readonly held: ReadonlySet<TaskId>
  /** Tasks of which it has state on disk. */
  readonly stored: ReadonlySet<TaskId>
}

/**
 * Gives every task to exactly one member. Java's StickyTaskAssignor, in what it promises:
 *
 * - Balanced: the numbers of tasks of two members differ by at most one, and so do the numbers of
 *   stateful tasks.
 * - Sticky: as few stateful tasks as possible leave the member that holds them, and nothing moves
 *   when the present assignment is balanced. A task that nobody holds goes where its state is.
 * - Deterministic: a function of its arguments alone, whatever their order.
 */
export function assignSticky(
  tasks: readonly AssignableTask[],
  members: readonly AssignorMember[],
): Map<string, Set<TaskId>> {
  const ordered = [...members].sort(
    (a, b) => compareText(a.processId, b.processId) || compareText(a.memberId, b.memberId),
  )
  const shares = ordered.map((member) => new Share(member))
  const owners = ownersOf(shares)
  for (const stateful of [true, false]) {
    const ids = tasks
      .filter((task) => task.stateful === stateful)
      .map((task) => task.id)
      .sort(compareTaskIds)
    distribute(ids, shares, owners)
  }
  return new Map(shares.map(({ member, tasks }) => [member.memberId, tasks]))
}

/** What one member gets, while it is being computed. */
class Share {
  readonly member: AssignorMember
  readonly tasks = new Set<TaskId>()
  /** How many tasks it may have when this round is over. */
  quota = 0

  constructor(member: AssignorMember) {
    this.member = member
  }

  get room(): number {
    return this.quota - this.tasks.size
  }
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** The holder of each task: of several that claim it, the one with the newest generation. */
function ownersOf(shares: readonly Share[]): Map<TaskId, Share> {
  const owners = new Map<TaskId, Share>()
  for (const share of shares) {
    for (const id of share.member.held) {
      const other = owners.get(id)
      if (other === undefined || share.member.generation > other.member.generation)
        owners.set(id, share)
    }
  }
  return owners
}

/** Adds these tasks to what the members have already, so that the totals are balanced again. */
function distribute(
  ids: readonly TaskId[],
  shares: readonly Share[],
  owners: ReadonlyMap<TaskId, Share>,
): void {
  const wishes = new Map<Share, TaskId[]>(shares.map((share) => [share, []]))
  for (const id of ids) {
    const owner = owners.get(id)
    if (owner !== undefined) wishes.get(owner)?.push(id)
  }
  setQuotas(ids.length, shares, (share) => wishes.get(share)?.length ?? 0)

  const homeless = new Set(ids)
  for (const [share, wished] of wishes) {
    const isElsewhere = (id: TaskId): boolean =>
      shares.some((other) => other !== share && other.member.stored.has(id))
    // Who must give something up gives what another has on disk: that moves without a long restore.
    const kept = [
      ...wished.filter((id) => !isElsewhere(id)),
      ...wished.filter((id) => isElsewhere(id)),
    ].slice(0, Math.max(0, share.room))
    for (const id of kept) {
      share.tasks.add(id)
      homeless.delete(id)
    }
  }
  for (const id of homeless) {
    const holder = roomiest(shares.filter((share) => share.member.stored.has(id)))
    if (holder === undefined) continue
    holder.tasks.add(id)
    homeless.delete(id)
  }
  for (const id of homeless) roomiest(shares)?.tasks.add(id)
}

/**
 * Splits the total evenly. Where it does not divide, the members that keep the most by it may have
 * one more; those that have it already must.
 */
function setQuotas(
  added: number,
  shares: readonly Share[],
  wishCount: (share: Share) => number,
): void {
  const total = shares.reduce((sum, share) => sum + share.tasks.size, added)
  const floor = Math.floor(total / shares.length)
  let extras = total - floor * shares.length
  const surplus = (share: Share): number =>
    share.tasks.size > floor ? Infinity : share.tasks.size + wishCount(share) - floor
  for (const share of [...shares].sort((a, b) => compareSurplus(surplus(a), surplus(b)))) {
    share.quota = floor + (extras > 0 ? 1 : 0)
    extras -= 1
  }
}

function compareSurplus(a: number, b: number): number {
  return a === b ? 0 : b - a
}

/** The first of those with the most room; undefined when none has any. */
function roomiest(shares: readonly Share[]): Share | undefined {
  let best: Share | undefined
  for (const share of shares) if (share.room > (best?.room ?? 0)) best = share
  return best
}
