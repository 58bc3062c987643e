import { StreamsError } from '../errors.ts'

/** What may be asked of a store: `get` one value, or `range`: pages of rows and their number. */
export type StoreOperation = 'get' | 'range'

/** All of them. */
export const storeOperations: readonly StoreOperation[] = ['get', 'range']

/** Which stores can be reached over HTTP, and what may be asked of them. */
export type Expose = Readonly<Record<string, { readonly operations: readonly StoreOperation[] }>>

/** The stores that can be reached. What is not named cannot be told from what does not exist. */
export class Exposure {
  readonly #operations: ReadonlyMap<string, ReadonlySet<StoreOperation>>

  constructor(expose: Expose) {
    this.#operations = new Map(
      Object.entries(expose).map(([store, { operations }]) => [store, new Set(operations)]),
    )
  }

  get stores(): readonly string[] {
    return [...this.#operations.keys()]
  }

  /** In the order of {@link storeOperations}. */
  operationsOf(store: string): readonly StoreOperation[] {
    const operations = this.#operations.get(store)
    return storeOperations.filter((operation) => operations?.has(operation))
  }

  /** Throws `STORE_UNKNOWN`. */
  assertExposed(store: string): void {
    if (!this.#operations.has(store)) throw new StreamsError('STORE_UNKNOWN', { store })
  }

  /** Throws `STORE_UNKNOWN` or `OPERATION_NOT_ALLOWED`. */
  assertAllowed(store: string, operation: StoreOperation): void {
    this.assertExposed(store)
    this.assertGranted(store, operation)
  }

  /** Throws `OPERATION_NOT_ALLOWED`: to a caller in this process, who may know which stores there are. */
  assertGranted(store: string, operation: StoreOperation): void {
    if (this.#operations.get(store)?.has(operation) === true) return
    throw new StreamsError('OPERATION_NOT_ALLOWED', { store, operation })
  }
}
