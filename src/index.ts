/** The door `millpond`: write topologies, run them, ask their stores. */

export type { AsyncCall, AsyncOptions } from './dsl/async-options.ts'
export { days, hours, minutes, seconds } from './dsl/duration.ts'
export type {
  CogroupedKStream,
  SessionWindowedCogroupedKStream,
  TimeWindowedCogroupedKStream,
} from './dsl/cogrouped-kstream.ts'
export type { EmitStrategy } from './dsl/emit-strategy.ts'
export type { GlobalKTable } from './dsl/global-ktable.ts'
export type { GlobalTableStoreRef } from './dsl/global-ktable-impl.ts'
export type { GlobalJoinOptions } from './dsl/kstream-global-ktable-join.ts'
export type { Emitted, KGroupedStream } from './dsl/kgrouped-stream.ts'
export type { KGroupedTable } from './dsl/kgrouped-table.ts'
export { joinWindows } from './dsl/join-windows.ts'
export type { JoinWindows } from './dsl/join-windows.ts'
export type { StreamJoinOptions } from './dsl/kstream-kstream-join.ts'
export type { TableJoinOptions } from './dsl/kstream-ktable-join.ts'
export type { RepartitionOptions } from './dsl/kstream-repartition.ts'
export type {
  Branches,
  BranchPredicate,
  BranchPredicates,
  SplitOptions,
} from './dsl/kstream-split.ts'
export type { ToNamedTopicOptions, ToOptions } from './dsl/kstream-to.ts'
export type { KStream } from './dsl/kstream.ts'
export type { ForeignKeyJoinOptions } from './dsl/ktable-foreign-key-join.ts'
export type { KTableJoinOptions } from './dsl/ktable-ktable-join.ts'
export type { TransformValuesOptions } from './dsl/ktable-transform-values.ts'
export type { KTable, MappedEmission } from './dsl/ktable.ts'
export type { TableStore, TableStoreRef, VersionedTableStore } from './dsl/materialized.ts'
export type { Named } from './dsl/naming.ts'
export type { PrintOptions } from './dsl/operators/kstream-print.ts'
export type { Optimization, Optimizations } from './dsl/optimization.ts'
export type { Partitioner } from './dsl/partitioner.ts'
export type { JoinStoreOptions } from './dsl/stream-join-stores.ts'
export type { StreamJoins } from './dsl/stream-joins.ts'
export { StreamsBuilder, type StreamsBuilderOptions } from './dsl/streams-builder.ts'
export { TopologyBuilder } from './dsl/topology-builder.ts'
export type {
  AddProcessorOptions,
  AddSinkOptions,
  NodeNames,
  TopicStoreOptions,
} from './dsl/topology-builder.ts'
export type {
  Suppressed,
  SuppressedLimits,
  SuppressedUntilTimeLimit,
  SuppressedUntilWindowCloses,
} from './dsl/suppressed.ts'
export { topic } from './dsl/topic.ts'
export type { RawKey, SerdeOf, SerializerOf, SinkTopic, Topic, TopicOptions } from './dsl/topic.ts'
export type {
  EmittedBy,
  EmittedSession,
  SessionWindowedKStream,
  SessionWindowedOptions,
  TimeWindowedKStream,
  WindowedKStream,
  WindowedOptions,
} from './dsl/windowed-kstream.ts'
export type {
  SessionTableStore,
  SessionTableStoreRef,
  WindowTableStore,
  WindowTableStoreRef,
} from './dsl/windowed-materialized.ts'
export { sessionWindows, slidingWindows, timeWindows, unlimitedWindows } from './dsl/windows.ts'
export type {
  CustomWindows,
  SessionWindows,
  SlidingWindows,
  TimeBasedWindows,
  TimeWindows,
  UnlimitedWindows,
  Windows,
} from './dsl/windows.ts'
export type { TimestampContext, TimestampExtractor, TopicNameExtractor } from './topology/node.ts'
export type { OffsetReset } from './topology/offset-reset.ts'
export {
  failOnInvalidTimestamp,
  logAndSkipOnInvalidTimestamp,
  usePartitionTimeOnInvalidTimestamp,
  wallclockTimestamp,
} from './topology/timestamp-extractors.ts'
export type { DescribeFormat, DescribeOptions, Topology } from './topology/topology.ts'

export type { FixedKeyRecord } from './processor/fixed-key-record.ts'
export { timestamped } from './processor/local-store.ts'
export type {
  LocalStore,
  NoStores,
  StoreAccess,
  Stores,
  Timestamped,
} from './processor/local-store.ts'
export type {
  FixedKeyProcessorContext,
  ForwardOptions,
  ForwardedRecord,
  ProcessingContext,
  ProcessorContext,
  ScheduleOptions,
} from './processor/processor-context.ts'
export type {
  FixedKeyProcessFunction,
  FixedKeyProcessor,
  FixedKeyProcessorSupplier,
  ProcessFunction,
  Processor,
  ProcessorSupplier,
} from './processor/processor-supplier.ts'
export type { PunctuationType } from './processor/processor.ts'
export type { StreamRecord } from './processor/stream-record.ts'
export type {
  TransformFunction,
  ValueTransformer,
  ValueTransformerContext,
  ValueTransformerSupplier,
} from './processor/value-transformer.ts'
export type { ProcessOptions, ProcessValuesOptions } from './dsl/kstream-process.ts'
export type { PatternOptions } from './dsl/graph/stream-source-node.ts'

export { nullable } from './serde/nullable.ts'
export type { Serde, SerdeText } from './serde/serde.ts'
export { serdes } from './serde/serdes.ts'
export type { StandardSchema } from './serde/standard-schema.ts'

export { keyValueStore, sessionStore, versionedStore, windowStore } from './store/descriptor.ts'
export type {
  AnyStore,
  KeyValueStoreDescriptor,
  SessionStoreDescriptor,
  SessionStoreOptions,
  StoreOptions,
  VersionedStoreDescriptor,
  VersionedStoreOptions,
  WindowStoreDescriptor,
  WindowStoreOptions,
} from './store/descriptor.ts'
export type {
  KeyValueStore,
  RangeOptions,
  ReadOnlyKeyValueStore,
  StoreIterator,
  TimestampedKeyValueStore,
  ValueAndTimestamp,
} from './store/key-value-store.ts'
export type { ReadOnlySessionStore, SessionStore } from './store/session-store.ts'
export type {
  PutVersion,
  ReadOnlyVersionedStore,
  VersionedRecord,
  VersionedStore,
} from './store/versioned-store.ts'
export type {
  ReadOnlyWindowStore,
  TimestampedWindowStore,
  WindowRangeOptions,
  WindowStore,
} from './store/window-store.ts'
export type { Window, Windowed } from './store/windowed.ts'
export type { RecordHeaders } from './store/state-store.ts'

export { createLog } from './base/log.ts'
export type { Log, LogFields, LogLevel, LogSink } from './base/log.ts'
export type { Logger, LoggerChoice } from './base/logger.ts'
export { shutdownSignal } from './base/shutdown-signal.ts'
export type { TlsMaterial, TlsOptions } from './base/tls.ts'
export type {
  OAuthBearerToken,
  SaslCustom,
  SaslExchange,
  SaslOAuthBearer,
  SaslOptions,
  SaslPassword,
} from './client/sasl-options.ts'
export type { StreamsConfig } from './config.ts'
export type { StateEngine } from './kv/state-engine.ts'
export type {
  DeadLetterRecord,
  DeserializationErrorHandler,
  ErrorHandlerContext,
  ErrorHandling,
  ErrorResponse,
  ProcessingErrorContext,
  ProcessingErrorHandler,
  ProductionErrorContext,
  ProductionErrorHandler,
  UncaughtErrorHandler,
  UncaughtErrorResponse,
} from './error-handlers.ts'
export { KafkaStreams } from './kafka-streams.ts'
export type {
  KeyQueryMetadata,
  LagInfo,
  LocalTask,
  LocalWorkerInfo,
  RestoreLag,
  RestoreProgress,
  StandbyEnd,
  StandbyUpdate,
  StreamsEvents,
  StreamsMetadata,
} from './kafka-streams.ts'
export type { Endpoint } from './group/membership.ts'
export type { StreamsMetrics } from './metrics/streams-metrics.ts'
export type { RecordMetadata, TaskId } from './processor/record-metadata.ts'
export type { ConsistencyOptions } from './query/consistency.ts'
export type {
  QueryOptions,
  QueryRangeOptions,
  QueryScanOptions,
  QueryableKeyValueStore,
  QueryableSessionStore,
  QueryableStore,
  QueryableVersionedStore,
  QueryableWindowStore,
} from './query/queryable-store.ts'
export type { StreamsState } from './runtime/streams-state.ts'
export type { WorkerConfig } from './threads/topology-module.ts'

export { StreamsError, errorCodes, isStreamsError } from './errors.ts'
export type { ErrorCode, ErrorContext } from './errors.ts'
