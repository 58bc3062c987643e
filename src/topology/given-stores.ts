import { assertOptions } from '../base/assert-options.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import { descriptorOf, type StoreAccess, type Stores } from '../processor/local-store.ts'
import type { InternalTopologyBuilder } from './internal-topology-builder.ts'

/** Adds the stores that a program states for its processors, and connects them. */
export function addStores(
  topology: InternalTopologyBuilder,
  stores: Stores,
  processors: readonly string[],
): void {
  for (const access of Object.values(stores)) {
    const timestamped = access.kind === 'timestamped'
    topology.addGivenStore(descriptorOf(access), { timestamped, processors })
  }
}

/** Refuses what a program without types gave in place of stores. `of` is for the message. */
export function assertStores(stores: unknown, of: string): asserts stores is Stores {
  assertOptions(stores, `the stores of ${of}`)
  for (const [name, access] of Object.entries(stores ?? {}))
    assertStoreAccess(access, `${of} (${name})`)
}

/** Refuses anything but a descriptor, or one that is timestamped. `of` is for the message. */
export function assertStoreAccess(given: unknown, of: string): asserts given is StoreAccess {
  const isDescriptor = (one: unknown): boolean =>
    typeof one === 'object' && one !== null && 'kind' in one && 'name' in one && 'value' in one
  if (isDescriptor(given)) return
  if (typeof given === 'object' && given !== null && 'store' in given && isDescriptor(given.store))
    return
  const detail = `the store of ${of} must be a descriptor, as keyValueStore(name, { key, value }) makes one, not ${shownValue(given)}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
