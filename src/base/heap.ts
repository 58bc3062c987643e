/**
 * A priority queue. It keeps its items in the same array order as java.util.PriorityQueue (the same sift
 * rules), so that items which compare as equal leave in the same order as in Kafka Streams, where this
 * decides which of two partitions with equal timestamps is processed first.
 */
export class BinaryHeap<T> {
  readonly #compare: (a: T, b: T) => number
  readonly #items: T[] = []

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  /** The smallest item, which stays. */
  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    this.#items.push(item)
    this.#siftUp(this.#items.length - 1, item)
  }

  /** Takes the smallest item out. */
  pop(): T | undefined {
    const items = this.#items
    const top = items[0]
    const last = items.pop()
    if (items.length > 0) this.#siftDown(0, last as T)
    return top
  }

  /** The smallest item has grown: it goes to its place, as if it were taken out and put in again. */
  topChanged(): void {
    const items = this.#items
    if (items.length > 1) this.#siftDown(0, items[0] as T)
  }

  /** Takes this very item out, wherever it is; linear. False when it is not there. */
  remove(item: T): boolean {
    const items = this.#items
    const index = items.indexOf(item)
    if (index < 0) return false
    const last = items.pop() as T
    if (index < items.length) {
      this.#siftDown(index, last)
      if (items[index] === last) this.#siftUp(index, last)
    }
    return true
  }

  clear(): void {
    this.#items.length = 0
  }

  /** The items in no useful order. */
  values(): IterableIterator<T> {
    return this.#items.values()
  }

  #siftUp(index: number, item: T): void {
    const items = this.#items
    while (index > 0) {
      const parent = (index - 1) >>> 1
      const above = items[parent] as T
      if (this.#compare(item, above) >= 0) break
      items[index] = above
      index = parent
    }
    items[index] = item
  }

  #siftDown(index: number, item: T): void {
    const items = this.#items
    const size = items.length
    const firstLeaf = size >>> 1
    while (index < firstLeaf) {
      let child = 2 * index + 1
      const right = child + 1
      if (right < size && this.#compare(items[child] as T, items[right] as T) > 0) child = right
      const below = items[child] as T
      if (this.#compare(item, below) <= 0) break
      items[index] = below
      index = child
    }
    items[index] = item
  }
}
