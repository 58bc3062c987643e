import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { taskId, type TaskId } from '../../processor/record-metadata.ts'
import { progressRunning, type TaskSet } from '../membership.ts'
import { shownTargets, situations } from '../../../test/peers/assignor-situations.ts'
import { assignTasks, type AssignorOptions } from './assign-tasks.ts'
import type { AssignableTask, AssignorMember } from './process-state.ts'
import type { Situation } from './settled-plan.ts'

const defaults: AssignorOptions = {
  standbyReplicas: 0,
  acceptableRecoveryLag: 100,
  maxWarmupReplicas: 2,
  rackAwareAssignmentTags: [],
  moves: 'caught-up',
}

/** A member of a process of its own, which runs what it holds. */
const member = (
  memberId: string,
  held: TaskId[] = [],
  more: Partial<AssignorMember> & { standby?: TaskId[]; at?: Record<TaskId, number> } = {},
): AssignorMember => ({
  memberId,
  processId: memberId,
  generation: 1,
  held: { active: new Set(held), standby: new Set(more.standby) },
  progress: new Map([
    ...held.map((id) => [id, progressRunning] as const),
    ...(Object.entries(more.at ?? {}) as [TaskId, number][]),
  ]),
  tags: new Map(),
  ...more,
})

/** Tasks with stores whose changelogs have 1,000 records. */
const stateful = (...ids: TaskId[]): AssignableTask[] =>
  ids.map((id) => ({ id, stateful: true, logged: true, endSum: 1000 }))
const stateless = (...ids: TaskId[]): AssignableTask[] =>
  ids.map((id) => ({ id, stateful: false, logged: false, endSum: 0 }))

const range = (subtopology: number, count: number): TaskId[] =>
  Array.from({ length: count }, (_, partition) => taskId(subtopology, partition))

const assign = (
  tasks: AssignableTask[],
  members: AssignorMember[],
  options: Partial<AssignorOptions> = {},
) => assignTasks(tasks, members, { ...defaults, ...options })

test('the first member gets everything', () => {
  const { targets, pendingCount } = assign(stateful('0_0', '0_1', '1_0'), [member('a')])
  expect(shownTargets(targets)).toEqual(['a: 0_0 0_1 1_0'])
  expect(pendingCount).toBe(0)
})

test('two new members share stateful and stateless tasks alike', () => {
  const tasks = [...stateless(...range(0, 4)), ...stateful(...range(1, 4))]
  expect(shownTargets(assign(tasks, [member('b'), member('a')]).targets)).toEqual([
    'a: 0_0 0_2 1_0 1_2',
    'b: 0_1 0_3 1_1 1_3',
  ])
})

test('without anything to restore a newcomer takes its share at once, and only what it must', () => {
  const tasks = range(0, 5).map((id) => ({ id, stateful: true, logged: true, endSum: 0 }))
  const { targets, pendingCount } = assign(tasks, [member('a', range(0, 5)), member('b')])
  expect(shownTargets(targets)).toEqual(['a: 0_0 0_1 0_2', 'b: 0_3 0_4'])
  expect(pendingCount).toBe(0)
})

test('a newcomer that has to restore follows first, two tasks at a time', () => {
  const tasks = stateful(...range(0, 8))
  const { targets, pendingCount } = assign(tasks, [member('a', range(0, 8)), member('b')])
  expect(shownTargets(targets)).toEqual([`a: ${range(0, 8).join(' ')}`, 'b:  | 0_4 0_5'])
  expect(pendingCount).toBe(4)
})

test('what has caught up moves, and the next ones follow', () => {
  const tasks = stateful(...range(0, 8))
  const newcomer = member('b', [], { standby: ['0_4', '0_5'], at: { '0_4': 950, '0_5': 400 } })
  const { targets, pendingCount } = assign(tasks, [member('a', range(0, 8)), newcomer])
  expect(shownTargets(targets)).toEqual(['a: 0_0 0_1 0_2 0_3 0_5 0_6 0_7', 'b: 0_4 | 0_5 0_6'])
  expect(pendingCount).toBe(3)
})

test('a newcomer with state on disk gets the tasks that it knows, at once', () => {
  const newcomer = member('b', [], { at: { '0_0': 990, '0_1': 1000 } })
  const { targets, pendingCount } = assign(stateful(...range(0, 4)), [
    member('a', range(0, 4)),
    newcomer,
  ])
  expect(shownTargets(targets)).toEqual(['a: 0_2 0_3', 'b: 0_0 0_1'])
  expect(pendingCount).toBe(0)
})

test('state beyond the end of its changelog is of a topic that is gone, and counts as none', () => {
  const newcomer = member('b', [], { at: { '0_0': 5000, '0_1': 950 } })
  const members = [member('a', range(0, 2)), newcomer]
  expect(shownTargets(assign(stateful(...range(0, 2)), members).targets)).toEqual([
    'a: 0_0',
    'b: 0_1',
  ])
})

test('when a member is gone, the others keep what they have and share what it had', () => {
  const tasks = stateful(...range(0, 6))
  const members = [member('a', ['0_1', '0_4']), member('c', ['0_0', '0_3'])]
  expect(shownTargets(assign(tasks, members).targets)).toEqual(['a: 0_1 0_2 0_4', 'c: 0_0 0_3 0_5'])
})

test('a task whose owner is gone goes to its standby', () => {
  const tasks = stateful(...range(0, 6))
  const members = [
    member('a', ['0_0', '0_1'], { standby: ['0_5'], at: { '0_5': 1000 } }),
    member('b', ['0_2', '0_3'], { standby: ['0_4'], at: { '0_4': 930 } }),
  ]
  const { targets, pendingCount } = assign(tasks, members, { standbyReplicas: 1 })
  expect(shownTargets(targets)).toEqual([
    'a: 0_0 0_1 0_5 | 0_2 0_3 0_4',
    'b: 0_2 0_3 0_4 | 0_0 0_1 0_5',
  ])
  expect(pendingCount).toBe(0)
})

test('a standby takes over even what is too much for it, until another one has caught up', () => {
  const tasks = stateful(...range(0, 6))
  const members = [
    member('a', ['0_0', '0_1'], {
      standby: ['0_4', '0_5'],
      at: { '0_4': 1000, '0_5': 1000 },
    }),
    member('b', ['0_2', '0_3']),
  ]
  const { targets, pendingCount } = assign(tasks, members)
  expect(shownTargets(targets)).toEqual(['a: 0_0 0_1 0_4 0_5', 'b: 0_2 0_3 | 0_5'])
  expect(pendingCount).toBe(1)
})

test('when nobody has caught up the nearest one takes over', () => {
  const members = [
    member('a', [], { standby: ['0_0'], at: { '0_0': 300 } }),
    member('b', [], { standby: ['0_0'], at: { '0_0': 700 } }),
    member('c'),
  ]
  expect(shownTargets(assign(stateful('0_0'), members, { standbyReplicas: 1 }).targets)).toEqual([
    'a:  | 0_0',
    'b: 0_0',
    'c: ',
  ])
})

test('who restores a task goes on, although another one lacks a little less', () => {
  const members = [
    member('a', ['0_0'], { at: { '0_0': 300 } }),
    member('b', [], { at: { '0_0': 400 } }),
  ]
  expect(shownTargets(assign(stateful('0_0'), members).targets)).toEqual(['a: 0_0', 'b: '])
})

test('who restores a task gives it to one that has caught up, and follows it', () => {
  const members = [
    member('a', ['0_0'], { at: { '0_0': 300 } }),
    member('b', [], { standby: ['0_0'], at: { '0_0': 1000 } }),
  ]
  const { targets } = assign(stateful('0_0'), members, { standbyReplicas: 1 })
  expect(shownTargets(targets)).toEqual(['a:  | 0_0', 'b: 0_0'])
})

test('of two claims on a task the newer generation counts', () => {
  const members = [
    member('a', ['0_0'], { generation: 3 }),
    member('b', ['0_0', '0_1'], { generation: 4 }),
  ]
  const { targets } = assign(stateful('0_0', '0_1'), members)
  expect(shownTargets(targets)).toEqual(['a: 0_0', 'b: 0_1'])
})

test('tasks that are no more are not assigned', () => {
  const members = [member('a', ['0_0', '9_9'], { standby: ['9_8'], at: { '9_7': 3 } })]
  expect(shownTargets(assign(stateful('0_0'), members).targets)).toEqual(['a: 0_0'])
})

test('a standby stays with who has it while its new holder catches up', () => {
  const all = range(0, 6)
  const at = (ids: TaskId[]): Record<TaskId, number> =>
    Object.fromEntries(ids.map((id) => [id, 1000]))
  const members = [
    member('a', all.slice(0, 3), { standby: all.slice(3), at: at(all.slice(3)) }),
    member('b', all.slice(3), { standby: all.slice(0, 3), at: at(all.slice(0, 3)) }),
    member('c'),
  ]
  const { targets, pendingCount } = assign(stateful(...all), members, { standbyReplicas: 1 })
  // In the end each has two of either; until then c follows two of them.
  expect(shownTargets(targets)).toEqual([
    'a: 0_0 0_1 0_2 | 0_3 0_4 0_5',
    'b: 0_3 0_4 0_5 | 0_0 0_1 0_2',
    'c:  | 0_2 0_5',
  ])
  expect(pendingCount).toBe(4)
})

test('one that gets standbys from several others never gets two copies of one task', () => {
  const all = range(0, 24)
  const names = ['a', 'b', 'c', 'd']
  const ownerOf = (index: number): string => names[index % 4] ?? ''
  // The first three follow everything among themselves; the last one knows some of it from its disk.
  const members = names.map((name) => {
    const own = all.filter((_, index) => ownerOf(index) === name)
    const followed = all.filter((_, index) => {
      const followers = ['a', 'b', 'c'].filter((one) => one !== ownerOf(index)).slice(0, 2)
      return followers.includes(name)
    })
    const at = Object.fromEntries(
      name === 'd'
        ? all.map((id, index) => [id, 900 + ((index * 7) % 24)])
        : followed.map((id) => [id, 1000]),
    )
    for (const id of own) delete at[id]
    return member(name, own, { standby: followed, at })
  })
  const { targets } = assign(stateful(...all), members, {
    standbyReplicas: 2,
    acceptableRecoveryLag: 1000,
  })
  for (const id of all) {
    const holders = [...targets.values()].filter(
      ({ active, standby }) => active.has(id) || standby.has(id),
    )
    expect(holders.length).toBe(3)
  }
  const loads = [...targets.values()].map(({ active, standby }) => active.size + standby.size)
  expect(loads).toEqual([18, 18, 18, 18])
})

test('copies of a task are in different zones, as far as there are zones', () => {
  const zoned = (id: string, zone: string): AssignorMember =>
    member(id, [], { tags: new Map([['zone', zone]]) })
  const members = [zoned('a1', 'a'), zoned('a2', 'a'), zoned('b1', 'b'), zoned('c1', 'c')]
  const zoneOf = (id: string): string => id.slice(0, 1)
  for (const [standbyReplicas, zones] of [
    [1, 2],
    [2, 3],
    [3, 3],
  ] as const) {
    const { targets } = assign(stateful(...range(0, 8)), members, {
      standbyReplicas,
      rackAwareAssignmentTags: ['zone'],
    })
    for (const id of range(0, 8)) {
      const holders = [...targets].filter(
        ([, { active, standby }]) => active.has(id) || standby.has(id),
      )
      expect(holders.length).toBe(standbyReplicas + 1)
      expect(new Set(holders.map(([name]) => zoneOf(name))).size).toBe(zones)
    }
  }
})

test('with two tags the first copy differs in both, and the second as far as it can', () => {
  const at = (cluster: string, zone: string): AssignorMember =>
    member(`${cluster}${zone}`, [], {
      tags: new Map([
        ['cluster', cluster],
        ['zone', zone],
      ]),
    })
  const members = ['k', 'l'].flatMap((cluster) => ['1', '2', '3'].map((zone) => at(cluster, zone)))
  const { targets } = assign(stateful('0_0'), members, {
    standbyReplicas: 2,
    rackAwareAssignmentTags: ['cluster', 'zone'],
  })
  const holders = [...targets].filter(([, { active, standby }]) => active.size + standby.size > 0)
  expect(new Set(holders.map(([id]) => id.slice(1))).size).toBe(3)
  expect(new Set(holders.map(([id]) => id.slice(0, 1))).size).toBe(2)
})

test('members of one process share its part, and what they hold stays with them', () => {
  const tasks = [...stateful(...range(0, 6)), ...stateless(...range(1, 3))]
  const inOne = (id: string, held: TaskId[]): AssignorMember => member(id, held, { processId: 'p' })
  const members = [inOne('p1', ['0_0', '0_5', '1_1']), inOne('p2', ['0_1']), member('q')]
  const { targets } = assign(tasks, members, { acceptableRecoveryLag: 1000 })
  expect(shownTargets(targets)).toEqual(['p1: 0_0 0_5 1_1', 'p2: 0_1 0_3 1_0', 'q: 0_2 0_4 1_2'])
})

test('no copy is in the process of the active task, however many members that has', () => {
  const inOne = (id: string): AssignorMember => member(id, [], { processId: 'p' })
  const { targets } = assign(stateful(...range(0, 4)), [inOne('p1'), inOne('p2')], {
    standbyReplicas: 1,
  })
  expect(shownTargets(targets)).toEqual(['p1: 0_0 0_2', 'p2: 0_1 0_3'])
})

test('while the ends of changelogs are unknown nothing moves, and the rest goes where something is', () => {
  const tasks = stateful(...range(0, 6))
  const members = [
    member('a', ['0_0', '0_1', '0_2', '0_3']),
    member('b', [], { standby: ['0_5'], at: { '0_5': 1 } }),
    member('c'),
  ]
  const { targets, pendingCount } = assign(tasks, members, { moves: 'never' })
  expect(shownTargets(targets)).toEqual(['a: 0_0 0_1 0_2 0_3', 'b: 0_5', 'c: 0_4'])
  expect(pendingCount).toBe(0)
})

test('where members cannot tell how far they are, tasks move at once', () => {
  const tasks = stateful(...range(0, 4))
  const stored = member('b', [], { at: { '0_0': 0, '0_1': 0 } })
  const members = [member('a', range(0, 4), { progress: new Map() }), stored]
  const { targets } = assign(tasks, members, { moves: 'at-once' })
  expect(shownTargets(targets)).toEqual(['a: 0_2 0_3', 'b: 0_0 0_1'])
})

// Properties.

const spread = (counts: number[]): number => Math.max(...counts) - Math.min(...counts)

/** Processes that have a copy of the task, by role. */
function placesOf(
  { members }: Situation,
  targets: ReadonlyMap<string, TaskSet>,
  id: TaskId,
  role: 'active' | 'standby',
): string[] {
  return members
    .filter(({ memberId }) => targets.get(memberId)?.[role].has(id))
    .map(({ processId }) => processId)
}

test('every task has exactly one owner, and no process has two copies of it', () => {
  fc.assert(
    fc.property(situations, (given) => {
      const { targets } = assignTasks(given.tasks, given.members, given.options)
      const processCount = new Set(given.members.map(({ processId }) => processId)).size
      let extraCount = 0
      for (const { id, logged } of given.tasks) {
        const active = placesOf(given, targets, id, 'active')
        const standby = placesOf(given, targets, id, 'standby')
        expect(active.length).toBe(1)
        expect(new Set([...active, ...standby]).size).toBe(1 + standby.length)
        const wanted = logged ? Math.min(given.options.standbyReplicas, processCount - 1) : 0
        expect(standby.length).toBeGreaterThanOrEqual(wanted)
        extraCount += standby.length - wanted
      }
      expect(extraCount).toBeLessThanOrEqual(given.options.maxWarmupReplicas)
    }),
    { numRuns: 300 },
  )
})

test('a task runs where it can run at once, if it can anywhere', () => {
  fc.assert(
    fc.property(situations, (given) => {
      const { targets } = assignTasks(given.tasks, given.members, given.options)
      const lagAt = (processId: string, { id, endSum }: AssignableTask): number => {
        const sums = given.members
          .filter((one) => one.processId === processId)
          .flatMap(({ progress }) => progress.get(id) ?? [])
        if (sums.includes(progressRunning)) return 0
        return endSum - Math.max(0, ...sums)
      }
      for (const task of given.tasks) {
        const lags = given.members.map(({ processId }) => lagAt(processId, task))
        if (Math.min(...lags) > defaults.acceptableRecoveryLag) continue
        const [owner = ''] = placesOf(given, targets, task.id, 'active')
        expect(lagAt(owner, task)).toBeLessThanOrEqual(defaults.acceptableRecoveryLag)
      }
    }),
    { numRuns: 300 },
  )
})

test('when all have caught up, no more stateful tasks leave their holder than balance needs', () => {
  fc.assert(
    fc.property(situations, (given) => {
      const tasks = given.tasks.map((task) => ({ ...task, endSum: 0 }))
      // Of members in processes of their own: within a process moving is cheap.
      const members = given.members.map((one) => ({ ...one, processId: one.memberId }))
      const ids = tasks.filter((task) => task.stateful).map(({ id }) => id)
      const { targets } = assignTasks(tasks, members, given.options)
      const counts = members.map((one) => ids.filter((id) => one.held.active.has(id)).length)
      const moved = members.reduce(
        (sum, one) =>
          sum +
          ids.filter((id) => one.held.active.has(id) && !targets.get(one.memberId)?.active.has(id))
            .length,
        0,
      )
      // Whoever holds more than its share gives up the difference; the richest may keep one more.
      const floor = Math.floor(ids.length / members.length)
      const extras = ids.length - floor * members.length
      const least = counts
        .sort((a, b) => b - a)
        .reduce(
          (sum, count, index) => sum + Math.max(0, count - floor - (index < extras ? 1 : 0)),
          0,
        )
      expect(moved).toBe(least)
    }),
  )
})

test('the order of the arguments does not matter', () => {
  fc.assert(
    fc.property(situations, ({ tasks, members, options }) => {
      const backwards = assignTasks([...tasks].reverse(), [...members].reverse(), options)
      expect(shownTargets(backwards.targets)).toEqual(
        shownTargets(assignTasks(tasks, members, options).targets),
      )
    }),
  )
})

test('copies are spread evenly over processes that are alike', () => {
  for (const processCount of [2, 3, 5, 8]) {
    const members = Array.from({ length: processCount }, (_, index) => member(`m${index}`))
    const { targets } = assign(stateful(...range(0, 24)), members, { standbyReplicas: 1 })
    const loads = [...targets.values()].map(({ active, standby }) => active.size + standby.size)
    expect(spread(loads)).toBeLessThanOrEqual(1)
    const first = targets.get('m0')?.active ?? new Set()
    const followers = [...targets]
      .filter(([id]) => id !== 'm0')
      .map(([, { standby }]) => [...standby].filter((id) => first.has(id)).length)
    // When one fails, its tasks go to several others.
    expect(spread(followers)).toBeLessThanOrEqual(1)
  }
})

test('60 members and 30,000 tasks are no burden', () => {
  const tasks = stateful(...range(0, 30_000))
  const members = Array.from({ length: 60 }, (_, index) => member(`m${index}`))
  const { targets } = assign(tasks, members, { standbyReplicas: 1 })
  expect([...targets.values()].map(({ active }) => active.size)).toEqual(
    Array.from({ length: 60 }, () => 500),
  )
})
