import { BinaryHeap } from '../../base/heap.ts'

/** Whoever shares, with what it has already, how much it can do, and how many it would keep. */
export interface Sharer {
  readonly has: number
  readonly capacity: number
  readonly wishes: number
}

/** A sharer while the shares grow. */
class Portion {
  readonly #sharer: Sharer
  readonly #index: number
  count = 0

  constructor(sharer: Sharer, index: number) {
    this.#sharer = sharer
    this.#index = index
  }

  /** Negative: the next one is for the first of the two. */
  static compare(this: void, a: Portion, b: Portion): number {
    return a.#load - b.#load || b.#wishes - a.#wishes || a.#index - b.#index
  }

  /** With one more. */
  get #load(): number {
    return (this.#sharer.has + this.count + 1) / this.#sharer.capacity
  }

  get #wishes(): number {
    return this.#sharer.wishes - this.count
  }
}

/**
 * How many each gets when each goes to the one that has the least for its capacity; of those that are
 * alike, to the one that keeps one by it.
 */
export function evenShares(count: number, sharers: readonly Sharer[]): number[] {
  const portions = sharers.map((sharer, index) => new Portion(sharer, index))
  const heap = new BinaryHeap<Portion>(Portion.compare)
  for (const portion of portions) heap.push(portion)
  for (let given = 0; given < count; given += 1) {
    const next = heap.peek()
    if (next === undefined) break
    next.count += 1
    heap.topChanged()
  }
  return portions.map((portion) => portion.count)
}

/** A place with the room that it had when it was looked at last. */
interface Place<T> {
  readonly one: T
  readonly index: number
  room: number
}

/** How many more each may take. The one with the most is at hand: a room only ever gets smaller. */
export class Rooms<T> {
  readonly #left = new Map<T, number>()
  readonly #places = new BinaryHeap<Place<T>>((a, b) => b.room - a.room || a.index - b.index)

  constructor(all: readonly T[], rooms: readonly number[]) {
    for (const [index, one] of all.entries()) {
      const room = rooms[index] ?? 0
      this.#left.set(one, room)
      this.#places.push({ one, index, room })
    }
  }

  of(one: T): number {
    return this.#left.get(one) ?? 0
  }

  take(one: T): void {
    this.#left.set(one, this.of(one) - 1)
  }

  /** The first of those with the most room; undefined when none has any. */
  roomiest(): T | undefined {
    for (let top = this.#places.peek(); top !== undefined; top = this.#places.peek()) {
      const room = this.of(top.one)
      if (room === top.room) return room > 0 ? top.one : undefined
      top.room = room
      this.#places.topChanged()
    }
    return undefined
  }
}
