/**
 * Which thread of this process answers for a partition: looked up anew for each question, and again when
 * the partition turns out to have moved in between.
 */
import { isStreamsError } from '../errors.ts'
import { allowsStale, type ConsistencyOptions } from './consistency.ts'
import type { LocalPartition, QueryTarget } from './query-target.ts'
import type { WorkerQueries } from './worker-queries.ts'

/** Threads that are asked for one partition, one after the other, while it moves from one to the next. */
export const holdersMax = 4

/** In which role this process holds a partition, whichever of its threads has it. */
export function roleHere(
  target: QueryTarget,
  store: string,
  partition: number,
): LocalPartition['role'] | undefined {
  const role = target.local(store, partition)?.role
  if (target.inThread === undefined || (role !== undefined && role !== 'standby')) return role
  return target.inThread(store, partition)?.role ?? role
}

/** How far a partition of this process is; undefined: it has none, or not any more. */
export async function statusHere(
  target: QueryTarget,
  store: string,
  partition: number,
): Promise<Omit<LocalPartition, 'view'> | undefined> {
  const worker = workerFor(target, store, partition, { consistency: 'any' })
  if (worker === undefined) return target.local(store, partition)
  try {
    const [status] = await worker.status(store, [partition])
    return status
  } catch (error) {
    if (isMoved(error)) return undefined
    throw error
  }
}

/** True: this process holds the partition in a role that is asked for. */
export function isHeldFor(
  target: QueryTarget,
  store: string,
  partition: number,
  consistency: ConsistencyOptions,
): boolean {
  const role = roleHere(target, store, partition)
  return role !== undefined && (role !== 'standby' || allowsStale(consistency))
}

/** Which worker of another thread to ask; undefined: what this thread has is as good, or all there is. */
export function workerFor(
  target: QueryTarget,
  store: string,
  partition: number,
  consistency: ConsistencyOptions,
): WorkerQueries | undefined {
  const held = target.inThread?.(store, partition)
  if (held === undefined) return undefined
  if (held.role === 'standby' && !allowsStale(consistency)) return undefined
  const local = target.local(store, partition)
  if (local === undefined) return held.worker
  return local.role === 'standby' && held.role !== 'standby' ? held.worker : undefined
}

/** True: the partition is not where it was a moment ago. */
export function isMoved(error: unknown): boolean {
  return isStreamsError(error, 'STORE_MIGRATED') || isStreamsError(error, 'STREAMS_REBALANCING')
}

/** What to ask of whoever holds a partition. */
export interface HolderQuestion<A> {
  readonly store: string
  readonly partition: number
  readonly consistency: ConsistencyOptions
  /** Of what this thread has; throws when that is nothing. */
  readonly here: () => A
  readonly there: (worker: WorkerQueries) => Promise<A>
}

/** Asks who holds the partition, and who has it then when it moves meanwhile. */
export async function askHolder<A>(
  target: QueryTarget,
  { store, partition, consistency, here, there }: HolderQuestion<A>,
): Promise<A> {
  for (let asked = 1; ; asked += 1) {
    const worker = workerFor(target, store, partition, consistency)
    if (worker === undefined) return here()
    try {
      return await there(worker)
    } catch (error) {
      if (!isMoved(error) || asked === holdersMax) throw error
    }
  }
}
