import { assert } from '../base/assert.ts'

/**
 * Where a classic member stands. All that it does with the coordinator follows from it:
 *
 *              ┌────────────── rejoin ──────────────┐
 *              ↓                                    │
 *     idle → joining → syncing → reconciling → stable
 *              ↑          │           │           │
 *              └─ forget ─┴── lost ←──┴───────────┘      any → leaving → stopped
 *                                                        any → failed  → leaving
 *
 * In `joining` and `syncing` no generation is agreed, so nobody may commit.
 */
export type MemberState =
  | 'idle'
  | 'joining'
  | 'syncing'
  | 'reconciling'
  | 'stable'
  | 'lost'
  | 'failed'
  | 'leaving'
  | 'stopped'

/**
 * `lose`: the generation is no longer ours. `fail`: membership cannot go on. `stop`: the owner has
 * had enough.
 */
export type MemberEvent =
  | 'join'
  | 'joined'
  | 'synced'
  | 'applied'
  | 'lose'
  | 'fail'
  | 'stop'
  | 'left'

const next: Readonly<Record<MemberState, Readonly<Record<MemberEvent, MemberState | 'illegal'>>>> =
  {
    idle: {
      join: 'joining',
      joined: 'illegal',
      synced: 'illegal',
      applied: 'illegal',
      lose: 'illegal',
      fail: 'failed',
      stop: 'leaving',
      left: 'illegal',
    },
    joining: {
      join: 'joining',
      joined: 'syncing',
      synced: 'illegal',
      applied: 'illegal',
      lose: 'lost',
      fail: 'failed',
      stop: 'leaving',
      left: 'illegal',
    },
    syncing: {
      join: 'joining',
      joined: 'illegal',
      synced: 'reconciling',
      applied: 'illegal',
      lose: 'lost',
      fail: 'failed',
      stop: 'leaving',
      left: 'illegal',
    },
    reconciling: {
      join: 'joining',
      joined: 'illegal',
      synced: 'illegal',
      applied: 'stable',
      lose: 'lost',
      fail: 'failed',
      stop: 'leaving',
      left: 'illegal',
    },
    stable: {
      join: 'joining',
      joined: 'illegal',
      synced: 'illegal',
      applied: 'illegal',
      lose: 'lost',
      fail: 'failed',
      stop: 'leaving',
      left: 'illegal',
    },
    lost: {
      join: 'joining',
      joined: 'illegal',
      synced: 'illegal',
      applied: 'illegal',
      lose: 'lost',
      fail: 'failed',
      stop: 'leaving',
      left: 'illegal',
    },
    failed: {
      join: 'illegal',
      joined: 'illegal',
      synced: 'illegal',
      applied: 'illegal',
      lose: 'failed',
      fail: 'failed',
      stop: 'leaving',
      left: 'illegal',
    },
    leaving: {
      join: 'illegal',
      joined: 'illegal',
      synced: 'illegal',
      applied: 'illegal',
      lose: 'leaving',
      fail: 'leaving',
      stop: 'leaving',
      left: 'stopped',
    },
    stopped: {
      join: 'illegal',
      joined: 'illegal',
      synced: 'illegal',
      applied: 'illegal',
      lose: 'stopped',
      fail: 'stopped',
      stop: 'stopped',
      left: 'stopped',
    },
  }

/** The state after the event. An event that cannot happen there is a bug of ours. */
export function nextMemberState(state: MemberState, event: MemberEvent): MemberState {
  const following = next[state][event]
  assert(following !== 'illegal', `a member that is ${state} hears no '${event}'`)
  return following
}
