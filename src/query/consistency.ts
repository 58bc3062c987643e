import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { LocalPartition } from './query-target.ts'

/** How true an answer has to be. */
export interface ConsistencyOptions {
  /**
   * Who may answer: only who owns the key (`active`, the default), or also an instance with a standby
   * copy of the store, or with one that is being restored (`any`). Their answers are from the past: as
   * many records of the changelog as `meta.lag` says are missing. Java: enableStaleStores.
   */
  readonly consistency?: 'active' | 'any'
  /**
   * Records of the changelog that may be missing in the store that answers; more of them are refused
   * with `STALE`, by the instance that has that store. Means `any`.
   */
  readonly maxLag?: number
}

/** Who gave an answer: the owner of the key, a copy, an owner that still restores, or a global store. */
export type AnswerRole = 'active' | 'standby' | 'restoring' | 'global'

/** True: another one than the owner may answer, or an owner that restores. */
export function allowsStale({ consistency, maxLag }: ConsistencyOptions): boolean {
  return consistency === 'any' || maxLag !== undefined
}

/** Refuses what a program without types gave in place of options: `'any'`, or `null`. */
export function assertQueryOptions(given: unknown): asserts given is object {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return
  const detail = `the options of a question must be an object, not ${shownValue(given)}`
  throw new StreamsError('QUERY_INVALID', { detail })
}

/** Throws `QUERY_INVALID` for options of a program without types, or that contradict each other. */
export function assertConsistency({ consistency, maxLag }: ConsistencyOptions): void {
  const fail = (detail: string): never => {
    throw new StreamsError('QUERY_INVALID', { detail })
  }
  if (consistency !== undefined && consistency !== 'active' && consistency !== 'any') {
    fail(`consistency is 'active' or 'any', not ${shownValue(consistency)}`)
  }
  if (maxLag === undefined) return
  if (!Number.isSafeInteger(maxLag) || maxLag < 0) {
    fail(`maxLag is a whole number of records, not ${shownValue(maxLag)}`)
  }
  if (consistency === 'active') fail("maxLag is for consistency 'any': the owner lags by nothing")
}

/** As answers name it. */
export function roleOf({ role, state }: Pick<LocalPartition, 'role' | 'state'>): AnswerRole {
  return state === 'restoring' ? 'restoring' : role
}

const trust: readonly AnswerRole[] = ['standby', 'restoring', 'active', 'global']

/** The role of an answer that was put together from others: that of the least of them. */
export function leastRole(roles: readonly AnswerRole[]): AnswerRole {
  return trust.find((role) => roles.includes(role)) ?? 'active'
}
