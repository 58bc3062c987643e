/**
 * Disjoint sets of names, by which nodes are gathered into sub-topologies. Java's QuickUnion.
 */
export class QuickUnion {
  readonly #parents = new Map<string, string>()

  /** Adds a name as a set of its own. */
  add(name: string): void {
    this.#parents.set(name, name)
  }

  /** The name that stands for the whole set; the name itself when it was never added. */
  root(name: string): string {
    let current = name
    let parent = this.#parents.get(current) ?? current
    while (parent !== current) {
      // Path halving: keeps the next search short.
      const grandparent = this.#parents.get(parent) ?? parent
      this.#parents.set(current, grandparent)
      current = parent
      parent = grandparent
    }
    return current
  }

  /** Makes one set of the sets of two names. */
  unite(left: string, right: string): void {
    const leftRoot = this.root(left)
    const rightRoot = this.root(right)
    if (leftRoot !== rightRoot) this.#parents.set(leftRoot, rightRoot)
  }
}
