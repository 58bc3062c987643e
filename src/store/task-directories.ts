import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import { silentLog, type Log } from '../base/log.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { KvEngine, KvEngineFactory } from '../kv/kv.ts'
import { memoryEngine } from '../kv/memory-engine.ts'
import { lmdbStateEngine, type StateEngine } from '../kv/state-engine.ts'
import type { MetricsRegistry } from '../metrics/registry.ts'
import { EngineGauges } from './engine-gauges.ts'
import { OffsetTable, offsetTableName } from './offset-table.ts'

/**
 * Name of the directory of a task, `<sub-topology>_<partition>`, or that of all global stores, of which a
 * worker in a thread of its own has its own copy: `global-<number>`.
 */
export type TaskDirectoryName = `${number}_${number}` | 'global' | `global-${number}`

const taskPattern = /^\d+_\d+$/
const globalPattern = /^global(?:-\d+)?$/

const isTask = (name: string): name is `${number}_${number}` => taskPattern.test(name)
const isGlobal = (name: string): name is 'global' => globalPattern.test(name)

export interface TaskDirectoriesOptions {
  readonly disk: Disk
  readonly clock: Clock
  /** Where they are. */
  readonly root: string
  /** Of persistent stores. Default: LMDB. */
  readonly engine?: StateEngine
  /** Shows what engines know of themselves. Default: nobody asks them. */
  readonly metrics?: MetricsRegistry
  /** Default: nothing is logged. */
  readonly log?: Log
}

/** The engines of one task, each opened when a store asks for it. */
export interface DirectoryEngines {
  engine(persistent: boolean): KvEngine
  /** Closes what was opened. Idempotent. */
  close(): void
}

/** The directories of the tasks of an instance, and the engines in them. Who may open one, others decide. */
export class TaskDirectories {
  readonly #disk: Disk
  readonly #log: Log
  readonly #root: string
  readonly #engineName: string
  readonly #persistentEngine: KvEngineFactory
  readonly #gauges: EngineGauges

  constructor(options: TaskDirectoriesOptions) {
    const { disk, clock, log = silentLog, engine = lmdbStateEngine } = options
    this.#disk = disk
    this.#log = log
    this.#root = options.root
    this.#engineName = engine.name
    this.#persistentEngine = engine.factory({ disk, clock, log })
    this.#gauges = new EngineGauges(engine.name, options.metrics)
  }

  /** Opens nothing yet. The task closes them. The calls back are about files alone. */
  engines(
    task: TaskDirectoryName,
    { onOpen, onClose }: { onOpen?: () => void; onClose?: () => void } = {},
  ): DirectoryEngines {
    let memory: KvEngine | undefined
    let persistent: KvEngine | undefined
    let isHolding = false
    return {
      engine: (isPersistent) => {
        if (!isPersistent) return (memory ??= memoryEngine(''))
        isHolding = true
        onOpen?.()
        return (persistent ??= this.#openPersistent(task))
      },
      close: () => {
        try {
          memory?.close()
        } finally {
          // Another one may hold the task when this is called again.
          if (isHolding) onClose?.()
          isHolding = false
          this.#gauges.remove(task)
          persistent?.close()
        }
      },
    }
  }

  /** Tasks of which there is something, in no order. Global stores are of no task. */
  tasks(): `${number}_${number}`[] {
    return this.#disk.list(this.#root).filter(isTask)
  }

  /** The same with the global stores. */
  all(): TaskDirectoryName[] {
    const names = this.#disk.list(this.#root)
    return [...names.filter(isTask), ...names.filter(isGlobal)]
  }

  /**
   * How far the stores of a task are: for each the next offset of its changelog. An engine that cannot be
   * opened has nothing to tell.
   */
  readOffsets(task: TaskDirectoryName): ReadonlyMap<string, number> {
    const directory = `${this.#root}/${task}`
    if (!this.#disk.list(directory).includes(this.#engineName)) return new Map()
    try {
      using engine = this.#persistentEngine(directory)
      const isWritten = engine.tableNames().includes(offsetTableName)
      return isWritten ? new OffsetTable(engine).all() : new Map()
    } catch (error) {
      // Whoever is given the task opens it again, and fails with what is wrong.
      this.#log.warn('how far the state of a task is could not be read', {
        task,
        error: messageOf(error),
      })
      return new Map()
    }
  }

  /** Deletes what there is of a task. */
  remove(task: TaskDirectoryName): void {
    this.#disk.remove(`${this.#root}/${task}`)
  }

  #openPersistent(task: TaskDirectoryName): KvEngine {
    const directory = `${this.#root}/${task}`
    const found = this.#disk.list(directory).find((name) => name !== this.#engineName)
    if (found !== undefined) {
      throw new StreamsError('STATE_ENGINE_DIFFERS', { directory, found, engine: this.#engineName })
    }
    this.#disk.makeDirectory(directory)
    const engine = this.#persistentEngine(directory)
    this.#gauges.add(task, engine)
    return engine
  }
}
