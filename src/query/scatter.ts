/** A question to several partitions of this process, which any of its threads may have. */
import { holdersMax, isMoved, workerFor } from './partition-holder.ts'
import type { QueryTarget } from './query-target.ts'
import { assertNotAborted } from './request.ts'
import type { PartitionsAnswer, WorkerQueries, WorkerQuestionOptions } from './worker-queries.ts'

/** What the threads say, and what is left for this one. */
export interface Scattered<A> {
  readonly answers: readonly A[]
  /** Partitions that no other thread has. */
  readonly rest: readonly number[]
  /** Why other threads do not answer for what they have. */
  readonly failures: Map<number, unknown>
}

/** Asks all threads that hold some of the partitions, each once, and again for what has moved meanwhile. */
export async function scatter<A extends PartitionsAnswer>(
  target: QueryTarget,
  partitions: readonly number[],
  request: WorkerQuestionOptions,
  ask: (worker: WorkerQueries, partitions: readonly number[]) => Promise<A>,
): Promise<Scattered<A>> {
  const answers: A[] = []
  const rest: number[] = []
  const failures = new Map<number, unknown>()
  if (target.inThread === undefined) return { answers, rest: partitions, failures }
  let open = partitions
  for (let asked = 0; open.length > 0 && asked < holdersMax; asked += 1) {
    const shares = new Map<WorkerQueries, number[]>()
    for (const partition of open) {
      const worker = workerFor(target, request.store, partition, request)
      failures.delete(partition)
      if (worker === undefined) {
        rest.push(partition)
        continue
      }
      const share = shares.get(worker) ?? []
      share.push(partition)
      shares.set(worker, share)
    }
    const outcomes = await Promise.allSettled([...shares].map(([worker, its]) => ask(worker, its)))
    for (const [index, [, share]] of [...shares].entries()) {
      const outcome = outcomes[index] as PromiseSettledResult<A>
      if (outcome.status === 'rejected') {
        for (const partition of share) failures.set(partition, outcome.reason)
        continue
      }
      answers.push(outcome.value)
      for (const [partition, failure] of outcome.value.failures) failures.set(partition, failure)
    }
    open = open.filter((partition) => isMoved(failures.get(partition)))
  }
  // Nobody waits any more for what would be read here.
  assertNotAborted(request)
  return { answers, rest, failures }
}
