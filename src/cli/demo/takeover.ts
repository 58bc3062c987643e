import type { ProgramEnd } from './child-program.ts'
import { sessionTimeoutMs } from './demo-options.ts'

/** What becomes of the partitions of an instance that has ended; `others` are still there. */
export function takeoverLine({ code, signal }: ProgramEnd, others: number): string {
  const seconds = sessionTimeoutMs / 1000
  if (others === 0) {
    return 'No other instance is left to take over its partitions. Start it again:'
  }
  if (code === 0) {
    return 'It has left in order: the others take over its partitions at once. Start it again:'
  }
  if (signal === null) {
    // It may have left before it ended, or not.
    return `The others take over its partitions within ${seconds} seconds. Start it again:`
  }
  return `The others take over its partitions when its session ends, after ${seconds} seconds. Start it again:`
}
