import { expect, test } from 'vitest'
import type { TaskId } from '../../processor/record-metadata.ts'
import type { TaskSet } from '../membership.ts'
import type { MemberSubscription } from './leader.ts'
import { grantTasks } from './tasks-in-transit.ts'

const tasks = (active: TaskId[], standby: TaskId[] = []): TaskSet => ({
  active: new Set(active),
  standby: new Set(standby),
})

const member = (memberId: string, held: TaskSet, processId = memberId): MemberSubscription => ({
  memberId,
  generation: 1,
  data: {
    processId,
    nonce: 0,
    endpoint: undefined,
    held,
    progress: new Map(),
    tags: new Map(),
  },
})

const grant = (members: MemberSubscription[], targets: Record<string, TaskSet>) => {
  const granted = grantTasks(new Map(Object.entries(targets)), members)
  return {
    tasks: Object.fromEntries(granted.tasks),
    releasing: [...granted.releasing],
    withheldCount: granted.withheldCount,
  }
}

test('what nobody else has is given at once', () => {
  const granted = grant([member('a', tasks(['0_0'])), member('b', tasks([]))], {
    a: tasks(['0_0'], ['0_1']),
    b: tasks(['0_1'], ['0_0']),
  })
  expect(granted).toEqual({
    tasks: { a: tasks(['0_0'], ['0_1']), b: tasks(['0_1'], ['0_0']) },
    releasing: [],
    withheldCount: 0,
  })
})

test('what another one runs is given to nobody, and whoever follows it goes on', () => {
  const members = [member('a', tasks(['0_0', '0_1'])), member('b', tasks([], ['0_1']))]
  const granted = grant(members, { a: tasks(['0_0'], ['0_1']), b: tasks(['0_1']) })
  expect(granted).toEqual({
    tasks: { a: tasks(['0_0'], ['0_1']), b: tasks([], ['0_1']) },
    releasing: [],
    withheldCount: 1,
  })
})

test('a standby that nobody else runs becomes active in one step', () => {
  const granted = grant([member('b', tasks([], ['0_1']))], { b: tasks(['0_1']) })
  expect(granted.tasks).toEqual({ b: tasks(['0_1']) })
})

test('of two claims on a task both are in the way', () => {
  const members = [member('a', tasks(['0_0'])), member('b', tasks(['0_0']))]
  const granted = grant(members, { a: tasks(['0_0']), b: tasks([]) })
  expect(granted).toEqual({
    tasks: { a: tasks([]), b: tasks([]) },
    releasing: [],
    withheldCount: 1,
  })
})

test('a member of the same process has to close a standby before another one runs the task', () => {
  const members = [member('p1', tasks([], ['0_0']), 'p'), member('p2', tasks([]), 'p')]
  expect(grant(members, { p1: tasks([]), p2: tasks(['0_0']) })).toEqual({
    tasks: { p1: tasks([]), p2: tasks([]) },
    releasing: ['p1'],
    withheldCount: 1,
  })
})

test('a member of the same process has to close a task before another one follows it', () => {
  const members = [
    member('p1', tasks(['0_0']), 'p'),
    member('p2', tasks([]), 'p'),
    member('q', tasks([])),
  ]
  expect(grant(members, { p1: tasks([]), p2: tasks([], ['0_0']), q: tasks(['0_0']) })).toEqual({
    tasks: { p1: tasks([]), p2: tasks([]), q: tasks([]) },
    releasing: [],
    withheldCount: 2,
  })
})

test('two tasks that nobody runs do not wait for ever for the standbys of each other', () => {
  // Each process has a member that follows one of them, and no room in it to run that one.
  const members = [
    member('a1', tasks([], ['0_0']), 'a'),
    member('a2', tasks([]), 'a'),
    member('b1', tasks([], ['0_1']), 'b'),
    member('b2', tasks([]), 'b'),
  ]
  const first = grant(members, {
    a1: tasks([], ['0_1']),
    a2: tasks(['0_0']),
    b1: tasks([], ['0_0']),
    b2: tasks(['0_1']),
  })
  expect(first).toEqual({
    tasks: { a1: tasks([]), a2: tasks([]), b1: tasks([]), b2: tasks([]) },
    releasing: ['a1', 'b1'],
    withheldCount: 4,
  })
})
