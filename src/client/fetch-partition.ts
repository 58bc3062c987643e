import type { StreamsError } from '../errors.ts'
import { Backoff } from './backoff.ts'
import { scanBatches } from './batch-scan.ts'
import { committedRuns, type AbortedTransaction } from './committed-runs.ts'
import type { FetchedRecords, FetchStart, OffsetReset } from './fetched-records.ts'
import type { Isolation } from './isolation.ts'

/** What a fetch response says about one partition that has no error. */
export interface FetchedPartition {
  readonly records: Buffer | null
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly logStartOffset: number
  /** Null: nothing is to be left out. */
  readonly abortedTransactions: readonly AbortedTransaction[] | null
}

const noBytes = Buffer.alloc(0)

/**
 * Where the reading of one partition stands.
 *
 *     seek ──▶ looking for a place in the log ──▶ fetching ──▶ stopped (by an error, until a seek)
 *     seek to an offset ────────────────────────────▲
 */
export class FetchPartition {
  readonly topic: string
  readonly partition: number
  readonly offsetReset: OffsetReset
  readonly #isolation: Isolation
  readonly #backoff: Backoff
  /** The next offset to ask for; meaningless while `wanted` is set. */
  fetchOffset = 0
  /** The place in the log that is looked for. */
  wanted: FetchStart | undefined
  /** Changes with each seek: answers to questions from before are dropped. */
  generation = 0
  /** True while a request that asks for this generation is under way. */
  isAsked = false
  isPaused = false
  /** True when no leader was known and the cluster was asked for one. */
  isLeaderless = false
  isStopped = false
  /** Nothing is asked before this time of the monotonic clock. */
  retryAt = 0
  /** Grows with each response that had records: who waited longest is asked for first. */
  turn = 0
  buffered: FetchedRecords[] = []
  /**
   * What the buffered parts keep in memory: of an answer of which something waits all of it, also aborted
   * transactions and the beginning of a batch at its end, for a part is a view into it.
   */
  bufferedBytes = 0
  /**
   * Of these, whole batches: how far it has been read ahead. Answers of brokers are as long as was allowed,
   * the last batch cut off: by all bytes, one answer would always be enough.
   */
  aheadBytes = 0
  highWatermark: number | undefined
  #lastStableOffset: number | undefined
  #offsetEpoch = -1
  #checkedEpoch = -1
  #position: number | undefined

  constructor(options: {
    topic: string
    partition: number
    offsetReset: OffsetReset
    isolation: Isolation
    backoff: Backoff
  }) {
    this.topic = options.topic
    this.partition = options.partition
    this.offsetReset = options.offsetReset
    this.#isolation = options.isolation
    this.#backoff = options.backoff
  }

  /** The offset after what was polled; undefined while a place in the log is looked for. */
  get position(): number | undefined {
    return this.#position
  }

  /** Where reading has to stop as of the last answer: an open transaction may keep it from the end of the log. */
  get readableEnd(): number | undefined {
    return this.#isolation === 'read_committed' ? this.#lastStableOffset : this.highWatermark
  }

  /** Leader epoch of the record before `fetchOffset`; -1: not known. */
  get offsetEpoch(): number {
    return this.#offsetEpoch
  }

  /** A leader of this epoch is not known to have the records before `fetchOffset`. */
  mustCheck(leaderEpoch: number): boolean {
    return this.wanted === undefined && this.#offsetEpoch >= 0 && leaderEpoch > this.#checkedEpoch
  }

  /** Whether the records before `fetchOffset` are there, when those of their epoch end like this. */
  isInLog(epochEndOffset: number): boolean {
    return epochEndOffset >= this.fetchOffset
  }

  /** A leader of this epoch has the records before `fetchOffset`. */
  checkedBy(leaderEpoch: number): void {
    this.#checkedEpoch = leaderEpoch
  }

  /** Nothing new is known to be there: a request for it alone may be held by the broker. */
  get isCaughtUp(): boolean {
    const end = this.readableEnd
    return end !== undefined && this.fetchOffset >= end
  }

  /** Starts anew from there, behind a record of that leader epoch; what is buffered is dropped. */
  seek(offset: number | FetchStart, leaderEpoch = -1): void {
    this.generation += 1
    this.isAsked = false
    this.isStopped = false
    this.retryAt = 0
    this.buffered = []
    this.bufferedBytes = 0
    this.aheadBytes = 0
    // What was known may be from before; unknown means that the broker must not hold the request.
    this.highWatermark = undefined
    this.#lastStableOffset = undefined
    if (typeof offset === 'number') {
      this.found(offset)
      this.#offsetEpoch = leaderEpoch
    } else {
      this.wanted = offset
      this.#position = undefined
    }
  }

  /** The offset to go on from was found. */
  found(offset: number): void {
    this.#backoff.reset()
    this.wanted = undefined
    this.fetchOffset = offset
    this.#offsetEpoch = -1
    this.#checkedEpoch = -1
    // What is buffered comes from before a gap in the log and is still to be polled.
    if (this.buffered.length === 0) this.#position = offset
  }

  /** No record is as young as the time that was looked for: goes to the end. False: none was. */
  foundNone(): boolean {
    if (typeof this.wanted !== 'object') return false
    this.wanted = 'latest'
    return true
  }

  /**
   * The offset is not in the log: goes to where the policy says. False: it says nothing. `now` is
   * milliseconds since the epoch.
   */
  resetByPolicy(now: number): boolean {
    const policy = this.offsetReset
    if (policy === 'none') return false
    this.wanted = typeof policy === 'object' ? { time: now - policy.byDuration } : policy
    return true
  }

  /**
   * Takes over an answer of the leader of this epoch; true when it brought batches, aborted ones
   * included. Throws `RECORD_BATCH_CORRUPT`, `RECORD_BATCH_UNSUPPORTED`.
   */
  add(fetched: FetchedPartition, leaderEpoch: number): boolean {
    const { highWatermark, lastStableOffset, abortedTransactions } = fetched
    this.highWatermark = highWatermark
    // A broker that does not tell has no open transaction.
    this.#lastStableOffset = lastStableOffset < 0 ? highWatermark : lastStableOffset
    const startOffset = this.fetchOffset
    const {
      bytes,
      nextOffset,
      leaderEpoch: offsetEpoch,
    } = scanBatches(fetched.records ?? noBytes, startOffset)
    // Batches that all lie before the offset would be fetched for ever.
    if (nextOffset === startOffset) return false
    const answer = fetched.records ?? noBytes
    const records = answer.subarray(0, bytes)
    let isKept = true
    if (this.#isolation === 'read_uncommitted' || !abortedTransactions?.length) {
      this.#push({ records, startOffset, nextOffset, error: undefined }, fetched)
    } else isKept = this.#addCommitted(records, { ...fetched, abortedTransactions }, nextOffset)
    if (isKept) {
      this.bufferedBytes += answer.length
      this.aheadBytes += bytes
    }
    this.#backoff.reset()
    this.fetchOffset = nextOffset
    this.#offsetEpoch = offsetEpoch
    this.#checkedEpoch = leaderEpoch
    return true
  }

  /** True: some of it was committed. */
  #addCommitted(
    records: Buffer,
    fetched: FetchedPartition & { abortedTransactions: readonly AbortedTransaction[] },
    nextOffset: number,
  ): boolean {
    const startOffset = this.fetchOffset
    const runs = committedRuns(records, fetched.abortedTransactions, startOffset)
    for (const [index, run] of runs.entries()) {
      const part = {
        records: records.subarray(run.start, run.end),
        startOffset: run.startOffset,
        nextOffset: runs[index + 1]?.startOffset ?? nextOffset,
        error: undefined,
      }
      this.#push(part, fetched)
    }
    if (runs.length > 0) return true
    // Also who reads this must get beyond it.
    this.#push({ records: noBytes, startOffset: nextOffset, nextOffset, error: undefined }, fetched)
    return false
  }

  /** Stops until the next seek; the error is the last thing that `poll` returns of it. */
  stop(error: StreamsError): void {
    this.isStopped = true
    const offset = this.fetchOffset
    this.#push(
      { records: noBytes, startOffset: offset, nextOffset: offset, error },
      { highWatermark: this.highWatermark ?? -1, lastStableOffset: -1, logStartOffset: -1 },
    )
  }

  /** Asks no sooner than after a growing wait; returns when, on the monotonic clock. */
  postpone(now: number): number {
    this.retryAt = now + this.#backoff.next()
    return this.retryAt
  }

  /** Moves what is buffered to the end of `into`. */
  take(into: FetchedRecords[]): void {
    for (const fetched of this.buffered) {
      into.push(fetched)
      if (fetched.error === undefined) this.#position = fetched.nextOffset
    }
    this.buffered = []
    this.bufferedBytes = 0
    this.aheadBytes = 0
  }

  #push(
    part: Pick<FetchedRecords, 'records' | 'startOffset' | 'nextOffset' | 'error'>,
    log: Omit<FetchedPartition, 'records' | 'abortedTransactions'>,
  ): void {
    this.buffered.push({
      topic: this.topic,
      partition: this.partition,
      records: part.records,
      startOffset: part.startOffset,
      nextOffset: part.nextOffset,
      highWatermark: log.highWatermark,
      logStartOffset: log.logStartOffset,
      lastStableOffset: log.lastStableOffset,
      error: part.error,
    })
  }
}
