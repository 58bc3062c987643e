import * as fc from 'fast-check'
import type { AssignableTask, AssignorMember } from '../../src/group/assignor/process-state.ts'
import type { Situation } from '../../src/group/assignor/settled-plan.ts'
import { grantTasks } from '../../src/group/assignor/tasks-in-transit.ts'
import { progressRunning, type TaskSet } from '../../src/group/membership.ts'
import { taskId, type TaskId } from '../../src/processor/record-metadata.ts'

/** Of every situation in {@link situations}: what lacks no more has caught up. */
export const acceptableRecoveryLag = 100

/**
 * Groups in any state: several members in a process, tasks of all kinds that are run, followed, on disk,
 * or nowhere, and places by up to two tags.
 */
export const situations: fc.Arbitrary<Situation> = fc
  .record({
    sizes: fc.array(
      fc.record({
        partitions: fc.integer({ min: 1, max: 9 }),
        kind: fc.constantFrom('logged', 'logged', 'unlogged', 'stateless'),
        endSum: fc.constantFrom(0, 80, 1000, 50_000),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    memberCount: fc.integer({ min: 1, max: 9 }),
    processCount: fc.integer({ min: 1, max: 7 }),
    standbyReplicas: fc.nat(2),
    maxWarmupReplicas: fc.integer({ min: 1, max: 4 }),
    tagCount: fc.nat(2),
    zoneCount: fc.integer({ min: 1, max: 4 }),
    chance: fc.infiniteStream(fc.nat(8)),
  })
  .map(({ sizes, memberCount, processCount, tagCount, zoneCount, chance, ...options }) => {
    const tasks = sizes.flatMap(({ partitions, kind, endSum }, subtopology) =>
      Array.from({ length: partitions }, (_, partition): AssignableTask => ({
        id: taskId(subtopology, partition),
        stateful: kind !== 'stateless',
        logged: kind === 'logged',
        endSum: kind === 'logged' ? endSum : 0,
      })),
    )
    const next = (): number => chance.next().value as number
    const rackAwareAssignmentTags = ['zone', 'cluster'].slice(0, tagCount)
    const tagsOf = (process: number): [string, string][] =>
      rackAwareAssignmentTags.map((tag, index) => {
        const place = Math.floor(process / (index * zoneCount + 1)) % zoneCount
        return [tag, `${tag}-${place}`]
      })
    const members = Array.from({ length: memberCount }, (_, index) => ({
      memberId: `m${index}`,
      processId: `p${index % processCount}`,
      generation: 1,
      held: { active: new Set<TaskId>(), standby: new Set<TaskId>() },
      progress: new Map<TaskId, number>(),
      tags: new Map(tagsOf(index % processCount)),
    }))
    for (const task of tasks) {
      // An index past the members: nobody holds it.
      const owner = members[next()]
      owner?.held.active.add(task.id)
      if (task.stateful && next() > 1) owner?.progress.set(task.id, progressRunning)
      for (const other of members) {
        if (!task.stateful || other.processId === owner?.processId || next() < 6) continue
        other.progress.set(task.id, Math.floor((task.endSum * next()) / 8))
        const isFollowed = members.some(
          (one) => one.processId === other.processId && one.held.standby.has(task.id),
        )
        if (next() > 3 && !isFollowed) other.held.standby.add(task.id)
      }
    }
    return {
      tasks,
      members,
      options: { acceptableRecoveryLag, moves: 'caught-up', ...options, rackAwareAssignmentTags },
    }
  })

/**
 * The group after everybody has done what it was told. Whoever restores or follows has either `caught-up`
 * since, or nothing has come of it and the world `stands-still`.
 */
export function applied(
  given: Situation,
  targets: ReadonlyMap<string, TaskSet>,
  followers: 'caught-up' | 'stands-still',
): Situation {
  const members = given.members.map((member): AssignorMember => {
    const held = targets.get(member.memberId) ?? member.held
    const progress = new Map(member.progress)
    for (const { id, stateful, endSum } of given.tasks) {
      const isHeld = held.active.has(id) || held.standby.has(id)
      if (!stateful || (!isHeld && !progress.has(id))) continue
      const before = progress.get(id) ?? 0
      const sum = followers === 'caught-up' && isHeld ? endSum : before
      const lag = endSum - (sum === progressRunning ? endSum : sum)
      if (held.active.has(id) && lag <= acceptableRecoveryLag) progress.set(id, progressRunning)
      else progress.set(id, endSum - lag)
    }
    return { ...member, held, progress }
  })
  return { ...given, members }
}

/** What members get of it in this round: what somebody else still has only comes with a later one. */
export function granted(
  { members }: Situation,
  targets: ReadonlyMap<string, TaskSet>,
): ReadonlyMap<string, TaskSet> {
  const subscriptions = members.map(({ memberId, generation, ...data }) => ({
    memberId,
    generation,
    data: { ...data, nonce: 0, endpoint: undefined },
  }))
  return grantTasks(targets, subscriptions).tasks
}

/** What the members hold. */
export function heldIn({ members }: Situation): Map<string, TaskSet> {
  return new Map(members.map(({ memberId, held }) => [memberId, held]))
}

/** `a: 0_0 0_1 | 0_2`, the standbys behind the bar. */
export function shownTargets(targets: ReadonlyMap<string, TaskSet>): string[] {
  const text = (ids: ReadonlySet<TaskId>): string => [...ids].sort().join(' ')
  return [...targets]
    .map(([id, { active, standby }]) => {
      const followed = standby.size === 0 ? '' : ` | ${text(standby)}`
      return `${id}: ${text(active)}${followed}`
    })
    .sort()
}
