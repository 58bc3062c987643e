import type { VirtualTime } from '../base/virtual-time.ts'
import { systemPorts, type Ports, type StreamsConfig } from '../config.ts'
import { StreamsError, messageOf } from '../errors.ts'
import { KafkaStreams } from '../kafka-streams.ts'
import type { StreamsState } from '../runtime/streams-state.ts'
import type { Topology } from '../topology/topology.ts'
import type { SimulatedMachine } from './simulated-machine.ts'

/** Where the state of an instance is on its machine. */
const stateDir = '/state'

/** What a {@link SimulatedInstance} is made of. */
export interface SimulatedInstanceOptions {
  readonly machine: SimulatedMachine
  readonly time: VirtualTime
  readonly topology: Topology
  readonly config: Omit<StreamsConfig, 'stateDir'>
  /** Lets time pass until the work has come to its end. */
  readonly run: <T>(work: Promise<T>) => Promise<T>
}

/**
 * An instance of an application on a machine of its own in a {@link SimulatedCluster}: a process that can
 * be stopped, killed, paused and started again. Each start is a new `KafkaStreams` on the same disk.
 *
 * @example
 * await using cluster = await simulatedCluster()
 * const a = cluster.instance('a', topology, { applicationId: 'word-count' })
 * a.start()
 * await cluster.until(() => a.state === 'running')
 * a.kill()
 */
export class SimulatedInstance {
  /** The machine on which it runs. */
  readonly name: string
  /**
   * For simulations that look inside.
   *
   * @internal
   */
  readonly machine: SimulatedMachine
  /**
   * Which release its next start is of, as far as others see it.
   *
   * @internal
   */
  release: 'this' | 'older' = 'this'
  readonly #options: SimulatedInstanceOptions
  #streams: KafkaStreams | undefined
  #failure: Error | undefined

  constructor(options: SimulatedInstanceOptions) {
    // Wrong topologies and options are told at once, not by a start that fails.
    const ports: Ports = { ...systemPorts, workersHere: true }
    void new KafkaStreams(options.topology, { ...options.config, stateDir }, ports)
    this.#options = options
    this.machine = options.machine
    this.name = options.machine.host
  }

  /** `gone` when there is no process: never started, stopped, killed. */
  get state(): StreamsState | 'gone' {
    return this.#running?.state ?? 'gone'
  }

  /** True between {@link pause} and {@link resume}. */
  get isPaused(): boolean {
    return this.machine.process?.state === 'paused'
  }

  /** What ended the instance that was started last; undefined when nothing did. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /**
   * The instance itself: for its stores, its metrics and its events.
   *
   * @throws StreamsError `STREAMS_NOT_STARTED` when there is no process.
   */
  get streams(): KafkaStreams {
    if (this.#running !== undefined) return this.#running
    throw new StreamsError('STREAMS_NOT_STARTED', { instance: this.name })
  }

  /** Begins a process that runs the topology. It joins as time passes; `state` tells how far it is. */
  start(): void {
    const { topology, config } = this.#options
    const world = this.machine.begin()
    const ports: Ports = this.release === 'this' ? world : { ...world, userDataVersions: [1] }
    const streams = new KafkaStreams(topology, { ...config, stateDir }, ports)
    const { process } = this.machine
    this.#streams = streams
    this.#failure = undefined
    streams.on('stateChange', (now) => this.#options.time.note(this.name, `is ${now}`))
    streams.on('error', (error) => {
      // What a dead process thinks that it fails with is no news.
      if (process?.isDead === false) this.#failure = error
    })
    streams.start().catch((error: unknown) => {
      this.#options.time.note(this.name, `did not start: ${messageOf(error)}`)
    })
  }

  /**
   * Closes it as `KafkaStreams.close` does, with time passing until it is done; then its process ends. One that
   * dies meanwhile has stopped.
   */
  async stop(options: { timeout?: number; leaveGroup?: boolean } = {}): Promise<void> {
    const streams = this.#running
    if (streams === undefined) return
    const { process } = this.machine
    const died = new Promise<void>((resolve) => process?.onDeath(resolve))
    try {
      await this.#options.run(Promise.race([streams.close(options), died]))
    } finally {
      if (this.machine.process === process) this.kill()
    }
  }

  /** The process dies at once, as by `kill -9`. Its disk stays. */
  kill(): void {
    this.machine.kill()
    this.#streams = undefined
  }

  /** The machine loses its power: nobody is told, and what was not synced is lost. */
  powerOff(): void {
    this.machine.powerOff()
    this.#streams = undefined
  }

  /** Kills it, and takes its disk away: the next start is on an empty one. */
  loseDisk(): void {
    this.kill()
    this.machine.disk.remove(stateDir)
  }

  /** The process stands still, as by `kill -STOP`, and does not know it. */
  pause(): void {
    this.machine.process?.pause()
  }

  /** It goes on, with all that has happened meanwhile. */
  resume(): void {
    this.machine.process?.resume()
  }

  get #running(): KafkaStreams | undefined {
    return this.machine.process === undefined ? undefined : this.#streams
  }
}
