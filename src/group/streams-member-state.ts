import { assert } from '../base/assert.ts'

/**
 * Where a member of a streams group stands. What it may do follows from it:
 *
 *     idle → joining → stable ⇄ reconciling        any → leaving → stopped
 *               ↑         │          │             any → failed  → leaving
 *               └── lost ←┴──────────┘
 *
 * A member that is `reconciling` gives up and takes tasks. Then it is `stable`, and tells the
 * coordinator what it holds. Java's MemberState.
 */
export type StreamsMemberState =
  | 'idle'
  | 'joining'
  | 'stable'
  | 'reconciling'
  | 'lost'
  | 'failed'
  | 'leaving'
  | 'stopped'

/**
 * `target`: other tasks are to be held than those that are. `lose`: this member is none any more.
 * `fail`: membership cannot go on. `stop`: the owner has had enough.
 */
export type StreamsMemberEvent =
  | 'join'
  | 'joined'
  | 'target'
  | 'applied'
  | 'lose'
  | 'fail'
  | 'stop'
  | 'left'

const next: Readonly<
  Record<StreamsMemberState, Readonly<Record<StreamsMemberEvent, StreamsMemberState | 'illegal'>>>
> = {
  idle: {
    join: 'joining',
    joined: 'illegal',
    target: 'illegal',
    applied: 'illegal',
    lose: 'illegal',
    fail: 'failed',
    stop: 'leaving',
    left: 'illegal',
  },
  joining: {
    join: 'illegal',
    joined: 'stable',
    target: 'illegal',
    applied: 'illegal',
    lose: 'lost',
    fail: 'failed',
    stop: 'leaving',
    left: 'illegal',
  },
  stable: {
    join: 'illegal',
    joined: 'illegal',
    target: 'reconciling',
    applied: 'illegal',
    lose: 'lost',
    fail: 'failed',
    stop: 'leaving',
    left: 'illegal',
  },
  reconciling: {
    join: 'illegal',
    joined: 'illegal',
    target: 'illegal',
    applied: 'stable',
    lose: 'lost',
    fail: 'failed',
    stop: 'leaving',
    left: 'illegal',
  },
  lost: {
    join: 'joining',
    joined: 'illegal',
    target: 'illegal',
    applied: 'illegal',
    lose: 'illegal',
    fail: 'failed',
    stop: 'leaving',
    left: 'illegal',
  },
  failed: {
    join: 'illegal',
    joined: 'illegal',
    target: 'illegal',
    applied: 'illegal',
    lose: 'illegal',
    fail: 'illegal',
    stop: 'leaving',
    left: 'illegal',
  },
  leaving: {
    join: 'illegal',
    joined: 'illegal',
    target: 'illegal',
    applied: 'illegal',
    lose: 'illegal',
    fail: 'illegal',
    stop: 'illegal',
    left: 'stopped',
  },
  stopped: {
    join: 'illegal',
    joined: 'illegal',
    target: 'illegal',
    applied: 'illegal',
    lose: 'illegal',
    fail: 'illegal',
    stop: 'illegal',
    left: 'illegal',
  },
}

/** The state after the event. An event that cannot happen there is a bug of ours. */
export function nextStreamsMemberState(
  state: StreamsMemberState,
  event: StreamsMemberEvent,
): StreamsMemberState {
  const following = next[state][event]
  assert(following !== 'illegal', `a member that is ${state} hears no '${event}'`)
  return following
}
