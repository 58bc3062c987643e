import { isStreamsError, messageOf } from '../../src/errors.ts'
import type { Optimization, Optimizations } from '../../src/dsl/optimization.ts'
import { topic } from '../../src/dsl/topic.ts'
import { nullable } from '../../src/serde/nullable.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { TopologyTestDriver } from '../../src/testing/topology-test-driver.ts'
import { internalTopics } from '../../src/topology/internal-topics.ts'
import type { SourceNode } from '../../src/topology/node.ts'
import type { Topology } from '../../src/topology/topology.ts'
import {
  InvalidCase,
  isRecord,
  listOf,
  type CaseConfig,
  type CaseResult,
  type ConformanceCase,
  type ProducedRow,
  type ScriptEntry,
  type Step,
} from './case.ts'
import { bytesOf, hex } from './formats.ts'
import { buildProcessorProgram, isProcessorProgram } from './processor-program.ts'
import { Program } from './program.ts'
import { shownHeader } from './shown-header.ts'
import { storeRows } from './store-rows.ts'

const applicationId = 'app'
const bytes = { key: nullable(serdes.bytes), value: nullable(serdes.bytes) }

/** Ops that read topics. */
const sourceOps: ReadonlySet<string> = new Set([
  'stream',
  'table',
  'source',
  'globalTable',
  'globalStore',
  'addGlobalStore',
  'readOnlyStore',
])

/** What Millpond makes of a case. */
export function runCase(given: ConformanceCase): CaseResult {
  const { config = {}, topology: steps, script } = given
  let rows: ProducedRow[] = []
  let topology: Topology
  let driver: TopologyTestDriver
  try {
    topology = isProcessorProgram(steps)
      ? buildProcessorProgram(steps)
      : new Program(
          (step, key, value) => rows.push([`(${step})`, wellFormed(key), wellFormed(value)]),
          optimizationsOf(config),
        ).build(steps)
    // The guarantee has no bearing on what a test driver produces: Kafka Streams has to agree.
    driver = new TopologyTestDriver(topology, {
      applicationId,
      cacheBytes: config.cacheBytes,
      wallClock: config.wallClock,
      onDeserializationError: config.onDeserializationError,
      onProcessingError: config.onProcessingError,
      onProductionError: config.onProductionError,
      deadLetterQueueTopic: config.deadLetterQueueTopic,
      maxTaskIdle: config.maxTaskIdle,
    })
  } catch (error) {
    return failure('build', error)
  }
  using running = driver
  const begun = { describe: topology.describe(), internalTopics: topicsOf(topology) }
  const produced: ProducedRow[][] = []
  for (const entry of script) {
    rows = []
    try {
      perform(running, entry, steps)
    } catch (error) {
      return { ...begun, steps: produced, ...failure(`step ${produced.length}`, error) }
    }
    rows.push(...takeProduced(running))
    produced.push(rows)
  }
  return {
    ...begun,
    steps: produced,
    stores: rowsOfStores(running, topology),
    dropped: dropped(running),
  }
}

/** Half of a character is a question mark in Java's bytes. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '?')
}

/** Kafka Streams writes them with dots and commas. */
function optimizationsOf({ optimization = 'none' }: CaseConfig): Optimizations {
  if (optimization === 'none' || optimization === 'all') return optimization
  return optimization.split(',').map((each) => each.replaceAll('.', '-') as Optimization)
}

/** An error of another kind is a fault of ours, never what Kafka Streams means by its failures. */
function failure(where: string, error: unknown): CaseResult {
  if (error instanceof InvalidCase) throw error
  const failed = isStreamsError(error) ? where : `${where}, not with a StreamsError`
  return { failure: failed, message: messageOf(error) }
}

function perform(driver: TopologyTestDriver, entry: ScriptEntry, steps: readonly Step[]): void {
  if (!isRecord(entry)) {
    driver.advanceWallClockTime(entry.advanceWallClock)
    return
  }
  const source = sourceOf(entry.topic, steps)
  driver.input(topic(entry.topic, bytes)).pipe({
    key: bytesOf(entry.key, source.key),
    value: bytesOf(entry.value, source.value),
    timestamp: entry.timestamp,
    headers: (entry.headers ?? []).map(
      ([name, value]) => [name, value === null ? null : Buffer.from(value)] as const,
    ),
  })
}

function sourceOf(name: string, steps: readonly Step[]): Step {
  const source = steps.find(
    ({ op, topic: topics, pattern }) =>
      (sourceOps.has(op) && listOf(topics).includes(name)) ||
      (pattern !== undefined && new RegExp(`^(?:${pattern})$`).test(name)),
  )
  if (source === undefined) throw new InvalidCase(`no step reads the topic ${name}`)
  return source
}

function takeProduced(driver: TopologyTestDriver): ProducedRow[] {
  return driver
    .takeProduced()
    .map((record) => [
      record.topic,
      hex(record.key),
      hex(record.value),
      record.timestamp,
      ...record.headers.map(shownHeader),
    ])
}

function topicsOf(given: Topology): Record<string, Readonly<Record<string, string>>> {
  const topology = withTopicsOfPatterns(given)
  const read = topology.subtopologies.flatMap(({ sources }) =>
    sources.flatMap(({ topics, internal }) => (internal ? [] : topics)),
  )
  const counts = new Map(read.map((name) => [name, 1]))
  const idle = given.subtopologies.filter(({ sources }) => sources.every(isWithoutTopics))
  const topics = internalTopics(topology, applicationId, counts).filter(
    ({ kind, subtopology }) => kind === 'repartition' || !idle.some(({ id }) => id === subtopology),
  )
  return Object.fromEntries(topics.map(({ name, configs }) => [name, configs]))
}

function isWithoutTopics({ topics }: SourceNode): boolean {
  return topics.length === 0
}

/**
 * Kafka Streams names repartition topics, and what is below them, before any topic matches the pattern
 * above; stores beside the pattern itself have no changelog by then.
 */
function withTopicsOfPatterns(topology: Topology): Topology {
  const subtopologies = topology.subtopologies.map((subtopology) => ({
    ...subtopology,
    sources: subtopology.sources.map((source) =>
      !isWithoutTopics(source) ? source : { ...source, topics: [`any of ${source.name}`] },
    ),
  }))
  return { ...topology, subtopologies }
}

function rowsOfStores(
  driver: TopologyTestDriver,
  topology: Topology,
): Record<string, ProducedRow[]> {
  const stores = [
    ...topology.subtopologies.flatMap((subtopology) => subtopology.stores),
    ...topology.globalStores.map(({ store }) => store),
  ]
  return Object.fromEntries(
    stores.map((store) => [store.descriptor.name, storeRows(driver, store)]),
  )
}

function dropped(driver: TopologyTestDriver): number {
  let count = 0
  for (const records of driver.metrics.droppedRecords().values()) count += records
  return count
}
