/**
 * The thread of a worker, as Node starts it: what an instance with one worker has, its global stores
 * included, only that the main thread has the lock of the directory, hears what happens, and decides.
 */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { assert } from '../base/assert.ts'
import { sleep } from '../base/clock.ts'
import { createLog, type Log } from '../base/log.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { resolveConfig, systemPorts, type ResolvedConfig } from '../config.ts'
import { WriteGate, setOwnGate } from '../kv/write-gate.ts'
import { StreamsError } from '../errors.ts'
import { readMetrics } from '../metrics/merged-metrics.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { QueryResponder } from '../query/query-responder.ts'
import { openInstanceClient } from '../runtime/instance-client.ts'
import { InstanceView } from '../runtime/instance-view.ts'
import { InstanceWorkers, ofWorker } from '../runtime/instance-workers.ts'
import { TaskDirectories } from '../store/task-directories.ts'
import { fingerprintDifference, topologyFingerprint } from '../topology/topology-fingerprint.ts'
import type { Topology } from '../topology/topology.ts'
import { ThreadState } from './thread-state.ts'
import { loadTopologyModule } from './topology-module.ts'
import { crossable, writeError } from '../query/wire-values.ts'
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.ts'

/** Between two reports, when nothing else happens. */
const reportMs = 500

/** The parts that there are once the module is loaded. */
interface Parts {
  readonly client: KafkaClient
  readonly state: ThreadState
  readonly metrics: StreamsMetrics
  readonly workers: InstanceWorkers
  readonly view: InstanceView
  readonly responder: QueryResponder
}

class WorkerThread {
  readonly #port: MessagePort
  readonly #start: WorkerStart
  readonly #ended = new AbortController()
  /** What came before the parts were there. */
  readonly #early: ToWorker[] = []
  #parts: Parts | undefined

  constructor(port: MessagePort, start: WorkerStart) {
    this.#port = port
    this.#start = start
    setOwnGate(new WriteGate(start.gate))
    port.on('message', (message: ToWorker) => {
      if (this.#parts === undefined) this.#early.push(message)
      else this.#receive(this.#parts, message)
    })
  }

  /** Never rejects. The main thread ends the thread after that. */
  async run(): Promise<void> {
    try {
      const parts = await this.#open()
      this.#parts = parts
      // Nothing begins that is to stop already.
      const isStopped = this.#early.some(({ kind }) => kind === 'stop')
      if (!isStopped) parts.workers.start()
      for (const message of this.#early.splice(0)) this.#receive(parts, message)
      const reporting = this.#reportRegularly(parts)
      await parts.workers.done
      this.#ended.abort()
      await reporting
      parts.responder.close()
      await parts.client.close()
      this.#report(parts)
    } catch (error) {
      this.#post({ kind: 'failure', error: writeError(error) })
    }
    this.#post({ kind: 'ended' })
  }

  async #open(): Promise<Parts> {
    const { module, config: given, number, processId, root, queries } = this.#start
    const { topology, config: own } = await loadTopologyModule(module)
    this.#assertSame(topology)
    const log = this.#log()
    const resolved = resolveConfig({ ...given, ...own, workers: 1, logger: 'silent' })
    const config = ofWorker({ ...resolved, log }, processId, number)
    const ports = systemPorts
    const metrics = new StreamsMetrics()
    const directories = new TaskDirectories({
      ...ports,
      root,
      engine: config.engine,
      metrics: metrics.registry,
      log,
    })
    const state = new ThreadState({
      start: this.#start,
      directories,
      post: (message) => this.#post(message),
    })
    const client = openInstanceClient(config, ports, processId)
    const workers = this.#makeWorkers({ topology, config, client, state, metrics })
    const view = new InstanceView({
      topology: () => topology,
      // What it holds it may answer for; whether the instance may, the main thread knows.
      state: () => 'running',
      workers: () => workers.workers,
      global: () => workers.global,
      self: undefined,
    })
    const responder = new QueryResponder(queries, { target: view, clock: ports.clock })
    return { client, state, metrics, workers, view, responder }
  }

  /** Another topology would share groups, topics and state with that of the others, and not their meaning. */
  #assertSame(topology: Topology): void {
    const { module, number, fingerprint } = this.#start
    const difference = fingerprintDifference(fingerprint, topologyFingerprint(topology))
    if (difference === undefined) return
    const { one: main, other: thread } = difference
    throw new StreamsError('TOPOLOGY_DIFFERS', { module, worker: number, main, thread })
  }

  #makeWorkers(parts: {
    topology: Topology
    config: ResolvedConfig
    client: KafkaClient
    state: ThreadState
    metrics: StreamsMetrics
  }): InstanceWorkers {
    const { number, workers } = this.#start
    return new InstanceWorkers({
      ...parts,
      ports: systemPorts,
      crew: 'alone',
      numbers: [number],
      sharers: workers,
      listener: {
        onStatus: (status) => {
          this.#report()
          this.#post({ kind: 'status', status })
        },
        onHosts: (hosts) => {
          this.#parts?.view.setHosts(hosts)
          this.#post({ kind: 'hosts', hosts })
        },
        onTasks: () => this.#report(),
        onRestore: (progress) => this.#post({ kind: 'restore', progress }),
        onStandbyUpdate: (update) => this.#post({ kind: 'standbyUpdate', update }),
        onFailure: (error) => this.#post({ kind: 'failure', error: writeError(error) }),
      },
    })
  }

  #receive({ workers, state, client }: Parts, message: ToWorker): void {
    switch (message.kind) {
      case 'share':
        return workers.shareMemory(message.workers)
      case 'pause':
        return workers.pause()
      case 'resume':
        return workers.resume()
      case 'stop':
        void workers.stop(message.mode)
        return
      case 'cut':
        void client.close()
        return
      case 'claimed':
        return state.claimed(message.claim, message.ids)
      case 'free':
        return state.freed()
      case 'stored':
        return state.setStored(message.stored)
      default:
        message satisfies never
    }
  }

  async #reportRegularly(parts: Parts): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      this.#report(parts)
      await sleep(systemPorts.clock, reportMs, signal)
    }
  }

  #report(parts = this.#parts): void {
    if (parts === undefined) return
    const { workers, view, metrics, responder } = parts
    const partitionCounts = new Map<string, number>()
    for (const store of view.storeNames) {
      const count = view.partitionCount(store)
      if (count !== undefined) partitionCounts.set(store, count)
    }
    responder.tellHeld()
    this.#post({
      kind: 'report',
      report: {
        tasks: workers.localTasks(),
        lags: workers.workers.flatMap((worker) => worker.storeLags()),
        partitionCounts,
        metrics: readMetrics(metrics.registry),
      },
    })
  }

  #log(): Log {
    const { logLevel } = this.#start
    return createLog(
      (level, message, fields) =>
        this.#post({ kind: 'log', level, message, fields: crossable(fields) }),
      { level: logLevel },
    )
  }

  #post(message: FromWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
    this.#port.postMessage(message)
  }
}

assert(parentPort !== null, 'this runs as the thread of a worker')
await new WorkerThread(parentPort, workerData as WorkerStart).run()
