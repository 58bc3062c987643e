/**
 * Scripts of records through the same programs in Kafka Streams and here. The expected records were
 * written by Kafka Streams 4.4.0's TopologyTestDriver (conformance/java/TestDriverScripts.java): every
 * output, changelog and repartition record, in the order in which it was produced, and the final rows
 * of each store.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { StreamsBuilder } from '../../src/dsl/streams-builder.ts'
import { topic } from '../../src/dsl/topic.ts'
import { nullable } from '../../src/serde/nullable.ts'
import type { Serde } from '../../src/serde/serde.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { keyValueStore, type KeyValueStoreDescriptor } from '../../src/store/descriptor.ts'
import type { KeyValueStore, TimestampedKeyValueStore } from '../../src/store/key-value-store.ts'
import { TopologyTestDriver } from '../../src/testing/topology-test-driver.ts'
import type { NodeSupplier } from '../../src/processor/processor.ts'
import type { StoreNode } from '../../src/topology/node.ts'
import { TopologyBuilder } from '../../src/topology/topology-builder.ts'
import type { Topology } from '../../src/topology/topology.ts'

/** Topic, key and value in hexadecimal, timestamp, then `name=hex` of each header. */
type ProducedRow = [topic: string, key: string | null, value: string | null, timestamp: number]

interface Step {
  advance?: number
  topic: string
  key: string | null
  value: string | null
  timestamp: number
  headers?: Record<string, string>
  produced: ProducedRow[]
}

interface Script {
  name: string
  program: string
  caching: boolean
  cacheBytes: number
  steps: Step[]
  /** Key, value and, in stores that keep it, timestamp. */
  stores: Record<string, unknown[][]>
}

const scripts = readFileSync(new URL('test-driver-scripts.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Script)

const strings = { key: nullable(serdes.string), value: nullable(serdes.string) }
const lines = topic('lines', strings)
const input = topic('in', strings)
const out = topic('out', strings)
const stringRows = { key: serdes.string, value: serdes.string }
const anyStrings = stringRows as { key: Serde<unknown>; value: Serde<unknown> }
const countRows = { key: serdes.string, value: serdes.long }
const counted = (name: string) => topic(name, countRows)

type AnyDescriptor = KeyValueStoreDescriptor<unknown, unknown>

const stores = (caching: boolean) => ({
  counts: keyValueStore('counts', { ...countRows, caching }),
  reduced: keyValueStore('reduced', { ...stringRows, caching }),
  aggregated: keyValueStore('aggregated', { ...stringRows, caching }),
  table: keyValueStore('table', { ...stringRows, caching }),
  first: keyValueStore('first', { ...countRows, caching }),
  second: keyValueStore('second', { ...countRows, caching }),
  words: keyValueStore('words', { ...stringRows, caching }),
  'by-word': keyValueStore('by-word', { ...countRows, caching }),
  'by-length': keyValueStore('by-length', { ...stringRows, caching }),
})

const words = (line: string | null): string[] =>
  line === null ? [] : line.split(' ').filter((word) => word !== '')

/** The programs of TestDriverScripts.java, under the same names. */
const programs: Record<string, (store: ReturnType<typeof stores>) => Topology> = {
  'word-count': (store) => {
    const builder = new StreamsBuilder()
    builder
      .stream(lines)
      .flatMapValues(words)
      .groupBy((word) => word, stringRows)
      .count({ store: store.counts })
      .toStream()
      .to(counted('word-counts'))
    return builder.build()
  },
  'count-by-key': (store) => {
    const builder = new StreamsBuilder()
    builder
      .stream(lines)
      .flatMapValues(words)
      .groupByKey(stringRows)
      .count({ store: store.counts })
      .toStream()
      .to(counted('counts-by-key'))
    return builder.build()
  },
  reduce: (store) => {
    const builder = new StreamsBuilder()
    builder
      .stream(input)
      .groupByKey()
      .reduce((a, b) => (b === 'drop' ? null : `${a}+${b}`), { store: store.reduced })
      .toStream()
      .to(out)
    return builder.build()
  },
  aggregate: (store) => {
    const builder = new StreamsBuilder()
    builder
      .stream(input)
      .groupByKey()
      .aggregate(
        () => '0',
        (aggregate, value, key) => (value === 'drop' ? null : `${aggregate},${key}${value}`),
        { store: store.aggregated },
      )
      .toStream()
      .to(out)
    return builder.build()
  },
  'to-table': (store) => {
    const builder = new StreamsBuilder()
    builder.stream(input).toTable({ store: store.table }).toStream().to(out)
    return builder.build()
  },
  'select-key-to-table': (store) => {
    const builder = new StreamsBuilder()
    builder
      .stream(input)
      .selectKey((value, key) => (value === null ? key : value.slice(0, 1)), { key: strings.key })
      .toTable({ store: store.table })
      .toStream()
      .to(out)
    return builder.build()
  },
  'count-of-counts': (store) => {
    const builder = new StreamsBuilder()
    builder
      .stream(lines)
      .flatMapValues(words)
      .groupByKey(stringRows)
      .count({ store: store.first })
      .toStream()
      .groupBy((count) => `n${count % 3}`, countRows)
      .count({ store: store.second })
      .toStream()
      .to(counted('out'))
    return builder.build()
  },
  'two-stores': (store) => {
    const builder = new StreamsBuilder()
    const stream = builder.stream(lines)
    stream.to(topic('copy', strings))
    stream
      .flatMapValues(words)
      .groupByKey(stringRows)
      .count({ store: store.first })
      .toStream()
      .groupByKey(countRows)
      .reduce((a, b) => a + b, { store: store.second })
      .toStream()
      .to(counted('out'))
    stream
      .mapValues((value) => value?.toUpperCase() ?? null)
      .filter((_value, key) => key !== null)
      .to(topic('upper', strings))
    return builder.build()
  },
  'merge-two-ways': (store) => {
    const builder = new StreamsBuilder()
    const both = builder
      .stream(topic('left', strings))
      .merge(builder.stream(topic('right', strings)))
    both
      .flatMap((value, key) => words(value).map((word) => [word, key] as const))
      .groupByKey({ key: serdes.string, value: strings.value })
      .count({ store: store['by-word'] })
      .toStream()
      .to(counted('by-word-out'))
    both
      .filterNot((value) => value === null)
      .map((value): [string, string] => [`l${value?.length}`, value ?? ''])
      .groupByKey(stringRows)
      .reduce((_a, b) => b, { store: store['by-length'] })
      .toStream()
      .to(topic('by-length-out', stringRows))
    return builder.build()
  },
  'timestamped-store': ({ words: store }) =>
    storeOfWords({ descriptor: store, timestamped: true }, (context) => {
      const rows = context.store('words') as TimestampedKeyValueStore<string, string>
      return {
        process(key, line) {
          for (const word of words(line as string | null)) {
            const before = rows.get(word)?.value ?? ''
            if (word === 'drop') rows.put('be', undefined, context.timestamp)
            else rows.put(word, `${before}${String(key)}`, context.timestamp)
          }
        },
      }
    }),
  'plain-store': ({ words: store }) =>
    storeOfWords({ descriptor: store, timestamped: false }, (context) => {
      const rows = context.store('words') as KeyValueStore<string, string>
      return {
        process(key, line) {
          for (const word of words(line as string | null)) {
            if (word === 'drop') rows.delete('be')
            else if (word === 'not') rows.putIfAbsent(word, String(key))
            else rows.put(word, `${rows.get(word) ?? 'null'}${String(key)}`)
          }
        },
      }
    }),
  punctuation: () =>
    new TopologyBuilder()
      .addSource('source', { topics: ['in'], ...anyStrings })
      .addProcessor(
        'punctuate',
        (context) => {
          const tell = (kind: string) => (time: number) =>
            context.forwardAt(kind, `at ${time} stream time ${context.streamTime}`, time)
          context.schedule(10, 'stream-time', tell('stream'))
          context.schedule(7, 'wall-clock-time', tell('wall'))
          return {
            process: (key, value) =>
              context.forward(key, `${String(value)} stream time ${context.streamTime}`),
          }
        },
        ['source'],
      )
      .addSink('sink', { topic: 'out', ...anyStrings }, ['punctuate'])
      .build(),
}

function storeOfWords(store: StoreNode, supplier: NodeSupplier): Topology {
  return new TopologyBuilder()
    .addSource('source', { topics: ['lines'], ...anyStrings })
    .addProcessor('node', supplier, ['source'])
    .addStore(store, ['node'])
    .build()
}

describe('records are produced as Kafka Streams produces them, in the same order', () => {
  test.each(scripts)('$name', (script) => {
    const store = stores(script.caching)
    const topology = programs[script.program]?.(store)
    if (topology === undefined) throw new Error(`there is no program ${script.program}`)
    using driver = new TopologyTestDriver(topology, {
      applicationId: 'conformance',
      cacheBytes: script.cacheBytes,
      wallClock: 1000,
    })
    for (const [index, step] of script.steps.entries()) {
      perform(driver, step)
      expect({ index, produced: produced(driver) }).toEqual({ index, produced: step.produced })
    }
    for (const [name, rows] of Object.entries(script.stores)) {
      const descriptor = store[name as keyof typeof store] as AnyDescriptor
      const actual =
        script.program === 'plain-store'
          ? [...driver.store(descriptor).range()]
          : timestampedRows(driver, descriptor)
      expect({ name, rows: actual }).toEqual({ name, rows })
    }
  })
})

function perform(driver: TopologyTestDriver, step: Step): void {
  if (step.advance !== undefined) {
    driver.advanceWallClockTime(step.advance)
    return
  }
  const { key, value, timestamp } = step
  const headers = Object.entries(step.headers ?? {}).map(
    ([name, text]) => [name, Buffer.from(text)] as const,
  )
  driver.input(topic(step.topic, strings)).pipe({ key, value, timestamp, headers })
}

function produced(driver: TopologyTestDriver): unknown[][] {
  const hex = (bytes: Buffer | null): string | null => bytes?.toString('hex') ?? null
  return driver
    .takeProduced()
    .map(({ topic: name, key, value, timestamp, headers }) => [
      name,
      hex(key),
      hex(value),
      timestamp,
      ...headers.map(([header, bytes]) => `${header}=${hex(bytes)}`),
    ])
}

function timestampedRows(driver: TopologyTestDriver, store: AnyDescriptor): unknown[][] {
  const rows: unknown[][] = []
  for (const [key, { value, timestamp }] of driver.timestampedStore(store).range()) {
    rows.push([key, value, timestamp])
  }
  return rows
}
