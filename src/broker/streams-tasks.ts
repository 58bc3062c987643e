/** A task of a streams group: `<sub-topology>_<partition>`. */
export type StreamsTaskId = string

/** Tasks of one sub-topology, as KIP-1071 writes them. */
export interface WireTasks {
  readonly subtopologyId: string
  readonly partitions: readonly number[]
}

/** Tasks by role. This broker gives out no warm-ups, as Kafka 4.4. */
export interface RoleTasks {
  readonly active: ReadonlySet<StreamsTaskId>
  readonly standby: ReadonlySet<StreamsTaskId>
}

export const noRoleTasks: RoleTasks = { active: new Set(), standby: new Set() }

export function streamsTaskId(subtopologyId: string, partition: number): StreamsTaskId {
  return `${subtopologyId}_${partition}`
}

/** Sub-topologies have no underscore in their ids, but nothing says that they never will. */
export function parseStreamsTaskId(id: StreamsTaskId): {
  subtopologyId: string
  partition: number
} {
  const end = id.lastIndexOf('_')
  return { subtopologyId: id.slice(0, end), partition: Number(id.slice(end + 1)) }
}

export function readWireTasks(lists: readonly WireTasks[]): Set<StreamsTaskId> {
  return new Set(
    lists.flatMap(({ subtopologyId, partitions }) =>
      partitions.map((partition) => streamsTaskId(subtopologyId, partition)),
    ),
  )
}

/** In order of sub-topologies and partitions. */
export function wireTasks(ids: Iterable<StreamsTaskId>): WireTasks[] {
  const groups = new Map<string, number[]>()
  for (const id of ids) {
    const { subtopologyId, partition } = parseStreamsTaskId(id)
    const partitions = groups.get(subtopologyId)
    if (partitions === undefined) groups.set(subtopologyId, [partition])
    else partitions.push(partition)
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([subtopologyId, partitions]) => ({
      subtopologyId,
      partitions: partitions.sort((a, b) => a - b),
    }))
}
