import { yieldTurn, type Clock, type Timer } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { isStreamsError, messageOf } from '../errors.ts'
import { compact, type CompactionSettings } from './log-compaction.ts'
import type { PartitionLog } from './partition-log.ts'

/** A log with what its topic wants done to it. */
export interface CleanableLog {
  readonly log: PartitionLog
  /** Undefined: its records are not compacted. */
  readonly compaction: CompactionSettings | undefined
}

export interface LogCleanerOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Log
  readonly intervalMs: number
  /** Asked anew for each round. */
  readonly logs: () => CleanableLog[]
}

/** Deletes and compacts what the topics no longer keep, again and again, one log a turn. */
export class LogCleaner implements AsyncDisposable {
  readonly #options: LogCleanerOptions
  #timer: Timer | undefined
  #round: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: LogCleanerOptions) {
    this.#options = options
  }

  start(): void {
    const { clock, intervalMs } = this.#options
    this.#timer = clock.setTimer(intervalMs, () => {
      this.#round = this.run().finally(() => {
        if (!this.#isClosed) this.start()
      })
    })
  }

  /** One round over all logs. A disk that fails is reported and tried again in the next round. */
  async run(): Promise<void> {
    for (const one of this.#options.logs()) {
      if (this.#isClosed) return
      if (one.log.isOpen) this.#clean(one)
      await yieldTurn(this.#options.clock)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#round
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #clean({ log, compaction }: CleanableLog): void {
    const { disk, clock } = this.#options
    try {
      log.deleteExpired()
      if (compaction !== undefined) compact(log, compaction, { disk, nowMs: clock.now() })
    } catch (error) {
      if (!isStreamsError(error)) throw error
      const facts = { directory: log.directory, detail: messageOf(error) }
      this.#options.log.error('cleaning a log failed', facts)
    }
  }
}
