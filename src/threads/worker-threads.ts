import type { Clock, Timer } from '../base/clock.ts'
import type { Log, LogLevel } from '../base/log.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig, StreamsConfig } from '../config.ts'
import { messageOf } from '../errors.ts'
import { PortQueries } from '../query/port-queries.ts'
import type { QueryTarget, ThreadPartition } from '../query/query-target.ts'
import { findInWorkers, type WorkerQueries } from '../query/worker-queries.ts'
import { DirectoryState } from '../runtime/instance-state.ts'
import type { InstanceView } from '../runtime/instance-view.ts'
import type { WorkerListener } from '../runtime/stream-worker.ts'
import { stopApplication } from '../runtime/worker-membership.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { StateDirectory } from '../store/state-directory.ts'
import { topologyFingerprint } from '../topology/topology-fingerprint.ts'
import type { StreamsProgram } from './streams-program.ts'
import { ThreadWorker } from './thread-worker.ts'
import type { WorkerStart } from './worker-messages.ts'

/** Directories that are released together are looked at together. */
const storedDelayMs = 10

export interface WorkerThreadsOptions {
  /** What a thread begins with, but for what is its own. */
  readonly start: Pick<WorkerStart, 'module' | 'fingerprint' | 'workers' | 'config' | 'logLevel'>
  readonly directory: StateDirectory
  readonly clock: Clock
  readonly log: Log
  readonly descriptor: (store: string) => AnyStore | undefined
  readonly stopApplication: (reason: string) => Promise<void>
  /** There is news of what a worker has and has counted. */
  readonly onReport: () => void
}

/** What the threads of a program are made of. */
export interface ProgramThreads {
  /** With the log of the instance. */
  readonly config: ResolvedConfig
  readonly ports: Ports
  readonly client: KafkaClient
  readonly directory: StateDirectory
  readonly descriptor: (store: string) => AnyStore | undefined
  readonly onReport: () => void
}

/**
 * The threads of the workers of an instance, and what they share: the state directory, of which each may
 * open the tasks that it is granted, and the way to their stores.
 */
export class WorkerThreads {
  readonly #options: WorkerThreadsOptions
  /** Global stores are in the threads; those of this state are not opened. */
  readonly state: DirectoryState
  readonly #workers = new Set<ThreadWorker>()
  readonly #queries = new Set<WorkerQueries>()
  #telling: Timer | undefined

  constructor(options: WorkerThreadsOptions) {
    this.#options = options
    const { directory } = options
    this.state = new DirectoryState(directory, {
      onClaim: (id) => {
        directory.hold(id)
        this.#tellStored()
      },
      onRelease: (id) => {
        directory.release(id)
        this.#tellStored()
      },
    })
  }

  /** Undefined: the program is a topology, which runs in this thread. The module of one was loaded. */
  static of(program: StreamsProgram, parts: ProgramThreads): WorkerThreads | undefined {
    const { module, topology, given } = program
    if (module === undefined || topology === undefined) return undefined
    const { config, ports, client, directory } = parts
    const { logger, onUncaughtError: _onUncaughtError, ...others } = given
    const { processId } = directory
    return new WorkerThreads({
      ...parts,
      start: {
        module,
        fingerprint: topologyFingerprint(topology),
        workers: config.workers,
        config: others,
        logLevel: levelOf(logger),
      },
      clock: ports.clock,
      log: config.log,
      stopApplication: (reason) =>
        stopApplication({ config, ports, client, topology, processId }, reason),
    })
  }

  /** A worker that has not begun. */
  make(number: number, listener: WorkerListener): ThreadWorker {
    const { start, clock, log, directory, onReport, stopApplication: stopAll } = this.#options
    const { processId, root } = directory
    const worker = new ThreadWorker({
      start: { ...start, number, processId, root },
      states: this.state.of(number),
      clock,
      log,
      listener,
      onReport,
      stopApplication: stopAll,
      connect: (port) => {
        const { descriptor } = this.#options
        const queries = new PortQueries(port, { descriptor, clock })
        this.#queries.add(queries)
        return {
          close: () => {
            this.#queries.delete(queries)
            this.#workers.delete(worker)
            queries.close()
          },
        }
      },
    })
    this.#workers.add(worker)
    return worker
  }

  /** Which of the threads holds a partition of a store. */
  inThread(store: string, partition: number): ThreadPartition | undefined {
    return findInWorkers(this.#queries, store, partition)
  }

  /** What can be taken over without a restore is told to the group by whichever worker joins. */
  #tellStored(): void {
    const { clock, directory, log } = this.#options
    this.#telling ??= clock.setTimer(storedDelayMs, () => {
      this.#telling = undefined
      try {
        const stored = directory.storedOffsets()
        for (const worker of this.#workers) worker.setStored(stored)
      } catch (error) {
        // They know what was told before, and whoever opens a task hears what is wrong.
        log.warn('how far the state on disk is could not be read', { error: messageOf(error) })
      }
    })
  }

  /** After all threads have ended. */
  close(): void {
    this.#telling?.cancel()
  }
}

/** A logger decides by itself how loud it is. */
function levelOf(logger: StreamsConfig['logger']): LogLevel | 'silent' {
  if (logger === undefined) return 'warn'
  return typeof logger === 'string' ? logger : 'debug'
}

/** The stores of an instance whose workers are in threads, as queries see them. */
export function threadedTarget(
  view: InstanceView,
  threads: () => WorkerThreads | undefined,
): QueryTarget {
  return {
    get availability() {
      return view.availability
    },
    get failure() {
      return view.failure
    },
    get hostsKnown() {
      return view.hostsKnown
    },
    get storeNames() {
      return view.storeNames
    },
    descriptor: (store) => view.descriptor(store),
    isGlobal: (store) => view.isGlobal(store),
    partitionCount: (store) => view.partitionCount(store),
    local: () => undefined,
    inThread: (store, partition) => threads()?.inThread(store, partition),
    hosts: (store, partition) => view.hosts(store, partition),
  }
}
