/**
 * The settings that a topic can have, with Kafka's names, kinds, limits and defaults. The broker
 * obeys those that `TopicSettings` lists; the others make sense in a cluster only, and are kept as
 * they are.
 */
import { compressions, type Compression } from '../protocol/compression.ts'
import type { TimestampType } from '../protocol/record-batch-layout.ts'

export type ConfigKind = 'boolean' | 'string' | 'int' | 'long' | 'double' | 'list'

export interface ConfigDefinition {
  readonly kind: ConfigKind
  readonly default: string
  /** What the numbers, or the words of strings and lists, may be. */
  readonly min?: number
  readonly max?: number
  readonly words?: readonly string[]
  /** One sentence for those who ask the broker. */
  readonly documentation: string
}

/** Java's Long.MAX_VALUE stands for "never". */
const longMax = '9223372036854775807'
const intMax = 2_147_483_647

const day = 86_400_000

const definitions = {
  'cleanup.policy': {
    kind: 'list',
    default: 'delete',
    words: ['delete', 'compact'],
    documentation: 'Delete old segments, keep the last record of each key, or both.',
  },
  'compression.gzip.level': {
    kind: 'int',
    default: '-1',
    documentation: 'Has no effect: the broker compresses with the default level.',
  },
  'compression.lz4.level': {
    kind: 'int',
    default: '9',
    documentation: 'Has no effect: the broker compresses with the default level.',
  },
  'compression.type': {
    kind: 'string',
    default: 'producer',
    words: ['producer', 'uncompressed', ...compressions.slice(1)],
    documentation: 'How batches are compressed in the log; producer keeps them as they come.',
  },
  'compression.zstd.level': {
    kind: 'int',
    default: '3',
    documentation: 'Has no effect: the broker compresses with the default level.',
  },
  'delete.retention.ms': {
    kind: 'long',
    default: String(day),
    min: 0,
    documentation: 'How long compaction keeps a tombstone.',
  },
  'file.delete.delay.ms': {
    kind: 'long',
    default: '60000',
    min: 0,
    documentation: 'Has no effect: files are deleted at once.',
  },
  'flush.messages': {
    kind: 'long',
    default: longMax,
    min: 1,
    documentation: 'Has no effect: the operating system decides when to write.',
  },
  'flush.ms': {
    kind: 'long',
    default: longMax,
    min: 0,
    documentation: 'Has no effect: the operating system decides when to write.',
  },
  'index.interval.bytes': {
    kind: 'int',
    default: '4096',
    min: 0,
    documentation: 'Has no effect: the index is kept in memory.',
  },
  'max.compaction.lag.ms': {
    kind: 'long',
    default: longMax,
    min: 1,
    documentation: 'Records older than this are compacted however little of the log is dirty.',
  },
  'max.message.bytes': {
    kind: 'int',
    default: '1048588',
    min: 0,
    documentation: 'The largest record batch that is accepted.',
  },
  'message.timestamp.after.max.ms': {
    kind: 'long',
    default: '3600000',
    min: 0,
    documentation: 'How far the timestamp of a record may lie in the future.',
  },
  'message.timestamp.before.max.ms': {
    kind: 'long',
    default: longMax,
    min: 0,
    documentation: 'How far the timestamp of a record may lie in the past.',
  },
  'message.timestamp.type': {
    kind: 'string',
    default: 'CreateTime',
    words: ['CreateTime', 'LogAppendTime'],
    documentation: 'Whether records keep the timestamp of their producer.',
  },
  'min.cleanable.dirty.ratio': {
    kind: 'double',
    default: '0.5',
    min: 0,
    max: 1,
    documentation: 'The part of the log that must be dirty before it is compacted.',
  },
  'min.compaction.lag.ms': {
    kind: 'long',
    default: '0',
    min: 0,
    documentation: 'Records younger than this are not compacted.',
  },
  'min.insync.replicas': {
    kind: 'int',
    default: '1',
    min: 1,
    documentation: 'Writes with acks=all are refused above 1: there is one broker.',
  },
  preallocate: {
    kind: 'boolean',
    default: 'false',
    documentation: 'Has no effect: files grow as they are written.',
  },
  'retention.bytes': {
    kind: 'long',
    default: '-1',
    min: -1,
    documentation: 'The size to which a partition is cut back; -1: no limit.',
  },
  'retention.ms': {
    kind: 'long',
    default: String(7 * day),
    min: -1,
    documentation: 'The age at which records are deleted; -1: never.',
  },
  'segment.bytes': {
    kind: 'int',
    default: '1073741824',
    min: 14,
    max: intMax,
    documentation: 'The size at which a log file is ended and the next one begun.',
  },
  'segment.index.bytes': {
    kind: 'int',
    default: '10485760',
    min: 4,
    documentation: 'Has no effect: the index is kept in memory.',
  },
  'segment.jitter.ms': {
    kind: 'long',
    default: '0',
    min: 0,
    documentation: 'Has no effect: segments are ended exactly after segment.ms.',
  },
  'segment.ms': {
    kind: 'long',
    default: String(7 * day),
    min: 1,
    documentation: 'The age at which a log file is ended and the next one begun.',
  },
  'unclean.leader.election.enable': {
    kind: 'boolean',
    default: 'false',
    documentation: 'Has no effect: there is one broker.',
  },
} as const satisfies Record<string, ConfigDefinition>

/** The name of a topic's setting. */
export type TopicConfigName = keyof typeof definitions

/** All settings of a topic, by name, sorted. */
export const topicConfigs: ReadonlyMap<string, ConfigDefinition> = new Map(
  Object.entries(definitions),
)

/** Values that were set, by name; the others have their default. */
export type ConfigValues = ReadonlyMap<string, string>

/** What a topic's settings come to. Times and sizes without a limit are Infinity. */
export interface TopicSettings {
  readonly isCompacted: boolean
  readonly retentionMs: number
  readonly retentionBytes: number
  readonly segmentBytes: number
  readonly segmentMs: number
  readonly minCleanableDirtyRatio: number
  readonly minCompactionLagMs: number
  readonly maxCompactionLagMs: number
  readonly deleteRetentionMs: number
  readonly timestampType: TimestampType
  readonly timestampBeforeMaxMs: number
  readonly timestampAfterMaxMs: number
  readonly batchBytesMax: number
  /** Undefined: as the producer did. */
  readonly compression: Compression | undefined
  readonly minInsyncReplicas: number
}

/** What is wrong with the value of a setting; undefined when nothing is. */
export function configProblem(name: string, value: string | null): string | undefined {
  const definition = topicConfigs.get(name)
  if (definition === undefined) return `Unknown topic config name: ${name}`
  if (value === null) return `Null value not supported for topic configs: ${name}`
  return definitionProblem(definition, name, value)
}

/** What is wrong with the value of a setting that is defined so; undefined when nothing is. */
export function definitionProblem(
  definition: ConfigDefinition,
  name: string,
  value: string,
): string | undefined {
  const problem = valueProblem(definition, value)
  return problem === undefined
    ? undefined
    : `Invalid value ${value} for configuration ${name}: ${problem}`
}

function valueProblem(definition: ConfigDefinition, value: string): string | undefined {
  switch (definition.kind) {
    case 'boolean':
      return /^(true|false)$/i.test(value.trim()) ? undefined : 'must be true or false'
    case 'int':
    case 'long':
      if (!/^[+-]?\d{1,19}$/.test(value.trim())) return `not a number of type ${definition.kind}`
      return rangeProblem(definition, Number(value))
    case 'double':
      if (value.trim() === '' || !Number.isFinite(Number(value))) return 'not a number'
      return rangeProblem(definition, Number(value))
    case 'string':
      return definition.words === undefined || definition.words.includes(value)
        ? undefined
        : `must be one of ${definition.words.join(', ')}`
    case 'list': {
      const words = listWords(value)
      const stranger = words.find((word) => definition.words?.includes(word) === false)
      if (stranger === undefined && words.length > 0) return undefined
      return `must be a list of ${definition.words?.join(', ')}`
    }
    default:
      return definition.kind satisfies never
  }
}

function rangeProblem(definition: ConfigDefinition, value: number): string | undefined {
  const { kind, min = -Infinity, max = kind === 'int' ? intMax : Infinity } = definition
  if (value < min) return `must be at least ${min}`
  return value > max ? `must be at most ${max}` : undefined
}

/** The words of a list value. */
export function listWords(value: string): string[] {
  return value
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

/** The value of a setting: what was set, else the default of the broker, else Kafka's. */
export function configValue(
  name: TopicConfigName,
  values: ConfigValues,
  defaults: ConfigValues,
): string {
  return values.get(name) ?? defaults.get(name) ?? definitions[name].default
}

/** Reads the settings that the broker obeys; every value has been checked before. */
export function topicSettings(values: ConfigValues, defaults: ConfigValues): TopicSettings {
  const text = (name: TopicConfigName): string => configValue(name, values, defaults)
  const limit = (name: TopicConfigName): number => {
    const value = text(name).trim()
    return value === longMax || value === '-1' ? Number.POSITIVE_INFINITY : Number(value)
  }
  const policies = listWords(text('cleanup.policy'))
  const deletes = policies.includes('delete')
  const compression = text('compression.type')
  return {
    isCompacted: policies.includes('compact'),
    retentionMs: deletes ? limit('retention.ms') : Number.POSITIVE_INFINITY,
    retentionBytes: deletes ? limit('retention.bytes') : Number.POSITIVE_INFINITY,
    segmentBytes: limit('segment.bytes'),
    segmentMs: limit('segment.ms'),
    minCleanableDirtyRatio: Number(text('min.cleanable.dirty.ratio')),
    minCompactionLagMs: limit('min.compaction.lag.ms'),
    maxCompactionLagMs: limit('max.compaction.lag.ms'),
    deleteRetentionMs: limit('delete.retention.ms'),
    timestampType: text('message.timestamp.type') === 'LogAppendTime' ? 'log-append' : 'create',
    timestampBeforeMaxMs: limit('message.timestamp.before.max.ms'),
    timestampAfterMaxMs: limit('message.timestamp.after.max.ms'),
    batchBytesMax: limit('max.message.bytes'),
    compression: compression === 'producer' ? undefined : codecOf(compression),
    minInsyncReplicas: limit('min.insync.replicas'),
  }
}

function codecOf(name: string): Compression {
  return compressions.find((codec) => codec === name) ?? 'none'
}
