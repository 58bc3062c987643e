/** Stores of steps in a random program. */
import type { StoreSpec } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'

/** With that probability a store; `stated`: it must name the serdes. */
export function randomStepStore(
  chance: Chance,
  serdes: { key: string; value: string },
  probability: number,
  stated = false,
): { store?: string | StoreSpec } {
  if (!chance.is(probability)) return {}
  const name = chance.name(1).name ?? 'store'
  if (!stated && chance.is(0.4)) return { store: name }
  if (chance.is(0.1)) {
    const historyRetention = chance.pick([0, 5, 100, 100_000])
    // Kafka Streams does not look at names of such stores; Millpond refuses what is no name.
    const legal = `versions-${chance.number()}`
    return { store: { name: legal, ...serdes, kind: 'versioned', historyRetention } }
  }
  return {
    store: {
      name,
      ...serdes,
      ...(chance.is(0.4) && { caching: false }),
      // In memory most of the time: opening files is what takes long.
      ...(chance.is(0.75) && { persistent: false }),
      ...(chance.is(0.1) && { changelog: false }),
      ...(chance.is(0.05) && { changelog: { 'retention.ms': '86400000' } }),
    },
  }
}
