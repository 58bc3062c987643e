import type { TaskId } from '../../processor/record-metadata.ts'
import type { TaskSet } from '../membership.ts'
import type { MemberSubscription } from './leader.ts'

/** What members get in this round, on the way to what they are to have. */
export interface Grants {
  /** By member id. */
  readonly tasks: ReadonlyMap<string, TaskSet>
  /** Members that close standbys for which others of their process wait: they join again at once. */
  readonly releasing: ReadonlySet<string>
  /** Tasks that somebody waits for. */
  readonly withheldCount: number
}

/**
 * The first of two phases: a task that somebody else still holds is given to nobody.
 *
 * - One that another member runs: its owner finds it missing, commits, closes it and joins again; that
 *   next round gives it out. Any claim blocks, however old: two owners at a time are worse than one
 *   round more. Whoever waits and follows the task goes on following it.
 * - One that another member of the same process has, in whichever role: they share a directory.
 *
 * As long as a task that nobody runs waits for that, nobody begins to follow anything: each of these
 * rounds then closes a standby, and one of them is the last. Otherwise two tasks could wait for each
 * other's standbys for ever.
 */
export function grantTasks(
  targets: ReadonlyMap<string, TaskSet>,
  members: readonly MemberSubscription[],
): Grants {
  const holders = new Holders(members)
  const isDark = members.some((member) =>
    [...(targets.get(member.memberId)?.active ?? [])].some(
      (id) => !holders.isRun(id) && holders.standbysBeside(member, id).length > 0,
    ),
  )
  const tasks = new Map<string, TaskSet>()
  const releasing = new Set<string>()
  let withheldCount = 0
  for (const member of members) {
    const { memberId, data } = member
    const target = targets.get(memberId)
    const active = new Set<TaskId>()
    const standby = new Set<TaskId>()
    const isFree = (id: TaskId): boolean => {
      const others = holders.standbysBeside(member, id)
      for (const other of others) releasing.add(other)
      return others.length === 0
    }
    for (const id of target?.active ?? []) {
      const isGranted = isFree(id) && !holders.runsElsewhere(memberId, id)
      if (isGranted) active.add(id)
      else {
        withheldCount += 1
        if (data.held.standby.has(id)) standby.add(id)
      }
    }
    for (const id of target?.standby ?? []) {
      const isNew = !data.held.standby.has(id) && !data.held.active.has(id)
      const isGranted = isFree(id) && !holders.runsBeside(member, id) && !(isDark && isNew)
      if (isGranted) standby.add(id)
      else withheldCount += 1
    }
    tasks.set(memberId, { active, standby })
  }
  return { tasks, releasing, withheldCount }
}

/** Who claims to hold what. */
class Holders {
  readonly #active = new Map<TaskId, MemberSubscription[]>()
  /** Standbys, by process and task: only those of processes with several members matter. */
  readonly #standby = new Map<string, string[]>()

  constructor(members: readonly MemberSubscription[]) {
    for (const member of members) {
      const { memberId, data } = member
      for (const id of data.held.active) {
        const others = this.#active.get(id)
        if (others === undefined) this.#active.set(id, [member])
        else others.push(member)
      }
      for (const id of data.held.standby) {
        const key = `${data.processId} ${id}`
        this.#standby.set(key, [...(this.#standby.get(key) ?? []), memberId])
      }
    }
  }

  isRun(id: TaskId): boolean {
    return this.#active.has(id)
  }

  runsElsewhere(memberId: string, id: TaskId): boolean {
    return this.#active.get(id)?.some((holder) => holder.memberId !== memberId) ?? false
  }

  runsBeside({ memberId, data }: MemberSubscription, id: TaskId): boolean {
    const isBeside = (holder: MemberSubscription): boolean =>
      holder.memberId !== memberId && holder.data.processId === data.processId
    return this.#active.get(id)?.some(isBeside) ?? false
  }

  /** Other members of the process that follow the task. */
  standbysBeside({ memberId, data }: MemberSubscription, id: TaskId): string[] {
    const holders = this.#standby.get(`${data.processId} ${id}`) ?? []
    return holders.filter((holder) => holder !== memberId)
  }
}
