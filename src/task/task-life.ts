import { assert } from '../base/assert.ts'
import type { TaskState } from './task.ts'

/** `initialize` is for active tasks, `follow` for standbys: they have no end that they restore to. */
export type TaskEvent = 'initialize' | 'follow' | 'restored' | 'suspend' | 'close'

const nextState: Record<TaskState, Record<TaskEvent, TaskState | 'illegal'>> = {
  created: {
    initialize: 'restoring',
    follow: 'running',
    restored: 'illegal',
    suspend: 'suspended',
    close: 'illegal',
  },
  restoring: {
    initialize: 'illegal',
    follow: 'illegal',
    restored: 'running',
    suspend: 'suspended',
    close: 'illegal',
  },
  running: {
    initialize: 'illegal',
    follow: 'illegal',
    restored: 'illegal',
    suspend: 'suspended',
    close: 'illegal',
  },
  suspended: {
    initialize: 'illegal',
    follow: 'illegal',
    restored: 'illegal',
    suspend: 'suspended',
    close: 'closed',
  },
  closed: {
    initialize: 'illegal',
    follow: 'illegal',
    restored: 'illegal',
    suspend: 'illegal',
    close: 'closed',
  },
}

/** The state of a task after an event; refuses one that cannot come now. */
export function nextTaskState(from: TaskState, event: TaskEvent): TaskState {
  const state = nextState[from][event]
  assert(state !== 'illegal', `a task that is ${from} takes no ${event}`)
  return state
}
