import { MemoryDisk } from '../base/memory-disk.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import type { StreamsError } from '../errors.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { StateDirectory } from '../store/state-directory.ts'
import type { Topology } from '../topology/topology.ts'

export interface InstanceDirectoryOptions {
  /** Undefined: its module is not imported, so that nobody knows whether there are files. */
  readonly topology: Topology | undefined
  readonly config: ResolvedConfig
  readonly ports: Ports
  readonly metrics: StreamsMetrics
  /** Told when another process has taken the directory. */
  readonly onLost: (error: StreamsError) => void
}

/**
 * Opens the state directory of an instance. Without files there is nothing to lock, and no place in which
 * the process id could be kept: then it is in memory. Throws as `StateDirectory.open`.
 */
export function openInstanceDirectory(options: InstanceDirectoryOptions): StateDirectory {
  const { topology, config, ports, metrics, onLost } = options
  const stores = [
    ...(topology?.subtopologies ?? []).flatMap((subtopology) => subtopology.stores),
    ...(topology?.globalStores ?? []).map(({ store }) => store),
  ]
  const hasFiles =
    topology === undefined || stores.some(({ descriptor }) => descriptor.persistent ?? true)
  const { stateDir, applicationId, engine, log } = config
  return StateDirectory.open({
    ...ports,
    disk: hasFiles ? ports.disk : new MemoryDisk(),
    stateDir,
    applicationId,
    engine,
    metrics: metrics.registry,
    log,
    onLost,
  })
}
