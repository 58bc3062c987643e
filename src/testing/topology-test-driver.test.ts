import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasRocksdb, rocksdbFrom } from '../../test/peers/rocksdb.ts'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { rocksdbStateEngine } from '../kv/rocksdb-state-engine.ts'
import type { StateEngine } from '../kv/state-engine.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import type { Topology } from '../topology/topology.ts'
import { TopologyTestDriver } from './topology-test-driver.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

const lines = topic('lines', { value: serdes.string })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const store = keyValueStore('store', { key: serdes.string, value: serdes.long })

function wordCount(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(lines)
    .flatMapValues((line) => line.split(' '))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store })
    .toStream()
    .to(counts)
  return builder.build()
}

const numbers = topic('numbers', { key: serdes.string, value: serdes.long })

function failing(): Topology {
  const builder = new StreamsBuilder()
  builder.stream(numbers).forEach((value) => {
    if (value === 13) throw new Error('unlucky')
  })
  return builder.build()
}

const anySerdes = {
  key: serdes.string as Serde<unknown>,
  value: serdes.string as Serde<unknown>,
}

test('words are counted, and everything is seen: output, store, repartition and changelog', () => {
  using driver = new TopologyTestDriver(wordCount(), { applicationId: 'app' })
  driver.input(lines).pipe({ key: null, value: 'to be or not to be', timestamp: 7 })

  expect(driver.output(counts).readAll()).toEqual([
    { key: 'to', value: 1, timestamp: 7 },
    { key: 'be', value: 1, timestamp: 7 },
    { key: 'or', value: 1, timestamp: 7 },
    { key: 'not', value: 1, timestamp: 7 },
    { key: 'to', value: 2, timestamp: 7 },
    { key: 'be', value: 2, timestamp: 7 },
  ])
  expect(driver.store(store).get('to')).toBe(2)
  expect(driver.producedTopicNames).toEqual([
    'app-store-repartition',
    'app-store-changelog',
    'counts',
  ])
  expect(driver.rawOutput('app-store-changelog').read()).toEqual({
    key: Buffer.from('to'),
    value: Buffer.from('0000000000000001', 'hex'),
    timestamp: 7,
  })
  expect(driver.rawOutput('app-store-repartition').size).toBe(6)
})

describe('an output topic', () => {
  test('gives each record once, one by one or all that is left', () => {
    using driver = new TopologyTestDriver(wordCount())
    driver.input(lines).pipe({ key: null, value: 'a b c', timestamp: 1 })
    const output = driver.output(counts)

    expect(output.size).toBe(3)
    expect(output.read()).toEqual({ key: 'a', value: 1, timestamp: 1 })
    expect(driver.output(counts).readKeyValues()).toEqual([
      ['b', 1],
      ['c', 1],
    ])
    expect(output.isEmpty).toBe(true)
    expect(output.read()).toBe(undefined)
    expect(output.readValues()).toEqual([])
  })

  test('shows headers where there are some', () => {
    const builder = new StreamsBuilder()
    const copy = topic('copy', { key: serdes.string, value: serdes.long })
    builder.stream(numbers).to(copy)
    using driver = new TopologyTestDriver(builder.build())
    const headers = [['trace', Buffer.from('x')]] as const
    driver.input(numbers).pipe({ key: 'a', value: 1, timestamp: 1, headers })

    expect(driver.output(copy).readAll()).toEqual([
      { key: 'a', value: 1, timestamp: 1, headers: [['trace', Buffer.from('x')]] },
    ])
  })
})

describe('an input topic', () => {
  test('has a time of its own for records without timestamp', () => {
    using driver = new TopologyTestDriver(wordCount(), { wallClock: 100 })
    const input = driver.input(lines, { advanceTime: 10 })
    input.pipeValue('a')
    input.pipeAll([
      { key: null, value: 'b' },
      { key: null, value: 'c', timestamp: 5 },
    ])
    input.advanceTime(1000)
    input.pipeValue('d')

    const times = driver.output(counts).readAll()
    expect(times.map(({ key, timestamp }) => [key, timestamp])).toEqual([
      ['a', 100],
      ['b', 110],
      ['c', 5],
      ['d', 1120],
    ])
  })

  test('begins at the time that it is told', () => {
    using driver = new TopologyTestDriver(wordCount(), { wallClock: 100 })
    driver.input(lines, { startTime: 7 }).pipeValue('a')

    expect(driver.output(counts).read()?.timestamp).toBe(7)
  })

  test('that no source reads is refused', () => {
    using driver = new TopologyTestDriver(wordCount())

    expect(thrownBy(() => driver.input(counts)).message).toBe(
      'Invalid topology: no source reads counts.',
    )
  })
})

describe('a store', () => {
  test('shows plain values, and what a test puts there is what the program finds', () => {
    using driver = new TopologyTestDriver(wordCount())
    const words = driver.store(store)
    words.put('to', 41)
    expect(words.putIfAbsent('to', 1)).toBe(41)
    expect(words.putIfAbsent('be', 1)).toBe(undefined)
    driver.input(lines).pipeValue('to', 3)

    expect([...words.range()]).toEqual([
      ['be', 1],
      ['to', 42],
    ])
    expect(words.delete('to')).toBe(42)
    expect(words.get('to')).toBe(undefined)
    expect([...words.prefix(Buffer.from('b'))]).toEqual([['be', 1]])
  })

  test('of a table shows timestamps too', () => {
    using driver = new TopologyTestDriver(wordCount())
    driver.input(lines).pipeValue('to', 3)

    expect(driver.timestampedStore(store).get('to')).toEqual({ value: 1, timestamp: 3 })
  })

  test('that the program does not have is refused', () => {
    using driver = new TopologyTestDriver(wordCount())
    const other = keyValueStore('other', { key: serdes.string, value: serdes.long })

    expect(thrownBy(() => driver.store(other)).code).toBe('STORE_UNKNOWN')
  })
})

describe('persistent stores', () => {
  test.runIf(hasRocksdb)('are kept by the engine that is stated', () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'millpond-driver-'))
    try {
      const options = { stateDir, engine: rocksdbStateEngine({ from: rocksdbFrom }) }
      const first = new TopologyTestDriver(wordCount(), options)
      first.input(lines).pipeValue('to be or not to be', 3)
      first.close()

      const other = (): unknown => new TopologyTestDriver(wordCount(), { stateDir })
      expect(other).toThrow(expect.objectContaining({ code: 'STATE_ENGINE_DIFFERS' }))
      using second = new TopologyTestDriver(wordCount(), options)
      expect(second.timestampedStore(store).get('to')).toEqual({ value: 2, timestamp: 3 })
    } finally {
      rmSync(stateDir, { recursive: true })
    }
  })

  test('want an engine that is one', () => {
    const engine = 'rocksdb' as unknown as StateEngine
    expect(() => new TopologyTestDriver(wordCount(), { engine })).toThrow(
      'The option engine is not valid: it must be an engine, such as rocksdb() of millpond/rocksdb, not "rocksdb".',
    )
  })

  test('in a state directory are found again by a later driver', () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'millpond-driver-'))
    try {
      const options = { stateDir, applicationId: 'app' }
      const first = new TopologyTestDriver(wordCount(), options)
      first.input(lines).pipeValue('to be or not to be', 3)
      first.close()

      using second = new TopologyTestDriver(wordCount(), options)
      expect(second.timestampedStore(store).get('to')).toEqual({ value: 2, timestamp: 3 })
      second.input(lines).pipeValue('to', 4)
      expect(second.output(counts).readAll()).toEqual([{ key: 'to', value: 3, timestamp: 4 }])
    } finally {
      rmSync(stateDir, { recursive: true })
    }
  })

  test('without one are new in each driver', () => {
    const first = new TopologyTestDriver(wordCount())
    first.input(lines).pipeValue('to', 3)
    first.close()

    using second = new TopologyTestDriver(wordCount())
    expect(second.store(store).get('to')).toBe(undefined)
  })
})

test('a program that cannot be made fails in the constructor', () => {
  const topology = new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], ...anySerdes })
    .addProcessor(
      'node',
      () => {
        throw new Error('no config')
      },
      ['source'],
    )
    .build()

  expect(thrownBy(() => new TopologyTestDriver(topology)).message).toBe(
    'The step node failed outside of a record: no config.',
  )
})

describe('a failure of the program', () => {
  test('reaches the caller of pipe, with the step and the record', () => {
    using driver = new TopologyTestDriver(failing())
    const input = driver.input(numbers)
    input.pipe({ key: 'a', value: 12, timestamp: 0 })

    expect(thrownBy(() => input.pipe({ key: 'b', value: 13, timestamp: 0 })).message).toBe(
      'The step KSTREAM-FOREACH-0000000001 failed on the record at numbers-0 offset 1: unlucky.',
    )
  })

  test('ends the driver: it throws the failure again', () => {
    using driver = new TopologyTestDriver(failing())
    const input = driver.input(numbers)
    const first = thrownBy(() => input.pipe({ key: 'b', value: 13, timestamp: 0 }))

    expect(thrownBy(() => input.pipe({ key: 'a', value: 1, timestamp: 0 }))).toBe(first)
  })
})

test('a record that cannot be read fails, or is skipped and counted', () => {
  const text = topic('numbers', { key: serdes.string, value: serdes.string })
  using strict = new TopologyTestDriver(failing())
  using lenient = new TopologyTestDriver(failing(), { onDeserializationError: 'continue' })
  const pipe = (driver: TopologyTestDriver): void =>
    driver.input(text).pipe({ key: 'a', value: 'no number', timestamp: 0 })

  expect(thrownBy(() => pipe(strict)).code).toBe('RECORD_UNREADABLE')
  pipe(lenient)
  expect(lenient.metrics.droppedRecords()).toEqual(new Map([['deserialization-error', 1]]))
})

test('a topic that feeds itself is noticed', () => {
  const builder = new StreamsBuilder()
  builder.stream(numbers).to(numbers)
  const driver = new TopologyTestDriver(builder.build(), { recordsPerPipeMax: 100 })

  expect(
    thrownBy(() => driver.input(numbers).pipe({ key: 'a', value: 1, timestamp: 0 })).message,
  ).toBe('Invalid topology: one record set off more than 100 others: a topic feeds itself.')
  driver.close()
})

test('a closed driver does nothing', () => {
  const driver = new TopologyTestDriver(wordCount())
  const input = driver.input(lines)
  driver.close()
  driver.close()

  expect(thrownBy(() => input.pipeValue('a')).code).toBe('CLIENT_CLOSED')
})
