import { yieldTurn, type Clock } from '../../base/clock.ts'
import type { TaskId } from '../../processor/record-metadata.ts'
import { progressRunning, type TaskSet } from '../membership.ts'
import { assignTasks, type AssignorOptions, type TaskAssignment } from './assign-tasks.ts'
import type { AssignableTask, AssignorMember } from './process-state.ts'

/** Everything on which an assignment depends. */
export interface Situation {
  readonly tasks: readonly AssignableTask[]
  readonly members: readonly AssignorMember[]
  readonly options: AssignorOptions
}

/** So many plans are made of one another, at most; two are the rule. */
const plansMax = 12

/**
 * The assignment to which a round leads: one that the next round chooses again, as long as the world
 * stands still.
 *
 * One plan alone does not promise that. What it has somebody follow as a warm-up is what the next plan
 * begins with, so that two that are equally good could take turns, each round undoing the one before. So
 * a plan is made of what the members would hold after it, until the two are the same. Where plans take
 * turns, one of them is chosen that is the same whichever the turn.
 */
export async function settledPlan(given: Situation, clock: Clock): Promise<TaskAssignment> {
  const plans: TaskAssignment[] = []
  let present = given
  for (;;) {
    const plan = assignTasks(present.tasks, present.members, present.options)
    const turn = plans.findIndex((earlier) => isSame(earlier.targets, plan.targets))
    const isHeld = plans.length === 0 && isSame(plan.targets, heldBy(given.members))
    if (isHeld || (turn >= 0 && turn === plans.length - 1)) return plan
    if (turn >= 0) return leastOf(plans.slice(turn))
    plans.push(plan)
    if (plans.length === plansMax) return plan
    present = { ...given, members: afterwards(present, plan.targets) }
    // In a large group a plan takes a while, and heartbeats are due meanwhile.
    await yieldTurn(clock)
  }
}

/** The members when each holds what it is to have, and nobody has come any nearer to what it follows. */
function afterwards(
  { tasks, members, options }: Situation,
  targets: ReadonlyMap<string, TaskSet>,
): AssignorMember[] {
  const ends = new Map(
    tasks.flatMap(({ id, stateful, endSum }) => (stateful ? [[id, endSum]] : [])),
  )
  return members.map((member) => {
    const held = targets.get(member.memberId) ?? member.held
    const progress = new Map<TaskId, number>()
    for (const [id, sum] of member.progress) {
      const end = ends.get(id) ?? 0
      const isThere = held.active.has(id) && end - sum <= options.acceptableRecoveryLag
      if (sum === progressRunning) progress.set(id, held.active.has(id) ? sum : end)
      else progress.set(id, isThere && sum <= end ? progressRunning : sum)
    }
    return { ...member, held, progress }
  })
}

function heldBy(members: readonly AssignorMember[]): Map<string, TaskSet> {
  return new Map(members.map(({ memberId, held }) => [memberId, held]))
}

function isSame(left: ReadonlyMap<string, TaskSet>, right: ReadonlyMap<string, TaskSet>): boolean {
  for (const [memberId, { active, standby }] of left) {
    const other = right.get(memberId)
    if (other === undefined) return false
    if (!isSameSet(active, other.active) || !isSameSet(standby, other.standby)) return false
  }
  return true
}

function isSameSet(left: ReadonlySet<TaskId>, right: ReadonlySet<TaskId>): boolean {
  if (left.size !== right.size) return false
  for (const id of left) if (!right.has(id)) return false
  return true
}

/** Of plans that take turns always the same one. */
function leastOf(plans: readonly TaskAssignment[]): TaskAssignment {
  const texts = plans.map(({ targets }) => {
    const members = [...targets].map(([memberId, { active, standby }]) => {
      return `${memberId} ${[...active].sort().join(' ')} ${[...standby].sort().join(' ')}`
    })
    return members.sort().join('\n')
  })
  const least = texts.reduce((best, text, index) => (text < (texts[best] ?? '') ? index : best), 0)
  return plans[least] as TaskAssignment
}
