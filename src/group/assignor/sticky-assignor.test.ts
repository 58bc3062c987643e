import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { taskId, type TaskId } from '../../processor/record-metadata.ts'
import { assignSticky, type AssignableTask, type AssignorMember } from './sticky-assignor.ts'

const member = (
  memberId: string,
  held: TaskId[] = [],
  more: Partial<AssignorMember> = {},
): AssignorMember => ({
  memberId,
  processId: memberId,
  generation: 1,
  held: new Set(held),
  stored: new Set(held),
  ...more,
})

const stateful = (...ids: TaskId[]): AssignableTask[] => ids.map((id) => ({ id, stateful: true }))
const stateless = (...ids: TaskId[]): AssignableTask[] => ids.map((id) => ({ id, stateful: false }))

const plain = (assignment: Map<string, Set<TaskId>>): Record<string, TaskId[]> =>
  Object.fromEntries([...assignment].map(([id, tasks]) => [id, [...tasks].sort()]))

test('the first member gets everything', () => {
  expect(plain(assignSticky(stateful('0_0', '0_1', '1_0'), [member('a')]))).toEqual({
    a: ['0_0', '0_1', '1_0'],
  })
})

test('two new members share stateful and stateless tasks alike', () => {
  const tasks = [...stateless('0_0', '0_1', '0_2', '0_3'), ...stateful('1_0', '1_1', '1_2', '1_3')]
  expect(plain(assignSticky(tasks, [member('b'), member('a')]))).toEqual({
    a: ['0_0', '0_2', '1_0', '1_2'],
    b: ['0_1', '0_3', '1_1', '1_3'],
  })
})

test('a newcomer takes only what it must', () => {
  const tasks = stateful('0_0', '0_1', '0_2', '0_3', '0_4')
  const members = [member('a', ['0_0', '0_1', '0_2', '0_3', '0_4']), member('b')]
  expect(plain(assignSticky(tasks, members))).toEqual({
    a: ['0_0', '0_1', '0_2'],
    b: ['0_3', '0_4'],
  })
})

test('a newcomer gets the tasks whose state it has on disk', () => {
  const tasks = stateful('0_0', '0_1', '0_2', '0_3')
  const members = [
    member('a', ['0_0', '0_1', '0_2', '0_3']),
    member('b', [], { stored: new Set<TaskId>(['0_0', '0_1']) }),
  ]
  expect(plain(assignSticky(tasks, members))).toEqual({ a: ['0_2', '0_3'], b: ['0_0', '0_1'] })
})

test('when a member is gone, the others keep what they have and share what it had', () => {
  const tasks = stateful('0_0', '0_1', '0_2', '0_3', '0_4', '0_5')
  const members = [member('a', ['0_1', '0_4']), member('c', ['0_0', '0_3'])]
  expect(plain(assignSticky(tasks, members))).toEqual({
    a: ['0_1', '0_2', '0_4'],
    c: ['0_0', '0_3', '0_5'],
  })
})

test('of two claims on a task the newer generation counts', () => {
  const members = [
    member('a', ['0_0'], { generation: 3, stored: new Set<TaskId>() }),
    member('b', ['0_0', '0_1'], { generation: 4 }),
  ]
  expect(plain(assignSticky(stateful('0_0', '0_1'), members))).toEqual({ a: ['0_1'], b: ['0_0'] })
})

test('tasks that are no more are not assigned', () => {
  expect(plain(assignSticky(stateful('0_0'), [member('a', ['0_0', '9_9'])]))).toEqual({
    a: ['0_0'],
  })
})

test('with more members than tasks some have none', () => {
  const members = [member('a'), member('b'), member('c', ['0_0'])]
  expect(plain(assignSticky(stateful('0_0'), members))).toEqual({ a: [], b: [], c: ['0_0'] })
})

const situation = fc
  .record({
    sizes: fc.array(
      fc.record({ partitions: fc.integer({ min: 1, max: 9 }), stateful: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    memberCount: fc.integer({ min: 1, max: 7 }),
    seed: fc.infiniteStream(fc.nat(8)),
  })
  .map(({ sizes, memberCount, seed }) => {
    const tasks = sizes.flatMap(({ partitions, stateful }, subtopology) =>
      Array.from({ length: partitions }, (_, index) => ({
        id: taskId(subtopology, index),
        stateful,
      })),
    )
    const held = Array.from({ length: memberCount }, () => new Set<TaskId>())
    const stored = Array.from({ length: memberCount }, () => new Set<TaskId>())
    for (const { id } of tasks) {
      // An index past the members: nobody holds it.
      held[seed.next().value as number]?.add(id)
      stored[seed.next().value as number]?.add(id)
    }
    const members = held.map((own, index) =>
      member(`m${index}`, [...own], { stored: new Set([...own, ...(stored[index] ?? [])]) }),
    )
    return { tasks, members }
  })

const spread = (counts: number[]): number => Math.max(...counts) - Math.min(...counts)

test('every task has exactly one owner, and loads differ by at most one', () => {
  fc.assert(
    fc.property(situation, ({ tasks, members }) => {
      const shares = [...assignSticky(tasks, members).values()]
      expect(shares.flatMap((own) => [...own]).sort()).toEqual(tasks.map(({ id }) => id).sort())
      expect(spread(shares.map((own) => own.size))).toBeLessThanOrEqual(1)
      const isStateful = new Set(tasks.filter((task) => task.stateful).map(({ id }) => id))
      const loads = shares.map((own) => [...own].filter((id) => isStateful.has(id)).length)
      expect(spread(loads)).toBeLessThanOrEqual(1)
    }),
  )
})

test('an assignment that was made is made again: nothing moves without a reason', () => {
  fc.assert(
    fc.property(situation, ({ tasks, members }) => {
      const first = assignSticky(tasks, members)
      const again = assignSticky(
        tasks,
        members.map((one) => ({ ...one, held: first.get(one.memberId) ?? new Set() })),
      )
      expect(plain(again)).toEqual(plain(first))
    }),
  )
})

test('no more stateful tasks leave their holder than balance needs', () => {
  fc.assert(
    fc.property(situation, ({ tasks, members }) => {
      const ids = tasks.filter((task) => task.stateful).map(({ id }) => id)
      const assignment = assignSticky(tasks, members)
      const counts = members.map((one) => ids.filter((id) => one.held.has(id)).length)
      const moved = members.reduce(
        (sum, one) =>
          sum +
          ids.filter((id) => one.held.has(id) && !assignment.get(one.memberId)?.has(id)).length,
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
    fc.property(situation, ({ tasks, members }) => {
      expect(plain(assignSticky([...tasks].reverse(), [...members].reverse()))).toEqual(
        plain(assignSticky(tasks, members)),
      )
    }),
  )
})

test('60 members and 30,000 tasks are no burden', () => {
  const tasks = stateful(...Array.from({ length: 30_000 }, (_, index) => taskId(0, index)))
  const members = Array.from({ length: 60 }, (_, index) => member(`m${index}`))
  expect([...assignSticky(tasks, members).values()].map((own) => own.size)).toEqual(
    Array.from({ length: 60 }, () => 500),
  )
})
