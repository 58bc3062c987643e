import { StreamsError } from '../errors.ts'
import type { Topology } from '../topology/topology.ts'
import type { NameProvider } from './naming.ts'

/**
 * Refuses a topology with stores, changelogs or repartition topics whose names were made up: they hold
 * a number that changes when a step is added above. Java's `ensure.explicit.internal.resource.naming`.
 */
export function assertExplicitNames(topology: Topology, names: NameProvider): void {
  const global = new Set(topology.globalStores.map(({ store }) => store))
  const ofTasks = topology.subtopologies.flatMap(({ stores }) => stores)
  const stores = [...ofTasks, ...global].filter(({ descriptor }) =>
    names.isGenerated(descriptor.name),
  )
  const changelogs = stores.filter(
    (store) =>
      !global.has(store) && store.sourceTopic === undefined && store.descriptor.changelog !== false,
  )
  const repartitions = topology.subtopologies
    .flatMap(({ repartitionSources }) => repartitionSources)
    .filter(({ name }) => names.isGenerated(name))
  const unnamed = [
    listed(
      'changelog topics',
      changelogs.map(({ descriptor }) => `${descriptor.name}-changelog`),
    ),
    listed(
      'state stores',
      stores.map(({ descriptor }) => descriptor.name),
    ),
    listed(
      'repartition topics',
      repartitions.map(({ name }) => name),
    ),
  ].filter((kind) => kind !== undefined)
  if (unnamed.length === 0) return
  const detail = `names must be explicit, but these have none of their own: ${unnamed.join('; ')}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

function listed(kind: string, names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : `the ${kind} ${names.join(', ')}`
}
