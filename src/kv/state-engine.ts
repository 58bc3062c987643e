import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { shownValue } from '../base/shown-value.ts'
import type { KvEngineFactory } from './kv.ts'
import { lmdbEngine } from './lmdb-engine.ts'

/** What an engine needs of the instance in which it runs. */
export interface StateEngineWorld {
  readonly disk: Disk
  readonly clock: Clock
  /** Hears that a file was wiped, and why. */
  readonly log: Log
}

/**
 * The engine of an instance's persistent stores, as its configuration names it. A description: nothing
 * is loaded or opened before the first store needs it.
 */
export interface StateEngine {
  readonly kind: 'state-engine'
  /** Also the name of the folder in which each task's directory has its files. */
  readonly name: string
  /** Makes the engine of one task after the other, all in this world. */
  factory(world: StateEngineWorld): KvEngineFactory
}

/** What is used when nothing else is configured. */
export const lmdbStateEngine: StateEngine = Object.freeze({
  kind: 'state-engine',
  name: 'lmdb',
  factory: (world: StateEngineWorld) => lmdbEngine(world),
})

/** A sentence about what is wrong with a configured engine; undefined when it is right. */
export function stateEngineProblem(value: unknown): string | undefined {
  const { kind } = (value ?? {}) as { kind?: unknown }
  return kind === 'state-engine'
    ? undefined
    : `it must be an engine, such as rocksdb() of millpond/rocksdb, not ${shownValue(value)}`
}
