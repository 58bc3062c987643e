import type { NodeSupplier } from '../processor/processor.ts'
import type { Serde } from '../serde/serde.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { RecordContext, RecordHeaders } from '../store/state-store.ts'
import type { OffsetReset } from './offset-reset.ts'
import type { TopicPattern } from './topic-pattern.ts'

/** What a timestamp extractor sees beside the record's value, key and timestamp. */
export interface TimestampContext {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly headers: RecordHeaders
  /** The largest time that this partition has had, -1 before the first. */
  readonly partitionTime: number
  /** Milliseconds since the epoch, from the task's clock. */
  wallClockTime(): number
}

/**
 * The timestamp of a record, in milliseconds; negative: the record is dropped, and counted. The
 * context is valid during the call. Java's TimestampExtractor.
 */
export type TimestampExtractor<K = unknown, V = unknown> = (
  value: V,
  key: K,
  recordTimestamp: number,
  context: TimestampContext,
) => number

/**
 * Names the topic of each record, which must exist. `record` is where the record came from, with the
 * timestamp and headers that it is written with; valid during the call. Java's TopicNameExtractor.
 */
export type TopicNameExtractor<K = unknown, V = unknown> = (
  value: V,
  key: K,
  record: Readonly<RecordContext>,
) => string

/** Chooses the partition of a record. Java's StreamPartitioner. */
export type StreamPartitioner = (
  topic: string,
  key: unknown,
  value: unknown,
  partitionCount: number,
) => number

/** Reads topics. */
export interface SourceNode {
  readonly kind: 'source'
  readonly name: string
  /**
   * Names as the user wrote them; internal ones without the application's prefix (see `internal`). Of
   * a pattern those that match, which are known when the topology runs: none before.
   */
  readonly topics: readonly string[]
  readonly pattern?: TopicPattern
  readonly key: Serde<unknown>
  readonly value: Serde<unknown>
  readonly timestamp?: TimestampExtractor
  /** Undefined: what the configuration says (default there: earliest). */
  readonly offsetReset?: OffsetReset
  /** A repartition topic: its full name is `<applicationId>-<topic>`. */
  readonly internal: boolean
}

/** Runs code on each record. */
export interface ProcessorNode {
  readonly kind: 'processor'
  readonly name: string
  readonly parents: readonly string[]
  /** Names of the stores that the node may use. */
  readonly stores: readonly string[]
  readonly supplier: NodeSupplier
}

/** Writes a topic. */
export interface SinkNode {
  readonly kind: 'sink'
  readonly name: string
  readonly parents: readonly string[]
  readonly topic: string | TopicNameExtractor
  readonly key: Serde<unknown>
  readonly value: Serde<unknown>
  readonly partitioner?: StreamPartitioner
  /** A repartition topic: its full name is `<applicationId>-<topic>`. */
  readonly internal: boolean
}

export type TopologyNode = SourceNode | ProcessorNode | SinkNode

/** A store in a topology: the descriptor, and what the operator that made it needs. */
export interface StoreNode {
  /** Complete: a window store with its retention and window size, a session store with its retention. */
  readonly descriptor: AnyStore
  /**
   * Keep a timestamp with each value: every table of the DSL. Of no meaning for session stores, whose
   * timestamp is the session's end, and versioned ones, which always have timestamps.
   */
  readonly timestamped: boolean
  /**
   * Not a store of rows but what an operator holds back: `changes` of a table, one for each key, in
   * memory, until a suppression lets them go; `records` of a stream, all of them, until a table has had
   * time for late changes. The descriptor is that of a key-value store.
   */
  readonly buffer?: 'changes' | 'records'
  /** Windows and sessions by time first, so that those that close are read in order: emit on close. */
  readonly timeOrdered?: boolean
  /** Its changelog has the headers of the records that cause changes: as subscriptions of a join have. */
  readonly logsHeaders?: boolean
  /** A source topic that serves as the changelog (topology.optimization), else undefined. */
  readonly sourceTopic?: string
}

/** A topic that the engine creates for a repartition step. */
export interface RepartitionTopic {
  /** Without the application's prefix: `<name>-repartition`. */
  readonly name: string
  /** Undefined: as many as the widest source of the step above it. */
  readonly partitionCount?: number
}
