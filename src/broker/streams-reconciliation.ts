/**
 * The next step of a member on the way to its target
 * (org.apache.kafka.coordinator.group.streams.CurrentAssignmentBuilder). A task has one owner at a
 * time: who is to give up something is told first, and only when it has said that it did, others get
 * it. A task that changes its role within a member changes it in place, so that it keeps its state.
 */
import type { HeldTasks, StreamsGroupMember } from './streams-group-member.ts'
import type { RoleTasks, StreamsTaskId } from './streams-tasks.ts'

/** What the step depends on. */
export interface ReconciliationContext {
  readonly members: Iterable<StreamsGroupMember>
  /** Of the target. */
  readonly targetEpoch: number
  /** What the member says that it holds; undefined: it has not said. */
  readonly owned: RoleTasks | undefined
}

/** Takes the step, if there is one. */
export function reconcile(member: StreamsGroupMember, context: ReconciliationContext): void {
  switch (member.state) {
    case 'stable':
      if (member.epoch !== context.targetEpoch) advance(member, member.epoch, context)
      return
    case 'unrevoked':
      if (!holdsAny(context.owned, member.revoking)) advance(member, member.epoch + 1, context)
      return
    case 'unreleased':
      return advance(member, member.epoch, context)
    default:
      return member.state satisfies never
  }
}

/** A member that does not say what it holds may hold anything. */
function holdsAny(owned: RoleTasks | undefined, tasks: HeldTasks): boolean {
  if (owned === undefined) return true
  return (
    [...tasks.active.keys()].some((id) => owned.active.has(id)) ||
    [...tasks.standby].some((id) => owned.standby.has(id))
  )
}

function advance(
  member: StreamsGroupMember,
  epoch: number,
  { members, targetEpoch, owned }: ReconciliationContext,
): void {
  const { assigned, target } = member
  const all = [...members]
  const kept = {
    active: new Map([...assigned.active].filter(([id]) => target.active.has(id))),
    standby: new Set([...assigned.standby].filter((id) => target.standby.has(id))),
  }
  const wanted = {
    active: [...target.active].filter((id) => !kept.active.has(id)),
    standby: [...target.standby].filter((id) => !kept.standby.has(id)),
  }
  const granted = {
    active: wanted.active.filter((id) => isActiveFree(id, member, all)),
    standby: wanted.standby.filter((id) => isStandbyFree(id, member, all)),
  }
  const isWaiting =
    granted.active.length < wanted.active.length || granted.standby.length < wanted.standby.length
  // Its own active task becomes a copy at once; that it is active no more has to be said by it.
  const demoted = granted.standby.filter((id) => assigned.active.has(id))
  for (const id of demoted) kept.standby.add(id)
  const added = {
    active: granted.active,
    standby: granted.standby.filter((id) => !demoted.includes(id)),
  }
  const promoted = [...assigned.standby].filter((id) => target.active.has(id))
  const revoking: HeldTasks = {
    active: new Map([...assigned.active].filter(([id]) => !target.active.has(id))),
    standby: new Set(
      [...assigned.standby].filter((id) => !target.standby.has(id) && !promoted.includes(id)),
    ),
  }
  const mustRevoke = revoking.active.size + revoking.standby.size > 0 && holdsAny(owned, revoking)
  // A copy that is to become active stays one until then.
  for (const id of promoted) {
    if (mustRevoke || !granted.active.includes(id)) kept.standby.add(id)
  }
  if (mustRevoke) {
    member.setEpoch(epoch)
    member.state = 'unrevoked'
    member.assigned = kept
    member.revoking = revoking
    return
  }
  for (const id of added.active) kept.active.set(id, targetEpoch)
  for (const id of added.standby) kept.standby.add(id)
  member.setEpoch(targetEpoch)
  member.state = isWaiting ? 'unreleased' : 'stable'
  member.assigned = kept
  member.revoking = { active: new Map(), standby: new Set() }
}

/** Nobody holds it, and no other member of the process follows it. */
function isActiveFree(
  id: StreamsTaskId,
  member: StreamsGroupMember,
  all: readonly StreamsGroupMember[],
): boolean {
  return !all.some(
    (other) =>
      other.ownsActive(id) ||
      (other !== member && isSameProcess(other, member) && other.ownsStandby(id)),
  )
}

/** No other member of the process has it. */
function isStandbyFree(
  id: StreamsTaskId,
  member: StreamsGroupMember,
  all: readonly StreamsGroupMember[],
): boolean {
  return !all.some((other) => {
    if (!isSameProcess(other, member)) return false
    if (other !== member) return other.ownsActive(id) || other.ownsStandby(id)
    return other.revoking.active.has(id) || other.ownsStandby(id)
  })
}

function isSameProcess(a: StreamsGroupMember, b: StreamsGroupMember): boolean {
  return a.facts.processId === b.facts.processId
}
