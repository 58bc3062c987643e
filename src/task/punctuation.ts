/**
 * What is to be called back at a time (org.apache.kafka.streams.processor.internals.PunctuationQueue
 * and PunctuationSchedule). One queue for stream time, one for wall-clock time.
 */
import { BinaryHeap } from '../base/heap.ts'
import { StreamsError } from '../errors.ts'

/** One callback; dispose to cancel, also from inside of it. */
export class Punctuation implements Disposable {
  /** The next time at which it is due. */
  time: number
  readonly intervalMs: number
  readonly node: string
  readonly call: (timestamp: number) => void
  isCancelled = false

  constructor(options: {
    time: number
    intervalMs: number
    node: string
    call: (timestamp: number) => void
  }) {
    this.time = options.time
    this.intervalMs = options.intervalMs
    this.node = options.node
    this.call = options.call
  }

  [Symbol.dispose](): void {
    this.isCancelled = true
  }
}

const intervalMsMin = 1

/** Callbacks by time. */
export class PunctuationQueue {
  readonly #heap = new BinaryHeap<Punctuation>((a, b) => a.time - b.time)
  /** When the first is due, Infinity when there is none. */
  nextTime = Infinity

  /**
   * Calls back from `startTime` on, every `intervalMs`.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for an interval below one millisecond.
   */
  schedule(options: {
    startTime: number
    intervalMs: number
    node: string
    call: (timestamp: number) => void
  }): Punctuation {
    const { startTime, intervalMs, node, call } = options
    if (!(intervalMs >= intervalMsMin)) {
      throw new StreamsError('TOPOLOGY_INVALID', {
        detail: `${node} schedules a punctuation every ${intervalMs} ms; the smallest interval is 1 ms`,
      })
    }
    const punctuation = new Punctuation({ time: startTime, intervalMs, node, call })
    this.#heap.push(punctuation)
    this.nextTime = (this.#heap.peek() as Punctuation).time
    return punctuation
  }

  /**
   * Calls back at `startTime` and whole intervals after it (KIP-1146); those times that are over are
   * passed over.
   *
   * @throws StreamsError as {@link schedule}, and for a start before the epoch.
   */
  scheduleFrom(
    startTime: number,
    options: {
      now: number
      intervalMs: number
      node: string
      call: (timestamp: number) => void
    },
  ): Punctuation {
    const { now, intervalMs, node, call } = options
    if (!Number.isSafeInteger(startTime) || startTime < 0) {
      throw new StreamsError('TOPOLOGY_INVALID', {
        detail: `${node} schedules punctuations from ${startTime} on, which is no time since 1970 in milliseconds`,
      })
    }
    const first = startTime < now ? nextTime(startTime, intervalMs, now) : startTime
    return this.schedule({ startTime: first, intervalMs, node, call })
  }

  /** Runs what is due; each callback once, however many intervals have passed. True: something ran. */
  punctuate(now: number, run: (punctuation: Punctuation, timestamp: number) => void): boolean {
    let ran = false
    let first = this.#heap.peek()
    while (first !== undefined && first.time <= now) {
      this.#heap.pop()
      if (!first.isCancelled) {
        run(first, now)
        ran = true
        this.#reschedule(first, now)
      }
      first = this.#heap.peek()
    }
    this.nextTime = first === undefined ? Infinity : first.time
    return ran
  }

  #reschedule(punctuation: Punctuation, now: number): void {
    if (punctuation.isCancelled) return
    punctuation.time = nextTime(punctuation.time, punctuation.intervalMs, now)
    this.#heap.push(punctuation)
  }

  clear(): void {
    this.#heap.clear()
    this.nextTime = Infinity
  }
}

/** Times stay multiples of the interval after the first; those that were missed are not made up for. */
function nextTime(time: number, intervalMs: number, now: number): number {
  const intervals = now >= time + intervalMs ? Math.floor((now - time) / intervalMs) + 1 : 1
  return time + intervals * intervalMs
}
