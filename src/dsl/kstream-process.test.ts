import { describe, expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { timestamped } from '../processor/local-store.ts'
import { nullable } from '../serde/nullable.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, windowStore } from '../store/descriptor.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import type { Topology } from '../topology/topology.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic } from './topic.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

const strings = { key: serdes.string, value: serdes.string }
const input = topic('in', strings)
const output = topic('out', { key: serdes.string, value: nullable(serdes.string) })
const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

/** What comes out for one record. */
function outputsOf(topology: Topology, key = 'k', value = 'v'): unknown[] {
  using driver = new TopologyTestDriver(topology)
  driver.input(input).pipe({ key, value, timestamp: 7 })
  return driver.output(output).readAll()
}

describe('process', () => {
  test('forwards any records, with the time and headers that it states', () => {
    const builder = new StreamsBuilder()
    const headers = [['h', Buffer.from('x')]] as const
    builder
      .stream(input)
      .process(
        ({ forward }) =>
          (record) => {
            forward({ ...record, value: 'same time' })
            forward({ key: 'other', value: null, timestamp: 3, headers })
          },
        { key: serdes.string, value: nullable(serdes.string) },
      )
      .to(output)

    expect(outputsOf(builder.build())).toEqual([
      { key: 'k', value: 'same time', timestamp: 7 },
      { key: 'other', value: null, timestamp: 3, headers: [['h', Buffer.from('x')]] },
    ])
  })

  test('sees the record, the task and the clock', () => {
    const seen: unknown[] = []
    const builder = new StreamsBuilder()
    builder.stream(input).process((context) => {
      seen.push(context.applicationId, context.taskId, context.streamTime, context.recordMetadata)
      return (record) => {
        seen.push(record, context.recordMetadata, context.streamTime, context.wallClockTime())
      }
    })
    using driver = new TopologyTestDriver(builder.build(), { applicationId: 'app', wallClock: 99 })
    driver.input(input).pipe({ key: 'k', value: 'v', timestamp: 7 })

    expect(seen).toEqual([
      'app',
      '0_0',
      -1,
      undefined,
      { key: 'k', value: 'v', timestamp: 7, headers: [] },
      { topic: 'in', partition: 0, offset: 0 },
      7,
      99,
    ])
  })

  test('shares a store of one descriptor with another step', () => {
    const builder = new StreamsBuilder()
    const stores = { counts }
    builder.stream(input).process(
      ({ stores: { counts: rows } }) =>
        ({ key }) =>
          rows.put(key, (rows.get(key) ?? 0) + 1),
      { stores },
    )
    builder
      .stream(topic('questions', strings))
      .process(
        ({ stores: { counts: rows }, forward }) =>
          (record) =>
            forward({ ...record, value: String(rows.get(record.key)) }),
        { stores, ...strings },
      )
      .to(output)
    const topology = builder.build()
    using driver = new TopologyTestDriver(topology)
    driver.input(input).pipe({ key: 'a', value: '', timestamp: 0 })
    driver.input(input).pipe({ key: 'a', value: '', timestamp: 0 })
    driver.input(topic('questions', strings)).pipe({ key: 'a', value: '', timestamp: 0 })

    expect(topology.subtopologies).toHaveLength(1)
    expect(driver.output(output).readValues()).toEqual(['2'])
    expect(driver.store(counts).get('a')).toBe(2)
  })

  test('reads the rows of a table, plain or with their timestamps', () => {
    const builder = new StreamsBuilder()
    const rows = keyValueStore('rows', strings)
    builder.table(topic('table', strings), { store: rows })
    builder
      .stream(input)
      .process(
        ({ stores, forward }) =>
          ({ key, timestamp }) => {
            const { value, timestamp: since } = stores.dated.get(key) ?? {}
            forward({ key, value: `${stores.plain.get(key)} ${value} ${since}`, timestamp })
          },
        { stores: { plain: rows, dated: timestamped(rows) }, ...strings },
      )
      .to(output)
    using driver = new TopologyTestDriver(builder.build())
    driver.input(topic('table', strings)).pipe({ key: 'k', value: 'row', timestamp: 4 })
    driver.input(input).pipe({ key: 'k', value: '', timestamp: 9 })

    expect(driver.output(output).readValues()).toEqual(['row row 4'])
  })

  test('keeps what it has read of a row, also when it puts another one', () => {
    const builder = new StreamsBuilder()
    const rows = keyValueStore('rows', { ...strings, caching: true })
    const windows = windowStore('windows', { ...strings, windowSize: 10, retention: 100 })
    builder
      .stream(input)
      .process(
        ({ stores, forward }) =>
          ({ key, timestamp }) => {
            stores.rows.put(key, 'one', 1)
            const row = stores.rows.get(key)
            stores.rows.put(key, 'two', 2)
            stores.windows.put(key, 'one', 1, 0)
            const window = stores.windows.fetch(key, 0)
            stores.windows.put(key, 'two', 2, 0)
            forward({ key, value: JSON.stringify({ row, window }), timestamp })
          },
        { stores: { rows: timestamped(rows), windows: timestamped(windows) }, ...strings },
      )
      .to(output)

    expect(outputsOf(builder.build())).toEqual([
      {
        key: 'k',
        value: '{"row":{"value":"one","timestamp":1},"window":{"value":"one","timestamp":1}}',
        timestamp: 7,
      },
    ])
  })

  test('closes its processor when the task closes, with the right this', () => {
    const closed: string[] = []
    class Noting {
      name = 'noted'
      process(): void {
        closed.push(`${this.name} processes`)
      }
      close(): void {
        closed.push(`${this.name} closes`)
      }
    }
    const builder = new StreamsBuilder()
    builder.stream(input).process(() => new Noting())
    outputsOf(builder.build())

    expect(closed).toEqual(['noted processes', 'noted closes'])
  })

  test('marks the stream for repartitioning, and processValues does not', () => {
    const grouped = (fixed: boolean): string => {
      const builder = new StreamsBuilder()
      const stream = builder.stream(input)
      const processed = fixed
        ? stream.processValues(() => () => {}, { value: serdes.string })
        : stream.process(() => () => {}, strings)
      processed.groupByKey().count({ store: counts })
      return builder.build().describe()
    }

    expect(grouped(false)).toContain('counts-repartition')
    expect(grouped(true)).not.toContain('counts-repartition')
  })
})

describe('processValues', () => {
  test('keeps the key of what it derives', () => {
    const builder = new StreamsBuilder()
    builder
      .stream(input)
      .processValues(
        ({ forward }) =>
          (record) => {
            const { key, value } = record
            forward(record.withValue(`${key}=${value}`).withTimestamp(8))
            forward(record.withHeaders([['h', null]]))
          },
        { value: serdes.string },
      )
      .to(output)

    expect(outputsOf(builder.build())).toEqual([
      { key: 'k', value: 'k=v', timestamp: 8 },
      { key: 'k', value: 'v', timestamp: 7, headers: [['h', null]] },
    ])
  })

  test('refuses a record that was not derived', () => {
    const builder = new StreamsBuilder()
    builder.stream(input).processValues(
      ({ forward }) =>
        (record) =>
          forward(structuredClone(record)),
      {
        name: 'derive',
      },
    )

    expect(thrownBy(() => outputsOf(builder.build())).message).toBe(
      'The step derive failed on the record at in-0 offset 0: processValues forwards only the record that it was given, or one that was derived from it: record.withValue(value).',
    )
  })
})

describe('a mistake of a processor names its step', () => {
  const failing = (
    supplier: Parameters<ReturnType<typeof streamOf>['process']>[0],
    options: object = {},
  ): StreamsError => {
    const builder = new StreamsBuilder()
    streamOf(builder).process(supplier, { name: 'step', ...options })
    return thrownBy(() => outputsOf(builder.build()))
  }
  function streamOf(builder: StreamsBuilder) {
    return builder.stream(input)
  }
  const at = 'The step step failed on the record at in-0 offset 0: '

  test('a promise', async () => {
    const error = failing(() => async () => {
      await Promise.reject(new Error('nobody hears it'))
    })

    expect(error.code).toBe('PROCESSOR_ASYNC')
    expect(error.context).toMatchObject({ node: 'step' })
  })

  test('a store that is not connected', () => {
    const error = failing(({ store }) => {
      store(counts)
      return () => {}
    })

    expect([error.code, error.message]).toEqual([
      'STORE_NOT_CONNECTED',
      'The step step is not connected to the store counts. Name it in the options of the step: { stores: { … } }, or connect them.',
    ])
  })

  test.each([
    [
      'a child that is not there',
      { key: 'k', value: 'v', timestamp: 0 },
      'there is no child nobody, or it is not connected to step',
    ],
    [
      'a negative timestamp',
      { key: 'k', value: 'v', timestamp: -1 },
      'a record cannot have the timestamp -1',
    ],
    [
      'a timestamp that is no whole number',
      { key: 'k', value: 'v', timestamp: 0.5 },
      'a record cannot have the timestamp 0.5',
    ],
  ])('%s', (_what, record, message) => {
    const error = failing(
      ({ forward }) =>
        () =>
          forward(record, { child: 'nobody' }),
    )

    expect(error.message).toBe(`${at}${message}.`)
  })

  test.each([
    ['no list', { h: 'x' }, '{"h":"x"}'],
    ['no pairs', ['h'], '"h"'],
    ['text as a value', [['h', 'x']], '["h","x"]'],
    ['no value', [['h', undefined]], '["h",null]'],
    ['no text as a name', [[1, null]], '[1,null]'],
  ])('headers with %s', (_what, headers, shown) => {
    const message = `${at}headers are a list of pairs, each a name and bytes or null; forward was given ${shown}.`
    const record = { key: 'k', value: 'v', timestamp: 0, headers: headers as never }
    const error = failing(
      ({ forward }) =>
        () =>
          forward(record),
    )
    expect(error.message).toBe(message)
    const builder = new StreamsBuilder()
    streamOf(builder).processValues(
      ({ forward }) =>
        (given) =>
          forward(given.withHeaders(headers as never)),
      { name: 'step' },
    )
    expect(thrownBy(() => outputsOf(builder.build())).message).toBe(message)
  })

  test.each([
    ['a kind of time that there is not', 'event-time', () => undefined, '"event-time"'],
    ['nothing to call', 'stream-time', undefined, 'not undefined'],
  ])('a punctuation with %s', (_what, type, call, shown) => {
    const error = failing(({ schedule }) => {
      schedule(10, type as never, call as never)
      return () => {}
    })
    expect([error.code, error.message]).toEqual([
      'TOPOLOGY_INVALID',
      expect.stringContaining('Invalid topology: a punctuation of step '),
    ])
    expect(error.message).toContain(shown)
  })

  test('a supplier that gives nothing to process with', () => {
    expect(failing((() => undefined) as never).message).toBe(
      'The step step failed outside of a record: the supplier of a processor must return a function, or an object with a method process.',
    )
  })

  test('a supplier that gives the same processor twice', () => {
    const shared = { process: () => undefined }
    const builder = new StreamsBuilder()
    builder.stream(input).process(() => shared, { name: 'step' })
    const topology = builder.build()
    new TopologyTestDriver(topology).close()

    expect(thrownBy(() => new TopologyTestDriver(topology)).message).toBe(
      'The step step failed outside of a record: the supplier must make a new processor for each task, it returned one again.',
    )
  })

  test('two descriptors of one name', () => {
    const builder = new StreamsBuilder()
    const stream = builder.stream(input)
    stream.process(() => () => {}, { stores: { counts } })
    stream.process(() => () => {}, {
      stores: { counts: keyValueStore('counts', { key: serdes.string, value: serdes.long }) },
    })

    expect(thrownBy(() => builder.build()).message).toBe(
      'Invalid topology: there are two descriptors with the name counts; use one for all steps.',
    )
  })

  test('a name in place of a descriptor', () => {
    const builder = new StreamsBuilder()

    expect(
      thrownBy(() =>
        builder.stream(input).process(() => () => {}, { stores: { counts: 'counts' as never } }),
      ).message,
    ).toBe(
      'Invalid topology: the store of the step KSTREAM-PROCESSOR-0000000001 (counts) must be a descriptor, as keyValueStore(name, { key, value }) makes one, not "counts".',
    )
  })
})
