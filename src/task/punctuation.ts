/**
 * What is to be called back at a time (org.apache.kafka.streams.processor.internals.PunctuationQueue
 * and PunctuationSchedule). One queue for stream time, one for wall-clock time.
 */
import { BinaryHeap } from '../base/heap.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'

/** One callback; dispose to cancel, also from inside of it. */
export class Punctuation implements Disposable {
  /** The next time at which it is due. */
  time: number
  readonly intervalMs: number
  readonly node: string
  readonly call: (timestamp: number) => void
  isCancelled = false
  /** How many were scheduled one by the other, in the same pass, until this one was. */
  depth: number

  constructor(options: {
    time: number
    intervalMs: number
    node: string
    call: (timestamp: number) => void
    depth: number
  }) {
    this.depth = options.depth
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
/** Calls that schedule one another, all due at once; Kafka Streams would go on for ever. */
const depthMax = 1000

/** Callbacks by time. */
export class PunctuationQueue {
  readonly #heap = new BinaryHeap<Punctuation>((a, b) => a.time - b.time)
  /** When the first is due, Infinity when there is none. */
  nextTime = Infinity
  /** That of the call that runs; -1: none does. */
  #depth = -1

  /**
   * Calls back from `startTime` on, every `intervalMs`.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for an interval that is no whole number of milliseconds from 1
   *   on, and when calls schedule calls that are due at once, without end.
   */
  schedule(options: {
    startTime: number
    intervalMs: number
    node: string
    call: (timestamp: number) => void
  }): Punctuation {
    const { startTime, intervalMs, node, call } = options
    if (!Number.isSafeInteger(intervalMs) || intervalMs < intervalMsMin) {
      const given = shownValue(intervalMs)
      const detail = `${node} schedules a punctuation every ${given} ms; the interval is a whole number of milliseconds from 1 on`
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    const depth = this.#depth + 1
    if (depth > depthMax) {
      const detail = `the punctuations of ${node} schedule others without end: by stream time, a new one is due at once`
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    const punctuation = new Punctuation({ time: startTime, intervalMs, node, call, depth })
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
        this.#run(first, now, run)
        ran = true
        this.#reschedule(first, now)
      }
      first = this.#heap.peek()
    }
    this.nextTime = first === undefined ? Infinity : first.time
    return ran
  }

  #run(
    punctuation: Punctuation,
    now: number,
    run: (punctuation: Punctuation, timestamp: number) => void,
  ): void {
    this.#depth = punctuation.depth
    try {
      run(punctuation, now)
    } finally {
      this.#depth = -1
      // What it schedules when it is due again begins a chain of its own.
      punctuation.depth = 0
    }
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
