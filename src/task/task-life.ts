import { assert } from '../base/assert.ts'
import type { TaskState } from './task.ts'

export type TaskEvent = 'initialize' | 'restored' | 'suspend' | 'close'

const nextState: Record<TaskState, Record<TaskEvent, TaskState | 'illegal'>> = {
  created: { initialize: 'restoring', restored: 'illegal', suspend: 'suspended', close: 'illegal' },
  restoring: { initialize: 'illegal', restored: 'running', suspend: 'suspended', close: 'illegal' },
  running: { initialize: 'illegal', restored: 'illegal', suspend: 'suspended', close: 'illegal' },
  suspended: { initialize: 'illegal', restored: 'illegal', suspend: 'suspended', close: 'closed' },
  closed: { initialize: 'illegal', restored: 'illegal', suspend: 'illegal', close: 'closed' },
}

/** The state of a task after an event; refuses one that cannot come now. */
export function nextTaskState(from: TaskState, event: TaskEvent): TaskState {
  const state = nextState[from][event]
  assert(state !== 'illegal', `a task that is ${from} takes no ${event}`)
  return state
}
