import { enrichedOrders, foreignKeyJoin, ordersOfCountries, streamJoin } from './join-programs.ts'
import type { ProgramMaker } from './program.ts'
import {
  countByKey,
  latestByKey,
  relabelledCount,
  versionsByKey,
  wordCount,
} from './table-programs.ts'
import { finalCount, sessionCount, slidingCount, windowedCount } from './window-programs.ts'

/** The programs that simulations run, by name. */
export const programs: ReadonlyMap<string, ProgramMaker> = new Map([
  ['count-by-key', countByKey],
  ['word-count', wordCount],
  ['windowed-count', windowedCount],
  ['latest-by-key', latestByKey],
  ['enriched-orders', enrichedOrders],
  ['foreign-key-inner-join', foreignKeyJoin('inner')],
  ['foreign-key-left-join', foreignKeyJoin('left')],
  ['session-count', sessionCount],
  ['sliding-count', slidingCount],
  ['final-count', finalCount],
  ['stream-inner-join', streamJoin('inner')],
  ['stream-left-join', streamJoin('left')],
  ['orders-of-countries', ordersOfCountries],
  ['versions-by-key', versionsByKey],
  ['relabelled-count', relabelledCount],
])
