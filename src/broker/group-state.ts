import { assert } from '../base/assert.ts'

/** Where a group is; the names are what DescribeGroups tells. */
export type GroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable' | 'Dead'

export type GroupEvent = 'rebalance' | 'joined' | 'emptied' | 'assigned' | 'deleted'

const nextState: Record<GroupState, Record<GroupEvent, GroupState | 'illegal'>> = {
  Empty: {
    rebalance: 'PreparingRebalance',
    joined: 'illegal',
    emptied: 'illegal',
    assigned: 'illegal',
    deleted: 'Dead',
  },
  PreparingRebalance: {
    rebalance: 'illegal',
    joined: 'CompletingRebalance',
    emptied: 'Empty',
    assigned: 'illegal',
    deleted: 'illegal',
  },
  CompletingRebalance: {
    rebalance: 'PreparingRebalance',
    joined: 'illegal',
    emptied: 'illegal',
    assigned: 'Stable',
    deleted: 'illegal',
  },
  Stable: {
    rebalance: 'PreparingRebalance',
    joined: 'illegal',
    emptied: 'illegal',
    assigned: 'illegal',
    deleted: 'illegal',
  },
  Dead: {
    rebalance: 'illegal',
    joined: 'illegal',
    emptied: 'illegal',
    assigned: 'illegal',
    deleted: 'illegal',
  },
}

/** The state after an event; one that cannot happen in this state is a bug. */
export function nextGroupState(state: GroupState, event: GroupEvent): GroupState {
  const next = nextState[state][event]
  assert(next !== 'illegal', `a group that is ${state} is not ${event}`)
  return next
}
