import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  applied,
  granted,
  heldIn,
  shownTargets,
  situations,
} from '../../../test/peers/assignor-situations.ts'
import { systemClock } from '../../base/clock.ts'
import type { TaskId } from '../../processor/record-metadata.ts'
import { progressRunning } from '../membership.ts'
import type { AssignorMember } from './process-state.ts'
import { settledPlan, type Situation } from './settled-plan.ts'

/** No group of these tests needs more. */
const roundsMax = 200

type Followers = 'caught-up' | 'stands-still'

/** One round as the leader makes it: a plan, and of it what nobody else has. */
async function afterRound(
  given: Situation,
  followers: Followers,
): Promise<{ next: Situation; isOver: boolean }> {
  const { targets, pendingCount } = await settledPlan(given, systemClock)
  const next = applied(given, granted(given, targets), followers)
  const isSame = shownTargets(heldIn(next)).join() === shownTargets(heldIn(given)).join()
  return { next, isOver: isSame && (followers === 'stands-still' || pendingCount === 0) }
}

/** Rounds until one changes nothing, what is held then, and which owners there were. */
async function rest(given: Situation, followers: Followers): Promise<Rest> {
  let present = given
  let moved = 0
  const owners = ownersOf(given)
  for (let rounds = 1; rounds <= roundsMax; rounds += 1) {
    const { next, isOver } = await afterRound(present, followers)
    present = next
    const now = ownersOf(present)
    for (const id of statefulOf(given)) {
      const owner = now.get(id)
      if (owner === undefined) continue
      if (owners.has(id) && owners.get(id) !== owner) moved += 1
      owners.set(id, owner)
    }
    if (isOver) return { rounds, moved, end: present }
  }
  throw new Error(`no rest within ${roundsMax} rounds`)
}

interface Rest {
  readonly rounds: number
  /** How often a task with stores went from one member to another. */
  readonly moved: number
  readonly end: Situation
}

const ownersOf = ({ members }: Situation): Map<TaskId, string> =>
  new Map(members.flatMap(({ memberId, held }) => [...held.active].map((id) => [id, memberId])))

const spread = (counts: number[]): number => Math.max(...counts) - Math.min(...counts)

const without = (given: Situation, memberId: string): Situation => ({
  ...given,
  members: given.members.filter((one) => one.memberId !== memberId),
})

const statefulOf = ({ tasks }: Situation): TaskId[] =>
  tasks.flatMap(({ id, stateful }) => (stateful ? id : []))

/** How many stateful tasks members have to give up before the numbers differ by one at most. */
function surplus(given: Situation): number {
  const ids = statefulOf(given)
  const counts = given.members.map(({ held }) => ids.filter((id) => held.active.has(id)).length)
  const floor = Math.floor(ids.length / counts.length)
  const extras = ids.length - floor * counts.length
  return counts
    .sort((a, b) => b - a)
    .reduce((sum, count, index) => sum + Math.max(0, count - floor - (index < extras ? 1 : 0)), 0)
}

test('two plans that are equally good do not take turns', async () => {
  const member = (
    name: string,
    cluster: string | undefined,
    active: TaskId[],
    progress: Record<TaskId, number>,
  ): AssignorMember => ({
    memberId: name,
    processId: name,
    generation: 1,
    held: { active: new Set(active), standby: new Set() },
    progress: new Map(Object.entries(progress) as [TaskId, number][]),
    tags: new Map(cluster === undefined ? [] : [['cluster', cluster]]),
  })
  // Of either task somebody has a part: each plan gave the one warm-up to the one that did without.
  const given: Situation = {
    tasks: (['0_1', '0_4'] as const).map((id) => {
      return { id, stateful: true, logged: true, endSum: 1000 }
    }),
    members: [
      member('a', 'k', [], { '0_1': 1000, '0_4': 625 }),
      member('b', 'k', ['0_1'], { '0_1': progressRunning, '0_4': 750 }),
      member('c', undefined, [], {}),
      member('d', 'l', [], {}),
    ],
    options: {
      standbyReplicas: 2,
      acceptableRecoveryLag: 100,
      maxWarmupReplicas: 1,
      rackAwareAssignmentTags: ['cluster'],
      moves: 'caught-up',
    },
  }
  const { rounds, end } = await rest(given, 'stands-still')
  expect(rounds).toBeLessThanOrEqual(3)
  expect((await afterRound(end, 'stands-still')).isOver).toBe(true)
})

test('while the world stands still, rounds come to an end, and then none changes anything', async () => {
  await fc.assert(
    fc.asyncProperty(situations, async (given) => {
      const { rounds, end } = await rest(given, 'stands-still')
      // One for the plan, one for what is moved, and the rest for standbys within processes.
      expect(rounds).toBeLessThanOrEqual(3 + given.tasks.length)
      expect((await afterRound(end, 'stands-still')).isOver).toBe(true)
      for (const { id } of given.tasks)
        expect(end.members.filter(({ held }) => held.active.has(id)).length).toBe(1)
    }),
    { numRuns: 200, seed: 5 },
  )
})

test('when all have caught up, all is even, also among the members of a process', async () => {
  await fc.assert(
    fc.asyncProperty(situations, async (given) => {
      const { rounds, end } = await rest(given, 'caught-up')
      expect(rounds).toBeLessThanOrEqual(4 + 2 * given.tasks.length)
      const stateful = new Set(statefulOf(end))
      const active = end.members.map(({ held }) => held.active)
      expect(spread(active.map((own) => own.size))).toBeLessThanOrEqual(1)
      const counts = active.map((own) => [...own].filter((id) => stateful.has(id)).length)
      expect(spread(counts)).toBeLessThanOrEqual(1)
      const processCount = new Set(end.members.map(({ processId }) => processId)).size
      const copies = Math.min(given.options.standbyReplicas, processCount - 1)
      for (const { id, logged } of end.tasks) {
        const followers = end.members.filter(({ held }) => held.standby.has(id))
        expect(followers.length).toBe(logged ? copies : 0)
      }
      for (const processId of new Set(end.members.map((one) => one.processId))) {
        const own = end.members.filter((one) => one.processId === processId)
        const loads = own.map(({ held }) => held.active.size + held.standby.size)
        expect(spread(loads)).toBeLessThanOrEqual(1)
      }
    }),
    { numRuns: 150, seed: 5 },
  )
})

/** Each member in a process of its own. */
const apart = (given: Situation): Situation => ({
  ...given,
  members: given.members.map((one) => ({ ...one, processId: one.memberId })),
})

test('a member more gets its share, and no other task with a store moves', async () => {
  await fc.assert(
    fc.asyncProperty(situations, async (given) => {
      const { end: before } = await rest(apart(given), 'caught-up')
      const newcomer: AssignorMember = {
        memberId: 'newcomer',
        processId: 'newcomer',
        generation: 1,
        held: { active: new Set(), standby: new Set() },
        progress: new Map(),
        tags: new Map([['zone', 'zone-0']]),
      }
      const grown = { ...before, members: [...before.members, newcomer] }
      const { moved } = await rest(grown, 'caught-up')
      expect(moved).toBe(surplus(grown))
    }),
    { numRuns: 100, seed: 5 },
  )
})

test('when a member is gone its tasks move, and for each of them at most one other', async () => {
  await fc.assert(
    fc.asyncProperty(situations, async (given) => {
      fc.pre(given.members.length > 1)
      const { end: before } = await rest(apart(given), 'caught-up')
      const gone = before.members.find(({ memberId }) => memberId === 'm0')?.held.active
      const lost = statefulOf(before).filter((id) => gone?.has(id))
      // Whoever has state of them takes them over at once, and gives up as many if that is too much.
      const { moved } = await rest(without(before, 'm0'), 'caught-up')
      expect(moved).toBeLessThanOrEqual(lost.length)
    }),
    { numRuns: 100, seed: 5 },
  )
})

test('within a process a task leaves its member only when that one has too many', async () => {
  await fc.assert(
    fc.asyncProperty(situations, async (given) => {
      const together: Situation = {
        ...given,
        members: given.members.map((one) => ({ ...one, processId: 'p0', tags: new Map() })),
      }
      const { end: before } = await rest(together, 'caught-up')
      const newcomer: AssignorMember = {
        ...(before.members[0] as AssignorMember),
        memberId: 'newcomer',
        held: { active: new Set<TaskId>(), standby: new Set<TaskId>() },
      }
      const grown = { ...before, members: [...before.members, newcomer] }
      const { moved, end } = await rest(grown, 'caught-up')
      expect(moved).toBe(surplus(grown))
      const { moved: back } = await rest(without(end, 'newcomer'), 'caught-up')
      expect(back).toBe(0)
    }),
    { numRuns: 200, seed: 5 },
  )
})
