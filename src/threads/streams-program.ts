import { resolveConfig, type Ports, type ResolvedConfig, type StreamsConfig } from '../config.ts'
import { StreamsError } from '../errors.ts'
import { assertTopology } from '../topology/assert-topology.ts'
import { hasPatterns } from '../topology/matched-topics.ts'
import type { Topology } from '../topology/topology.ts'
import { assertPortable, loadTopologyModule } from './topology-module.ts'

/**
 * What an instance runs: a topology, in this thread; or the module of one, which each of its threads
 * imports, and this one too.
 */
export class StreamsProgram {
  /** URL of the module that exports the topology: workers run in threads then. */
  readonly module: string | undefined
  /** As the program gave it. */
  readonly given: StreamsConfig
  readonly #ports: Ports
  #topology: Topology | undefined
  #config: ResolvedConfig

  /** Throws `TOPOLOGY_INVALID` and `CONFIG_INVALID`. */
  constructor(topology: Topology | URL, config: StreamsConfig, ports: Ports) {
    this.given = config
    this.#ports = ports
    if (topology instanceof URL) {
      this.module = topology.href
      this.#config = resolveConfig(config, ports.clock)
      assertPortable(config)
      return
    }
    this.module = undefined
    assertRunnable(topology)
    this.#topology = topology
    this.#config = resolveConfig(config, ports.clock)
    assertGroupProtocol(topology, this.#config)
    assertWithoutThreads(this.#config, ports)
  }

  /** Undefined until the module is imported. */
  get topology(): Topology | undefined {
    return this.#topology
  }

  /** That of the module included, once it is imported. */
  get config(): ResolvedConfig {
    return this.#config
  }

  /** Imports the module, unless there is none to be imported. Throws as the constructor does. */
  async load(): Promise<void> {
    if (this.module === undefined || this.#topology !== undefined) return
    const { topology, config } = await loadTopologyModule(this.module)
    assertRunnable(topology)
    this.#config = resolveConfig({ ...this.given, ...config }, this.#ports.clock)
    assertGroupProtocol(topology, this.#config)
    this.#topology = topology
  }
}

function assertRunnable(topology: Topology): void {
  assertTopology(topology)
  if (topology.subtopologies.length === 0 && topology.globalStores.length === 0) {
    throw new StreamsError('TOPOLOGY_INVALID', { detail: 'it reads no topic' })
  }
}

function assertGroupProtocol(topology: Topology, { groupProtocol }: ResolvedConfig): void {
  if (groupProtocol !== 'streams' || !hasPatterns(topology)) return
  const detail = "brokers do not know patterns of topics yet; 'classic' does"
  throw new StreamsError('CONFIG_INVALID', { option: 'groupProtocol', detail })
}

function assertWithoutThreads({ workers }: ResolvedConfig, ports: Ports): void {
  if (workers === 1 || ports.workersHere === true) return
  const detail = `several workers run in threads, which need the topology as the URL of a module: new KafkaStreams(new URL('./topology.js', import.meta.url), …)`
  throw new StreamsError('CONFIG_INVALID', { option: 'workers', detail })
}
