import { shownValue } from '../base/shown-value.ts'
import type { StreamsConfig } from '../config.ts'
import { StreamsError, messageOf } from '../errors.ts'
import { assertTopology } from '../topology/assert-topology.ts'
import type { Topology } from '../topology/topology.ts'

/** Options that may have functions, and are for those who process: each thread has its own. */
const workerOptions = [
  'engine',
  'tls',
  'sasl',
  'offsetReset',
  'onDeserializationError',
  'onProcessingError',
  'onProductionError',
] as const

/**
 * Options that the module of a topology states itself, because functions cannot go to another thread. What
 * it states comes before what `KafkaStreams` is given.
 *
 * @example
 * const config: WorkerConfig = { onProcessingError: 'continue' } // which the module exports
 */
export type WorkerConfig = Pick<StreamsConfig, (typeof workerOptions)[number]>

/** What the module of a topology exports. */
export interface TopologyModule {
  readonly topology: Topology
  readonly config: WorkerConfig
}

/**
 * Imports the module in this thread. Throws `TOPOLOGY_INVALID` when it cannot be imported or has no
 * topology that can be run, and `CONFIG_INVALID` for an option that is none of a worker.
 */
export async function loadTopologyModule(href: string): Promise<TopologyModule> {
  const found = await importModule(href)
  const { topology, config = {} } = found
  if (topology === undefined) {
    const detail = `${href} exports no topology; it must have: export const topology = builder.build()`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  assertTopology(topology)
  assertWorkerConfig(config, href)
  return { topology, config: config as WorkerConfig }
}

async function importModule(href: string): Promise<{ topology?: unknown; config?: unknown }> {
  try {
    return (await import(/* @vite-ignore */ href)) as { topology?: unknown; config?: unknown }
  } catch (error) {
    const isUnread = (error as { code?: unknown }).code === 'ERR_UNKNOWN_FILE_EXTENSION'
    const hint = isUnread ? '; give what it was compiled to, which a thread can read' : ''
    const detail = `${href} could not be imported, ${messageOf(error)}${hint}`
    throw new StreamsError('TOPOLOGY_INVALID', { detail }, { cause: error })
  }
}

function assertWorkerConfig(config: unknown, href: string): void {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    const detail = `what ${href} exports under that name must be an object of options, not ${shownValue(config)}`
    throw new StreamsError('CONFIG_INVALID', { option: 'config', detail })
  }
  const names: readonly string[] = workerOptions
  const other = Object.keys(config).find((name) => !names.includes(name))
  if (other === undefined) return
  const detail = `${href} exports it in its config, where only ${names.join(', ')} can be; give it to KafkaStreams`
  throw new StreamsError('CONFIG_INVALID', { option: other, detail })
}

/**
 * Refuses options that cannot go to the threads of workers, but for those that stay in the main thread.
 * Throws `CONFIG_INVALID`, which says where such an option belongs.
 */
export function assertPortable(config: StreamsConfig): void {
  const { logger: _logger, onUncaughtError: _onUncaughtError, ...others } = config
  for (const [option, value] of Object.entries(others)) {
    try {
      structuredClone(value)
    } catch (error) {
      const detail = `what has a function cannot go to the threads of the workers; state it in the module of the topology instead: export const config = { ${option}: … }`
      throw new StreamsError('CONFIG_INVALID', { option, detail }, { cause: error })
    }
  }
}
