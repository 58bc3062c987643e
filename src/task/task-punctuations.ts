import type { PunctuationType } from '../processor/processor.ts'
import { PunctuationQueue, type Punctuation } from './punctuation.ts'

/** What {@link TaskPunctuations} needs of its task. */
export interface TaskPunctuationsOptions {
  readonly streamTime: () => number
  readonly wallClockTime: () => number
  /** Runs the user's code. */
  readonly run: (punctuation: Punctuation, timestamp: number) => void
}

/** The punctuations of a task, by both kinds of time. */
export class TaskPunctuations {
  readonly #options: TaskPunctuationsOptions
  readonly #streamTime = new PunctuationQueue()
  readonly #wallClock = new PunctuationQueue()

  constructor(options: TaskPunctuationsOptions) {
    this.#options = options
  }

  /** When stream time has come to this, {@link punctuate} has something to do. */
  get nextStreamTime(): number {
    return this.#streamTime.nextTime
  }

  /** The same of the wall clock. */
  get nextWallClockTime(): number {
    return this.#wallClock.nextTime
  }

  /** Runs what is due by then; true when something ran. */
  punctuate(type: PunctuationType, now: number): boolean {
    return this.#queue(type).punctuate(now, this.#options.run)
  }

  /** Has a step called back at intervals, from a start on if one is given. */
  schedule(
    type: PunctuationType,
    call: {
      readonly node: string
      readonly intervalMs: number
      readonly call: (timestamp: number) => void
    },
    start: number | undefined,
  ): Disposable {
    const isStreamTime = type === 'stream-time'
    const queue = this.#queue(type)
    const { streamTime, wallClockTime } = this.#options
    const now = isStreamTime ? streamTime() : wallClockTime()
    if (start !== undefined) return queue.scheduleFrom(start, { ...call, now })
    // Stream time begins with the first record, which is when the first call comes.
    return queue.schedule({ ...call, startTime: isStreamTime ? 0 : now + call.intervalMs })
  }

  clear(): void {
    this.#streamTime.clear()
    this.#wallClock.clear()
  }

  #queue(type: PunctuationType): PunctuationQueue {
    return type === 'stream-time' ? this.#streamTime : this.#wallClock
  }
}
