import { assert } from '../base/assert.ts'
import { StreamsError } from '../errors.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { StoreNode } from './node.ts'

const invalid = (detail: string): StreamsError => new StreamsError('TOPOLOGY_INVALID', { detail })

/** How a store is kept that the program states itself. */
export interface GivenStoreOptions {
  /** It keeps a timestamp with each value. */
  readonly timestamped: boolean
  /** The topic that fills it, and is its changelog. */
  readonly sourceTopic?: string
}

/** The stores of a topology while it is built, and which processors use them. */
export class StoreRegistry {
  readonly #stores = new Map<string, StoreNode>()
  /** Those that the program has stated itself, as it did: they may turn out to be an operator's. */
  readonly #given = new Map<string, AnyStore>()
  /** Names of processors by the store that they use. */
  readonly #users = new Map<string, Set<string>>()
  readonly #storesOf = new Map<string, Set<string>>()

  has(name: string): boolean {
    return this.#stores.has(name)
  }

  /** Adds the store of an operator. */
  add(store: StoreNode): void {
    const { name } = store.descriptor
    const known = this.#stores.get(name)
    const given = this.#given.get(name)
    if (known !== undefined && known !== store && !(given && isAlike(given, store.descriptor))) {
      throw invalid(`there are two stores with the name ${name}`)
    }
    this.#given.delete(name)
    this.#stores.set(name, store)
  }

  /** Adds a store that the program states itself; by the same descriptor as often as it likes. */
  addGiven(given: AnyStore, options: GivenStoreOptions): void {
    const { timestamped, sourceTopic } = options
    const { name } = given
    const known = this.#stores.get(name)
    const knownGiven = this.#given.get(name)
    if (known !== undefined && knownGiven === undefined) {
      if (isAlike(given, known.descriptor)) return
      throw invalid(`the store ${name} is described in two ways; use one descriptor for all steps`)
    }
    if (knownGiven !== undefined && knownGiven !== given) {
      throw invalid(`there are two descriptors with the name ${name}; use one for all steps`)
    }
    if (sourceTopic !== undefined && known !== undefined) {
      throw invalid(`there are two stores with the name ${name}`)
    }
    if (known !== undefined && (known.timestamped || !timestamped)) return
    this.#given.set(name, given)
    // Java caches the stores of operators, and others only when they are told to.
    const descriptor = Object.freeze({ ...given, caching: given.caching ?? false }) as AnyStore
    const topic = sourceTopic ?? known?.sourceTopic
    const node = { descriptor, timestamped, ...(topic !== undefined && { sourceTopic: topic }) }
    this.#stores.set(name, Object.freeze(node))
  }

  /** Lets a processor use a store; another one that does so already, whose task it then shares. */
  connect(processor: string, store: string): string | undefined {
    const users = this.#users.get(store) ?? new Set<string>()
    const [user] = users
    this.#users.set(store, users.add(processor))
    const stores = this.#storesOf.get(processor) ?? new Set<string>()
    this.#storesOf.set(processor, stores.add(store))
    return user
  }

  /** Names of the stores that a processor uses. */
  storesOf(processor: string): string[] {
    return [...(this.#storesOf.get(processor) ?? [])]
  }

  /** A store that is used. Throws `TOPOLOGY_INVALID` when its descriptor lacks something. */
  node(name: string): StoreNode {
    const store = this.#stores.get(name)
    assert(store !== undefined, 'only stores that were added are connected')
    assertComplete(store.descriptor)
    return store
  }
}

/** Of one kind, with the same serdes: one may stand for the other. */
function isAlike(left: AnyStore, right: AnyStore): boolean {
  return left.kind === right.kind && left.key === right.key && left.value === right.value
}

function assertComplete(descriptor: AnyStore): void {
  const { kind, name } = descriptor
  const lacks = (option: string): StreamsError =>
    invalid(`the store ${name} of a processor must state its ${option}`)
  if (kind !== 'window' && kind !== 'session') return
  if (descriptor.retention === undefined) throw lacks('retention')
  if (kind === 'window' && descriptor.windowSize === undefined) throw lacks('windowSize')
}
