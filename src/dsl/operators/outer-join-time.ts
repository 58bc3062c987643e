import type { NodeContext } from '../../processor/processor.ts'

/**
 * What both sides of one join in one task know of time: how far it has come, and when to look for
 * records whose windows have closed. Java's KStreamImplJoin.TimeTracker.
 */
export class OuterJoinTime {
  /** The largest timestamp that either side has seen. */
  streamTime = -1
  /**
   * No record that is held back is older. Lower than every time: there may be some of any age, which
   * another instance has left.
   */
  minTime = -Infinity
  #nextTimeToEmit = 0

  advance(timestamp: number): void {
    if (timestamp > this.streamTime) this.streamTime = timestamp
  }

  /** A record of that time is held back. */
  heldBack(timestamp: number): void {
    if (timestamp < this.minTime) this.minTime = timestamp
  }

  /**
   * It is worth to look: windows of that length may have closed, and the last look is long enough ago.
   * Looking costs a scan.
   */
  isTimeToEmit(context: NodeContext, windowLength: number): boolean {
    if (this.minTime + windowLength >= this.streamTime) return false
    const { emitIntervalMs } = context
    if (emitIntervalMs === 0) return true
    const now = context.wallClockTime()
    if (now < this.#nextTimeToEmit) return false
    this.#nextTimeToEmit = now + emitIntervalMs
    return true
  }
}
