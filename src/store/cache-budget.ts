import type { StoreContext } from './state-store.ts'

/** Bytes that the record caches of one task hold together. Java's ThreadCache has one for a thread. */
export interface CacheBudget {
  /** May change; a cache that has more makes room at its next update. */
  bytesMax: number
  bytes: number
}

const budgets = new WeakMap<StoreContext, CacheBudget>()

/** The one budget of the stores that were made with a context. */
export function cacheBudget(context: StoreContext): CacheBudget {
  let budget = budgets.get(context)
  if (budget === undefined) {
    budget = { bytesMax: context.cacheBytesMax, bytes: 0 }
    budgets.set(context, budget)
  }
  return budget
}
