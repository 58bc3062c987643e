import { expect, test } from 'vitest'
import { nextMemberState, type MemberEvent, type MemberState } from './member-state.ts'

const walk = (from: MemberState, ...events: MemberEvent[]): MemberState =>
  events.reduce((state, event) => nextMemberState(state, event), from)

test('a member joins, syncs, applies what it got, and rests', () => {
  expect(walk('idle', 'join', 'joined', 'synced', 'applied')).toBe('stable')
})

test('a rebalance leads from rest through the same round', () => {
  expect(walk('stable', 'join', 'joined', 'synced', 'applied')).toBe('stable')
})

test('a generation can be lost at any step, and the member joins again', () => {
  for (const state of ['joining', 'syncing', 'reconciling', 'stable'] as const)
    expect(walk(state, 'lose', 'join')).toBe('joining')
})

test('a member stops from every state', () => {
  for (const state of ['idle', 'joining', 'syncing', 'stable', 'lost', 'failed'] as const)
    expect(walk(state, 'stop', 'left')).toBe('stopped')
})

test('a failed member only waits to be stopped', () => {
  expect(walk('syncing', 'fail', 'lose')).toBe('failed')
  expect(() => walk('failed', 'join')).toThrow("a member that is failed hears no 'join'")
})

test('nobody syncs without having joined', () => {
  expect(() => walk('idle', 'synced')).toThrow("a member that is idle hears no 'synced'")
})
