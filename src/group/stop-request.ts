import { sleep } from '../base/clock.ts'
import { ClassicMember, type ClassicMemberOptions } from './classic-member.ts'
import type { MembershipHandlers } from './membership.ts'

/** So long this waits for the round in which all are told. */
const patienceMs = 30_000

/** The broker keeps what members tell, and all of them get it. */
const reasonLengthMax = 1000

/** Members that are told a moment later than this one would find the group gone on without it. */
const lingerMs = 1000

/**
 * Joins the group once more, to have all its members stopped: the leader gives nobody a task and tells
 * everybody why. Leaves then. Never rejects: who is not reached in time goes on. Java's
 * AssignorError.SHUTDOWN_REQUESTED.
 */
export async function requestStop(options: ClassicMemberOptions, reason: string): Promise<void> {
  const { clock } = options
  const over = new AbortController()
  const stopReason = reason.slice(0, reasonLengthMax)
  const member = new ClassicMember({ ...options, stopReason })
  member.start(told(() => over.abort()))
  await sleep(clock, patienceMs, over.signal)
  if (over.signal.aborted) await sleep(clock, lingerMs)
  else options.log.warn('the group did not stop in time', { reason })
  await member.stop('leave')
}

/** Does nothing with tasks that a leader gives that knows no such request. */
function told(onTold: () => void): MembershipHandlers {
  return {
    onRevoke: () => Promise.resolve(),
    onAssign: () => Promise.resolve(),
    onLost: () => Promise.resolve(),
    onHosts: () => undefined,
    onFatal: onTold,
  }
}
