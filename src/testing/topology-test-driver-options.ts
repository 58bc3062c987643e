import { reasonOfIllegalName } from '../base/legal-name.ts'
import type { Log } from '../base/log.ts'
import { shownValue } from '../base/shown-value.ts'
import type { ErrorHandling } from '../error-handlers.ts'
import type { StateEngine } from '../kv/state-engine.ts'
import { assertObject, assertWholeMs, wrongInput } from './given-input.ts'

/** How a TopologyTestDriver runs. Without handlers of errors, `pipe` throws the first one. */
export interface TopologyTestDriverOptions extends ErrorHandling {
  /** Prefix of internal topics. Default `topology-test-driver`. */
  readonly applicationId?: string
  /**
   * Bytes of the record caches. They are emptied after each record, as Java's test driver does; with
   * 0, nothing is cached. Default 10 MiB.
   */
  readonly cacheBytes?: number
  /**
   * Where the wall clock stands at first, in milliseconds since the epoch; it moves only by
   * `advanceWallClockTime`. Default 0, so that each run is the same.
   */
  readonly wallClock?: number
  /**
   * Keeps persistent stores in files below this directory: a later driver with the same directory and
   * application id finds them again. Default: they are kept in memory.
   */
  readonly stateDir?: string
  /** What keeps them there: `rocksdb()` of `millpond/rocksdb`, or LMDB, the default. */
  readonly engine?: StateEngine
  /**
   * Milliseconds by the wall clock for which a record waits while another topic is empty, so that both
   * are taken in the order of time: 0 (default) and -1 do not wait. See `StreamsConfig.maxTaskIdle`.
   */
  readonly maxTaskIdle?: number
  /** Hears what the engine says, such as that a record was dropped. Default: nothing is logged. */
  readonly log?: Log
  /**
   * Records that one call may set off through topics that the program both writes and reads; then it
   * fails. Default 1,000,000.
   */
  readonly recordsPerPipeMax?: number
}

/** Refuses what a program without types gives, with `CONFIG_INVALID`. */
export function assertDriverOptions(given: TopologyTestDriverOptions): void {
  assertObject(given, 'options')
  const { applicationId, cacheBytes, wallClock, stateDir, maxTaskIdle, recordsPerPipeMax } = given
  const illegal = applicationId === undefined ? undefined : reasonOfIllegalName(applicationId)
  if (illegal !== undefined) throw wrongInput('applicationId', illegal)
  if (wallClock !== undefined) assertWholeMs(wallClock, 'wallClock')
  if (maxTaskIdle !== undefined) assertWholeMs(maxTaskIdle, 'maxTaskIdle')
  assertCount(cacheBytes, 'cacheBytes', 0)
  assertCount(recordsPerPipeMax, 'recordsPerPipeMax', 1)
  if (stateDir !== undefined && (typeof stateDir !== 'string' || stateDir === ''))
    throw wrongInput('stateDir', `it must be the name of a directory, not ${shownValue(stateDir)}`)
}

function assertCount(given: number | undefined, option: string, least: number): void {
  if (given === undefined || (Number.isSafeInteger(given) && given >= least)) return
  throw wrongInput(option, `it must be a whole number from ${least} on, not ${shownValue(given)}`)
}
