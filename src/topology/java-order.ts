/**
 * The order in which Java's hash sets and tree sets give back their elements. The text of
 * `Topology#describe()` depends on it (and tools compare that text), so it is part of the format.
 */

/** Java's String#hashCode. */
function javaHashCode(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}

const hashTableSizeMin = 16

/** Table size of a HashMap that grew to hold that many elements. */
function grownTableSize(count: number): number {
  let size = hashTableSizeMin
  while (count > size * 0.75) size *= 2
  return size
}

/** Table size of `new HashSet<>(collection)`, which is asked for `count / 0.75 + 1` places. */
function copiedTableSize(count: number): number {
  const wanted = Math.max(Math.trunc(count / 0.75) + 1, hashTableSizeMin)
  let size = hashTableSizeMin
  while (size < wanted) size *= 2
  return size
}

function bucketOf(hash: number, tableSize: number): number {
  return (hash ^ (hash >>> 16)) & (tableSize - 1)
}

function byBucket(names: readonly string[], tableSize: number): string[] {
  const bucket = (name: string): number => bucketOf(javaHashCode(name), tableSize)
  // A bucket keeps the order of insertion, also when the table grows: a stable sort is the same.
  return [...new Set(names)].sort((left, right) => bucket(left) - bucket(right))
}

/** Order of a HashSet (or the keys of a HashMap) into which the names were put one by one. */
export function hashSetOrder(names: readonly string[]): string[] {
  return byBucket(names, grownTableSize(names.length))
}

/** Order of a HashSet that was made as a copy of a collection. */
export function copiedHashSetOrder(names: readonly string[]): string[] {
  return byBucket(names, copiedTableSize(names.length))
}

/**
 * Order of a HashSet of sets of names that was made as a copy of a collection. The sets are different
 * ones, and the collection may have had some of them several times: `count` elements in all.
 */
export function copiedSetOfSetsOrder(
  sets: readonly ReadonlySet<string>[],
  count: number,
): ReadonlySet<string>[] {
  const tableSize = copiedTableSize(count)
  const bucket = (names: ReadonlySet<string>): number => {
    let hash = 0
    for (const name of names) hash = (hash + javaHashCode(name)) | 0
    return bucketOf(hash, tableSize)
  }
  return [...sets].sort((left, right) => bucket(left) - bucket(right))
}

interface TreeNode<T> {
  readonly item: T
  red: boolean
  parent: TreeNode<T> | undefined
  left: TreeNode<T> | undefined
  right: TreeNode<T> | undefined
}

/**
 * A red-black tree that inserts as java.util.TreeSet does. Needed because Java's description
 * compares nodes by sizes that still change while the sets are filled: where an element ends up
 * depends on the shape of the tree at that moment, not only on the final sizes.
 */
export class JavaTreeSet<T> {
  readonly #compare: (left: T, right: T) => number
  #root: TreeNode<T> | undefined

  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare
  }

  /** Inserts unless an element on the way down compares as equal. */
  add(item: T): void {
    let parent: TreeNode<T> | undefined
    let current = this.#root
    let order = 0
    while (current !== undefined) {
      parent = current
      order = this.#compare(item, current.item)
      if (order === 0) return
      current = order < 0 ? current.left : current.right
    }
    const node: TreeNode<T> = { item, red: true, parent, left: undefined, right: undefined }
    if (parent === undefined) this.#root = node
    else if (order < 0) parent.left = node
    else parent.right = node
    this.#balance(node)
  }

  /** The elements from left to right. */
  items(): T[] {
    const items: T[] = []
    const path: TreeNode<T>[] = []
    let current = this.#root
    while (current !== undefined || path.length > 0) {
      while (current !== undefined) {
        path.push(current)
        current = current.left
      }
      const node = path.pop()
      if (node === undefined) break
      items.push(node.item)
      current = node.right
    }
    return items
  }

  #balance(inserted: TreeNode<T>): void {
    let node = inserted
    let parent = node.parent
    while (parent?.red === true && parent.parent !== undefined) {
      const grandparent: TreeNode<T> = parent.parent
      const parentIsLeft = parent === grandparent.left
      const uncle = parentIsLeft ? grandparent.right : grandparent.left
      if (uncle?.red === true) {
        parent.red = false
        uncle.red = false
        grandparent.red = true
        node = grandparent
      } else {
        if (node === (parentIsLeft ? parent.right : parent.left)) {
          this.#rotate(parent, parentIsLeft ? 'left' : 'right')
          // The two have changed places: the former parent is the lower one.
          const lower: TreeNode<T> = parent
          parent = node
          node = lower
        }
        parent.red = false
        grandparent.red = true
        this.#rotate(grandparent, parentIsLeft ? 'right' : 'left')
      }
      parent = node.parent
    }
    if (this.#root !== undefined) this.#root.red = false
  }

  /** Lets the child on the other side rise into the place of `node`. */
  #rotate(node: TreeNode<T>, direction: 'left' | 'right'): void {
    const opposite = direction === 'left' ? 'right' : 'left'
    const risen = node[opposite]
    if (risen === undefined) return
    const inner = risen[direction]
    node[opposite] = inner
    if (inner !== undefined) inner.parent = node
    risen.parent = node.parent
    if (node.parent === undefined) this.#root = risen
    else if (node.parent.left === node) node.parent.left = risen
    else node.parent.right = risen
    risen[direction] = node
    node.parent = risen
  }
}
