import type { Clock, Timer } from '../base/clock.ts'
import { lockRefreshMs, type Disk, type DiskLock } from '../base/disk.ts'
import { silentLog, type Log } from '../base/log.ts'
import { randomUuid, type Random } from '../base/random.ts'
import { StreamsError, isStreamsError, messageOf } from '../errors.ts'
import type { StateEngine } from '../kv/state-engine.ts'
import type { MetricsRegistry } from '../metrics/registry.ts'
import {
  TaskDirectories,
  type DirectoryEngines,
  type TaskDirectoryName,
} from './task-directories.ts'

const lockName = '.lock'
/** Java's name for the same thing. */
const processFileName = 'kafka-streams-process-metadata'
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Java: state.cleanup.delay.ms. */
const idleMsMax = 600_000
/** Between two looks for state that nobody needs. */
const cleaningIntervalMs = 60_000

export interface StateDirectoryOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly random: Random
  readonly stateDir: string
  readonly applicationId: string
  /** Of persistent stores. Default: LMDB. */
  readonly engine?: StateEngine
  /** Shows what engines know of themselves. Default: nobody asks them. */
  readonly metrics?: MetricsRegistry
  /** Default: nothing is logged. */
  readonly log?: Log
  /** Told when another process has taken the directory: nothing may be written any more. */
  readonly onLost?: (error: StreamsError) => void
}

/**
 * Where an instance keeps its state (org.apache.kafka.streams.processor.internals.StateDirectory):
 *
 *     <stateDir>/<applicationId>/.lock                            held by one instance at a time
 *                                kafka-streams-process-metadata   {"processId": …}
 *                                <sub-topology>_<partition>/lmdb  the stores of a task
 *                                global/lmdb                      the global stores
 *
 * The folder in a task's directory has the name of the engine that wrote it: with another engine the
 * task is not opened, since its state, of stores without a changelog too, would seem to be gone.
 *
 * Nothing is made until it is opened, and task directories only for stores that are persistent. How
 * far a store has come is in its engine, with the rows and in one transaction: there is no checkpoint.
 *
 * The state of a task that has not been here for ten minutes is deleted. It would fill the disk, and it
 * must not grow old: changelogs forget after a day that a row was deleted, which would then be back.
 */
export class StateDirectory {
  /** Identity of the process for the group: lasts as long as the directory. */
  readonly processId: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #root: string
  readonly #lock: DiskLock
  readonly #directories: TaskDirectories
  /** Tasks whose engines are open. */
  readonly #held = new Set<string>()
  /** Since when the state of a task is not used, on the monotonic clock. */
  readonly #idleSince = new Map<string, number>()
  /** What was read of tasks whose engines are not open: it stays so until they are. */
  readonly #offsets = new Map<string, ReadonlyMap<string, number>>()
  readonly #onLost: (error: StreamsError) => void
  #cleaning: Timer
  #refresh: Timer
  #isKept = false

  private constructor(options: StateDirectoryOptions, root: string, lock: DiskLock) {
    const { disk, clock, random, log = silentLog } = options
    this.#clock = clock
    this.#log = log
    this.#root = root
    this.#lock = lock
    this.#directories = new TaskDirectories({ ...options, root })
    this.processId = readProcessId(disk, random, `${root}/${processFileName}`)
    this.#noteIdle()
    this.#onLost = options.onLost ?? (() => undefined)
    this.#cleaning = this.#cleanLater()
    this.#refresh = this.#refreshLater()
  }

  /**
   * Makes the directory if need be, and takes its lock. Throws `STATE_DIRECTORY_LOCKED` when another
   * instance has it, `STATE_DIRECTORY_FAILED` when it cannot be used.
   */
  static open(options: StateDirectoryOptions): StateDirectory {
    const { disk, stateDir, applicationId } = options
    const directory = `${stateDir}/${applicationId}`
    try {
      disk.makeDirectory(directory)
      const lock = disk.lock(`${directory}/${lockName}`)
      try {
        return new StateDirectory(options, directory, lock)
      } catch (error) {
        lock.release()
        throw error
      }
    } catch (error) {
      if (!isStreamsError(error, 'DISK_FAILED')) throw error
      const detail = messageOf(error)
      throw new StreamsError('STATE_DIRECTORY_FAILED', { directory, detail }, { cause: error })
    }
  }

  /** Where the directories of tasks are. */
  get root(): string {
    return this.#root
  }

  /** Opens nothing yet. The task closes them. */
  engines(task: TaskDirectoryName): DirectoryEngines {
    return this.#directories.engines(task, {
      onOpen: () => this.hold(task),
      onClose: () => this.release(task),
    })
  }

  /** Tasks of which there is something, in no order. Global stores are of no task. */
  tasks(): `${number}_${number}`[] {
    return this.#directories.tasks()
  }

  /**
   * How far the stores of tasks are that are only on disk, with no engine open: for each store the next
   * offset of its changelog. An engine that cannot be opened has nothing to tell.
   */
  storedOffsets(): Map<`${number}_${number}`, ReadonlyMap<string, number>> {
    const stored = new Map<`${number}_${number}`, ReadonlyMap<string, number>>()
    for (const task of this.tasks()) {
      if (this.#held.has(task)) continue
      let offsets = this.#offsets.get(task)
      if (offsets === undefined) {
        offsets = this.#directories.readOffsets(task)
        this.#offsets.set(task, offsets)
      }
      stored.set(task, offsets)
    }
    return stored
  }

  /** Deletes the state of a task, which must be closed. */
  removeTask(task: TaskDirectoryName): void {
    this.#offsets.delete(task)
    this.#directories.remove(task)
  }

  /** Deletes the state of all tasks and global stores. The process id stays. */
  removeAll(): void {
    for (const task of this.#directories.all()) this.removeTask(task)
  }

  /** Gives the lock back. Close the engines first. Idempotent. */
  close(): void {
    this.#cleaning.cancel()
    this.#refresh.cancel()
    this.#lock.release()
  }

  /** Keeps the lock for as long as the process lives: something is open that cannot be closed. */
  keep(): void {
    this.#cleaning.cancel()
    this.#isKept = true
    this.#refresh.unref?.()
  }

  /** The engines of the task are opened, here or in another thread. */
  hold(task: TaskDirectoryName): void {
    this.#held.add(task)
    this.#idleSince.delete(task)
    this.#offsets.delete(task)
  }

  /** They are closed. */
  release(task: TaskDirectoryName): void {
    if (this.#held.delete(task)) this.#idleSince.set(task, this.#clock.monotonic())
  }

  #refreshLater(): Timer {
    return this.#clock.setTimer(lockRefreshMs, () => {
      try {
        this.#lock.refresh()
      } catch (error) {
        if (isStreamsError(error, 'STATE_DIRECTORY_LOCKED')) {
          if (!this.#isKept) this.#onLost(error)
          return
        }
        this.#log.warn('the lock of the state could not be refreshed', { error: messageOf(error) })
      }
      this.#refresh = this.#refreshLater()
      if (this.#isKept) this.#refresh.unref?.()
    })
  }

  #cleanLater(): Timer {
    return this.#clock.setTimer(cleaningIntervalMs, () => {
      try {
        this.#clean()
      } catch (error) {
        this.#log.warn('state that is not used could not be deleted', { error: messageOf(error) })
      }
      this.#cleaning = this.#cleanLater()
    })
  }

  #clean(): void {
    this.#noteIdle()
    const now = this.#clock.monotonic()
    for (const task of this.tasks()) {
      const since = this.#idleSince.get(task)
      if (since === undefined || now - since < idleMsMax) continue
      this.removeTask(task)
      this.#idleSince.delete(task)
      this.#log.info('state that was not used any more was deleted', { task })
    }
  }

  /** What an earlier run left is idle from now on. */
  #noteIdle(): void {
    const now = this.#clock.monotonic()
    for (const task of this.tasks()) {
      if (!this.#held.has(task) && !this.#idleSince.has(task)) this.#idleSince.set(task, now)
    }
  }
}

/** What is in the file, or a new id that is put there. Unreadable content is replaced. */
function readProcessId(disk: Disk, random: Random, path: string): string {
  const text = disk.readFile(path)?.toString('utf8')
  const known = text === undefined ? undefined : parseProcessId(text)
  if (known !== undefined) return known
  const processId = randomUuid(random)
  disk.writeFileAtomic(path, Buffer.from(`${JSON.stringify({ processId })}\n`))
  return processId
}

function parseProcessId(text: string): string | undefined {
  try {
    const { processId } = JSON.parse(text) as { processId?: unknown }
    return typeof processId === 'string' && uuidPattern.test(processId) ? processId : undefined
  } catch {
    return undefined
  }
}
