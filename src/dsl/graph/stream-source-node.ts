import { assertOptions } from '../../base/assert-options.ts'
import { StreamsError } from '../../errors.ts'
import { assertSerde } from '../../serde/assert-serde.ts'
import type { Serde } from '../../serde/serde.ts'
import { serdes } from '../../serde/serdes.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { OffsetReset } from '../../topology/offset-reset.ts'
import { TopicPattern } from '../../topology/topic-pattern.ts'
import type { Named } from '../naming.ts'
import { assertTopic, assertTopicOptions, type Topic, type TopicOptions } from '../topic.ts'
import { GraphNode } from './graph-node.ts'

/** How the topics that match a pattern are read. */
export interface PatternOptions<K, V> extends Named, TopicOptions<K, V> {
  readonly value: Serde<V>
}

/** How all topics of a source are read. */
export type Reading = Omit<Topic<unknown, unknown>, 'name'>

/** Reads topics as a stream. Java's StreamSourceNode. */
export class StreamSourceNode extends GraphNode {
  /** What it reads, as names that two sources of the same topics share. */
  readonly topicNames: readonly string[]
  readonly reading: Reading
  readonly #pattern: TopicPattern | undefined

  constructor(name: string, topics: readonly string[] | TopicPattern, reading: Reading) {
    super(name)
    this.reading = reading
    this.#pattern = topics instanceof TopicPattern ? topics : undefined
    this.topicNames = topics instanceof TopicPattern ? [topics.id] : [...new Set(topics)]
  }

  /** Refuses a second source of the same topics that would read them in another way. */
  assertMergeable(other: StreamSourceNode): void {
    assertReadAlike(this.reading, other.reading, this.#pattern?.text ?? this.topicNames.join(', '))
  }

  override write(topology: InternalTopologyBuilder): void {
    const { key, value, timestamp, offsetReset } = this.reading
    const topics = this.#pattern ?? this.topicNames
    topology.addSource(this.name, { topics, key, value, timestamp, offsetReset })
  }
}

/** The source of what `stream` was given. */
export function sourceNode<K, V>(
  name: string,
  topics: Topic<K, V> | readonly Topic<K, V>[] | RegExp,
  options: Named | PatternOptions<K, V> | undefined,
): StreamSourceNode {
  if (topics instanceof RegExp) {
    return new StreamSourceNode(name, new TopicPattern(topics), readingOf(topics, options))
  }
  const list = (Array.isArray(topics) ? topics : [topics]) as readonly Topic<unknown, unknown>[]
  for (const each of list) assertTopic(each, 'stream')
  const [first, ...others] = list
  if (first === undefined) {
    throw new StreamsError('TOPOLOGY_INVALID', { detail: 'stream() needs at least one topic' })
  }
  for (const other of others) assertReadAlike(first, other, `${first.name} and ${other.name}`)
  // All are read with the serdes and options of the first.
  return new StreamSourceNode(
    name,
    list.map((topic) => topic.name),
    first,
  )
}

function readingOf(pattern: RegExp, options: unknown): Reading {
  const of = `the topics ${pattern.toString()}`
  assertOptions(options, of)
  const { key = serdes.bytes, value, ...rest } = (options ?? {}) as Partial<Reading>
  assertSerde(key, { part: 'key', of })
  assertSerde(value, { part: 'value', of })
  assertTopicOptions(rest, of)
  const { timestamp, offsetReset } = rest
  return { key, value, timestamp, offsetReset }
}

function assertReadAlike(first: Reading, other: Reading, topics: string): void {
  const difference =
    (first.key.name !== other.key.name && 'key serdes') ||
    (first.value.name !== other.value.name && 'value serdes') ||
    (first.timestamp !== other.timestamp && 'timestamp functions') ||
    (!isSameReset(first.offsetReset, other.offsetReset) && 'offset resets')
  if (difference === false) return
  const detail = `one source reads ${topics}, but it is declared with different ${difference}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

function isSameReset(left: OffsetReset | undefined, right: OffsetReset | undefined): boolean {
  if (typeof left !== 'object' || typeof right !== 'object') return left === right
  return left.byDuration === right.byDuration
}
