import type { PartitionLog } from '../partition-log.ts'
import { Refusal } from '../refusal.ts'

/** Why a client's idea of the leader is wrong; undefined when it is right, or it has none (-1). */
export function leaderEpochProblem(log: PartitionLog, leaderEpoch: number): Refusal | undefined {
  if (leaderEpoch < 0 || leaderEpoch === log.leaderEpoch) return undefined
  const message = `The leader epoch is ${log.leaderEpoch}, not ${leaderEpoch}.`
  return leaderEpoch < log.leaderEpoch
    ? new Refusal('FENCED_LEADER_EPOCH', message)
    : new Refusal('UNKNOWN_LEADER_EPOCH', message)
}
