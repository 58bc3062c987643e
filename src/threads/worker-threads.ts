import type { Clock, Timer } from '../base/clock.ts'
import type { Log, LogLevel } from '../base/log.ts'
import type { StreamsConfig } from '../config.ts'
import { messageOf } from '../errors.ts'
import { PortQueries } from '../query/port-queries.ts'
import type { QueryTarget, ThreadPartition } from '../query/query-target.ts'
import { findInWorkers, type WorkerQueries } from '../query/worker-queries.ts'
import { DirectoryState } from '../runtime/instance-state.ts'
import type { InstanceView } from '../runtime/instance-view.ts'
import type { WorkerListener } from '../runtime/stream-worker.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { StateDirectory } from '../store/state-directory.ts'
import { ThreadWorker } from './thread-worker.ts'

/** Directories that are released together are looked at together. */
const storedDelayMs = 10

export interface WorkerThreadsOptions {
  /** URL of the module that exports the topology. */
  readonly module: string
  /** As the program gave it. */
  readonly config: StreamsConfig
  /** Of the first threads. */
  readonly workers: number
  readonly directory: StateDirectory
  readonly clock: Clock
  readonly log: Log
  readonly descriptor: (store: string) => AnyStore | undefined
  readonly stopApplication: (reason: string) => Promise<void>
  /** There is news of what a worker has and has counted. */
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

  /** A worker that has not begun. */
  make(number: number, listener: WorkerListener): ThreadWorker {
    const { module, config, workers, clock, log, directory, onReport, stopApplication } =
      this.#options
    const { logger, onUncaughtError: _onUncaughtError, ...others } = config
    const worker = new ThreadWorker({
      start: {
        number,
        module,
        workers,
        config: others,
        logLevel: levelOf(logger),
        processId: directory.processId,
        root: directory.root,
      },
      states: this.state.of(number),
      clock,
      log,
      listener,
      onReport,
      stopApplication,
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
