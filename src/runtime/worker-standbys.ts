import { yieldTurn } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Isolation } from '../client/isolation.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass } from '../client/kafka-failure.ts'
import { fetchCommittedOffsets } from '../client/offsets.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import { isStreamsError, messageOf } from '../errors.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { TaskManager } from '../task/task-manager.ts'
import type { RestoreLag } from './changelog-reader.ts'
import { StandbyReader, type StandbyUpdate } from './standby-reader.ts'

/** At most so often, however short the interval of commits is. */
const upkeepMsMin = 1000
/** How long the loop writes behind before it breathes. */
const sliceMs = 4

export interface WorkerStandbysOptions {
  readonly client: KafkaClient
  readonly isolation: Isolation
  readonly config: ResolvedConfig
  readonly ports: Ports
  /** The tasks of the worker. */
  readonly tasks: TaskManager
  /** Deletes what there is of a task that is closed. */
  readonly wipe: (id: TaskId) => void
  readonly onUpdate: (update: StandbyUpdate) => void
}

/**
 * The standby tasks of a worker with what feeds them. Now and then their engines get what was read, and
 * the offsets of the group are read again, up to which input topics that serve as changelogs are
 * followed.
 */
export class WorkerStandbys {
  readonly #options: WorkerStandbysOptions
  readonly #log: Log
  readonly #reader: StandbyReader
  readonly #ended = new AbortController()
  readonly #upkeepMs: number
  #upkeptAt = -Infinity
  #refresh: Promise<void> | undefined
  #failure: unknown

  constructor(options: WorkerStandbysOptions) {
    const { client, isolation, config, ports, onUpdate } = options
    this.#options = options
    this.#log = config.log
    this.#upkeepMs = Math.max(config.commitInterval, upkeepMsMin)
    this.#reader = new StandbyReader({ client, isolation, clock: ports.clock, onUpdate })
  }

  /** Begins to follow these, or fewer when it is stopped; stores that are open already stay open. */
  async open(ids: readonly TaskId[], stop: AbortSignal): Promise<void> {
    const { tasks, ports } = this.#options
    for (const id of ids) {
      while (!stop.aborted && tasks.standbys.prepare(id)) await yieldTurn(ports.clock)
      if (stop.aborted) return
      this.#open(id)
      await yieldTurn(ports.clock)
    }
  }

  #open(id: TaskId): void {
    this.#reader.add(this.#options.tasks.standbys.create(id))
    // What was committed of its inputs is to be known soon.
    this.#upkeptAt = -Infinity
  }

  /** Follows a standby no longer, which goes over into the active task of that id. */
  promote(id: TaskId): void {
    this.#reader.remove(id, 'promoted')
  }

  /** Ends these: their engines get what was read. */
  async close(ids: readonly TaskId[]): Promise<void> {
    if (ids.length === 0) return
    const { tasks, ports } = this.#options
    const { clock } = ports
    for (const id of ids) this.#reader.remove(id, 'migrated')
    try {
      tasks.standbys.commit(ids)
      while (tasks.writeBehind(clock.monotonic() + sliceMs)) await yieldTurn(clock)
    } finally {
      // Also when a disk fails: whoever comes next is to open the engines.
      tasks.standbys.close(ids, { clean: true })
    }
  }

  /**
   * Reads until the deadline (of the monotonic clock), or rests: then it only hears how far behind it
   * falls. True: there is more at once. Throws what the cluster refuses for good.
   */
  work(deadline: number, { isResting }: { isResting: boolean }): boolean {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#reader.isIdle) return false
    this.#keepUp()
    this.#reader.pause(isResting)
    try {
      return this.#reader.step(deadline)
    } catch (error) {
      if (!isStreamsError(error, 'TASK_CORRUPTED')) throw error
      this.#revive(error.context['task'] as TaskId, error)
      return true
    }
  }

  #keepUp(): void {
    const { tasks, ports } = this.#options
    const now = ports.clock.monotonic()
    if (now - this.#upkeptAt < this.#upkeepMs || this.#refresh !== undefined) return
    this.#upkeptAt = now
    tasks.standbys.commit()
    this.#refresh = this.#refreshLimits().finally(() => {
      this.#refresh = undefined
    })
  }

  async #refreshLimits(): Promise<void> {
    const { client, config, tasks } = this.#options
    const inputs = [...tasks.standbys.all.values()].flatMap(({ changelogs }) =>
      changelogs.filter(({ limit }) => limit !== undefined),
    )
    if (inputs.length === 0) return
    const { signal } = this.#ended
    try {
      const offsets = await fetchCommittedOffsets(client, config.applicationId, inputs, { signal })
      // Standbys may have come and gone meanwhile: others than those that were asked for.
      for (const standby of tasks.standbys.all.values()) {
        for (const { topic, partition } of standby.changelogs) {
          const committed = offsets.get(`${topic}-${partition}`)
          if (committed !== undefined) standby.limit(topic, committed.offset)
        }
      }
    } catch (error) {
      if (signal.aborted) return
      // With the next upkeep it is tried again.
      if (canPass(error)) this.#log.debug('no committed offsets', { error: messageOf(error) })
      else this.#failure = error
    }
  }

  /** Its state does not fit the changelog: follows it from the beginning. */
  #revive(id: TaskId, error: Error): void {
    const { tasks, wipe } = this.#options
    this.#log.warn('the state of a standby is wiped and read anew', {
      task: id,
      error: error.message,
    })
    this.#reader.remove(id, 'migrated')
    tasks.standbys.close([id], { clean: false })
    wipe(id)
    this.#open(id)
  }

  /** How far the stores of a standby are; empty when it is not followed. */
  lags(id: TaskId): RestoreLag[] {
    return this.#reader.lags(id)
  }

  /** Records that all are behind. */
  lag(): number {
    return this.#reader.lag()
  }

  /** Waits for records; undefined: none are expected. */
  wait(maxMs: number, signal: AbortSignal): Promise<void> | undefined {
    return this.#reader.isIdle ? undefined : this.#reader.wait(maxMs, signal)
  }

  /** Ends all of them, and what runs in the background. */
  async end(): Promise<void> {
    this.#ended.abort()
    const { standbys } = this.#options.tasks
    try {
      await this.close([...standbys.all.keys()])
    } finally {
      await Promise.all([this.#reader.close(), this.#refresh])
      standbys.closeParked()
    }
  }
}
