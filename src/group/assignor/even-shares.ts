/** Whoever shares, with what it has already, how much it can do, and how many it would keep. */
export interface Sharer {
  readonly has: number
  readonly capacity: number
  readonly wishes: number
}

/**
 * How many each gets when each goes to the one that has the least for its capacity; of those that are
 * alike, to the one that keeps one by it.
 */
export function evenShares(count: number, sharers: readonly Sharer[]): number[] {
  const shares = sharers.map(() => 0)
  for (let given = 0; given < count; given += 1) {
    let best = -1
    let bestLoad = Infinity
    let bestWish = -Infinity
    for (let index = 0; index < sharers.length; index += 1) {
      const { has, capacity, wishes } = sharers[index] as Sharer
      const share = shares[index] ?? 0
      const load = (has + share + 1) / capacity
      if (load > bestLoad || (load === bestLoad && wishes - share <= bestWish)) continue
      best = index
      bestLoad = load
      bestWish = wishes - share
    }
    if (best >= 0) shares[best] = (shares[best] ?? 0) + 1
  }
  return shares
}

/** The first of those with the most room; undefined when none has any. */
export function roomiest<T>(all: Iterable<T>, room: (one: T) => number): T | undefined {
  let best: T | undefined
  let most = 0
  for (const one of all) {
    const own = room(one)
    if (own <= most) continue
    best = one
    most = own
  }
  return best
}
