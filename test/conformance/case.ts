/**
 * A conformance case: a program and a script of records, in words that Kafka Streams and Millpond both
 * understand. docs/internals/conformance.md describes the format; conformance/java is the other reader.
 */

/** A value in a script: what the topic's serde takes, as JSON, or bytes as they are. */
export type ScriptValue =
  | null
  | string
  | number
  | boolean
  | readonly ScriptValue[]
  | { readonly hex: string }

/** How a store of a step is kept, when that is more than a name. */
export interface StoreSpec {
  readonly name: string
  /** Default: a key-value store. */
  readonly kind?: 'versioned'
  /** Of a versioned store: milliseconds. */
  readonly historyRetention?: number
  /** Names of serdes; default `string`. */
  readonly key?: string
  readonly value?: string
  readonly caching?: boolean
  readonly persistent?: boolean
  readonly changelog?: boolean | Readonly<Record<string, string>>
  /** Of window and session stores; milliseconds. */
  readonly retention?: number
}

/** A store that a program states for its processors. */
export interface ProcessorStore {
  readonly name?: string
  /** Default `key-value`. */
  readonly kind?: 'key-value' | 'window' | 'session' | 'versioned'
  /** Instead of a name: the store of a table. */
  readonly table?: string
  readonly key?: string
  readonly value?: string
  /** It keeps a timestamp with each value; of a table: it is seen with them (default). */
  readonly timestamped?: boolean
  readonly caching?: boolean
  readonly persistent?: boolean
  readonly changelog?: boolean | Readonly<Record<string, string>>
  /** Of windows and sessions; of windows; of versions; in milliseconds. */
  readonly retention?: number
  readonly windowSize?: number
  readonly retainDuplicates?: boolean
  readonly historyRetention?: number
}

/** Windows; which fields count depends on `kind`. All are milliseconds. */
export interface WindowsSpec {
  readonly kind: 'time' | 'sliding' | 'session' | 'unlimited' | 'custom'
  readonly size?: number
  readonly advance?: number
  readonly timeDifference?: number
  readonly gap?: number
  readonly grace?: number
  readonly start?: number
  /** Of `custom` windows, which are tumbling ones from there on. */
  readonly offset?: number
}

/** One call of the language. Which fields count depends on `op`. */
export interface Step extends ProcessorStore {
  readonly op: string
  readonly id?: string
  /** Ids of the steps above; absent: the step before. */
  readonly from?: string | readonly string[]
  /** Functions of the library. */
  readonly with?: string | readonly string[]
  readonly name?: string
  readonly topic?: string | readonly string[]
  /** Names of serdes. */
  readonly key?: string
  readonly value?: string
  readonly store?: string | StoreSpec
  /** A function that gives the time of a record. */
  readonly timestamp?: string
  /** Of a `transformValues`; its `stores` are names of stores that it has for itself. */
  readonly transformer?: string
  /** Of a `processor`: the stores that it uses; of a `store`: the processors that use it. */
  readonly stores?: readonly string[]
  readonly processors?: readonly string[]
  /** Of `process` and `processValues`: the processor, and the stores that it uses. */
  readonly processor?: string
  readonly uses?: readonly ProcessorStore[]
  /** In place of topics: a regular expression. */
  readonly pattern?: string
  /** Of a `globalStore` or `readOnlyStore`: the name of the step that reads its topic. */
  readonly source?: string
  /** Of a `split`: names of its branches, and of the step for the rest; of a `branch`: which one. */
  readonly branches?: readonly string[]
  readonly rest?: string
  readonly branch?: string
  /** Of a `print`. */
  readonly label?: string
  /** Of a `repartition`. */
  readonly partitions?: number
  /** Of a `windowedBy`. */
  readonly into?: WindowsSpec
  /** Of an `emitStrategy`. */
  readonly strategy?: 'on-window-update' | 'on-window-close'
  /** Of an aggregation in windows whose store has no name; milliseconds. */
  readonly retention?: number
  /** Of a `suppress`: until windows close, or so many milliseconds. */
  readonly until?: 'window-closes' | number
  readonly buffer?:
    | 'unbounded'
    | { readonly maxRecords?: number; readonly maxBytes?: number; readonly onFull: string }
  /** Of a join of two streams: milliseconds. */
  readonly windows?: { readonly before: number; readonly after: number; readonly grace: number }
  readonly otherValue?: string
  /** Of a join with a table: milliseconds. */
  readonly grace?: number
}

export interface ScriptRecord {
  readonly topic: string
  readonly key: ScriptValue
  readonly value: ScriptValue
  readonly timestamp: number
  /** Names and values, values as text. */
  readonly headers?: readonly (readonly [name: string, value: string | null])[]
}

/** A record to pipe, or milliseconds by which the wall clock moves. */
export type ScriptEntry = ScriptRecord | { readonly advanceWallClock: number }

export interface CaseConfig {
  /** Default 10 MiB. Other values than 0 and plenty are evicted at each side's own estimate. */
  readonly cacheBytes?: number
  readonly optimization?: string
  readonly guarantee?: 'at-least-once' | 'exactly-once'
  readonly onDeserializationError?: 'fail' | 'continue'
  readonly onProcessingError?: 'fail' | 'continue'
  readonly onProductionError?: 'fail' | 'continue'
  readonly deadLetterQueueTopic?: string
  readonly wallClock?: number
  /** Milliseconds that a task waits for an empty topic; -1: never. Default 0. */
  readonly maxTaskIdle?: number
}

/** What a step has produced: topic, key and value in hexadecimal, timestamp, headers. */
export type ProducedRow = readonly (string | number | null)[]

/** Everything that is compared. */
export interface CaseResult {
  readonly describe?: string
  readonly internalTopics?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** For each entry of the script, what it produced over all topics, in order. */
  readonly steps?: readonly (readonly ProducedRow[])[]
  /** For each store its rows in its own order: key, value, timestamp. */
  readonly stores?: Readonly<Record<string, readonly ProducedRow[]>>
  readonly dropped?: number
  /** Where it failed, `build` or `step N`; absent: it did not. */
  readonly failure?: string
  /** The reason in the words of whoever failed; not compared. */
  readonly message?: string
}

export interface ConformanceCase {
  readonly name: string
  readonly config?: CaseConfig
  readonly topology: readonly Step[]
  readonly script: readonly ScriptEntry[]
  /**
   * What a person expects of some topics, written by hand from a scenario: keys, values and timestamps
   * in order, over the whole script. Checked beside `expected`.
   */
  readonly outputs?: Readonly<
    Record<string, readonly (readonly [ScriptValue, ScriptValue, number])[]>
  >
  /** What Kafka Streams made of it: recorded by `npm run conformance -- --record`. */
  readonly expected?: CaseResult
}

/** The case itself is wrong: it says what neither side could run. */
export class InvalidCase extends Error {}

/** One or several as a list. */
export function listOf(given: string | readonly string[] | undefined): readonly string[] {
  if (given === undefined) return []
  return typeof given === 'string' ? [given] : given
}

export function isRecord(entry: ScriptEntry): entry is ScriptRecord {
  return 'topic' in entry
}
