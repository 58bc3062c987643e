import type { Subtopology, Topology } from './topology.ts'

/**
 * Lines that two topologies have in common when they may run as one application: how nodes hang together,
 * what they read and write, and of what kind stores are. What their functions do is not seen.
 */
export function topologyFingerprint(topology: Topology): string {
  const { subtopologies, globalStores, copartitionGroups } = topology
  const stores = [
    ...subtopologies.flatMap((subtopology) => subtopology.stores),
    ...globalStores.map(({ store }) => store),
  ].map(({ descriptor, ...node }) => {
    const { key: _key, value: _value, ...kind } = descriptor
    return JSON.stringify({ ...kind, ...node })
  })
  return [
    topology.describe().trimEnd(),
    ...stores,
    ...subtopologies.flatMap(readsOf),
    ...globalStores.map(({ store, reprocessOnRestore }) =>
      JSON.stringify({ global: store.descriptor.name, reprocessOnRestore }),
    ),
    JSON.stringify({ copartitionGroups }),
  ].join('\n')
}

/** What a description of sources leaves out. */
function readsOf({ sources, repartitionSources }: Subtopology): string[] {
  return [
    ...sources.map(({ name, offsetReset }) => JSON.stringify({ source: name, offsetReset })),
    ...repartitionSources.map((repartition) => JSON.stringify({ repartition })),
  ]
}

/** The first line in which one differs from another; undefined: they are the same. */
export function fingerprintDifference(
  one: string,
  other: string,
): { readonly one: string; readonly other: string } | undefined {
  if (one === other) return undefined
  const ones = one.split('\n')
  const others = other.split('\n')
  let at = 0
  while (ones[at] === others[at]) at += 1
  const shown = (lines: readonly string[]): string => lines[at]?.trim() ?? 'nothing'
  return { one: shown(ones), other: shown(others) }
}
