import { describe, expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import type {
  DeadLetterRecord,
  ErrorHandling,
  ProcessingErrorContext,
  ProductionErrorContext,
} from '../error-handlers.ts'
import { StreamsError } from '../errors.ts'
import { nullable } from '../serde/nullable.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { Topology } from '../topology/topology.ts'
import { TopologyTestDriver } from './topology-test-driver.ts'

const bytes = { key: nullable(serdes.bytes), value: nullable(serdes.bytes) }
const input = topic('in', { key: nullable(serdes.string), value: nullable(serdes.string) })
const output = topic('out', { key: nullable(serdes.string), value: nullable(serdes.string) })

/** Text, but it neither reads nor writes `bad`. */
const picky: Serde<string> = {
  name: 'picky',
  serialize(text) {
    if (text === 'bad') throw new RangeError('it is bad to write')
    return serdes.string.serialize(text)
  },
  deserialize(given) {
    const text = serdes.string.deserialize(given)
    if (text === 'bad') throw new RangeError('it is bad to read')
    return text
  },
}

function build(program: (builder: StreamsBuilder) => void): Topology {
  const builder = new StreamsBuilder()
  program(builder)
  return builder.build()
}

const readsPicky = build((builder) => {
  builder.stream(topic('in', { key: serdes.string, value: picky })).to(output)
})

/** Its step fails on `bad`. */
const fails = build((builder) => {
  builder
    .stream(input)
    .mapValues((value) => {
      if (value === 'bad') throw new TypeError('it is bad')
      return value
    })
    .to(output)
})

const writesPicky = build((builder) => {
  builder.stream(input).to(topic('out', { key: nullable(picky), value: nullable(picky) }))
})

const tick = build((builder) => {
  builder
    .stream(input)
    .process((context) => {
      context.schedule(10, 'wall-clock-time', (time) => {
        throw new TypeError(`bad time ${time}`)
      })
      return () => undefined
    })
    .to(output as never)
})

/** Pipes `bad` with a header, then `good`; gives the error that came, if one did. */
function run(topology: Topology, handling: ErrorHandling) {
  const driver = new TopologyTestDriver(topology, handling)
  const pipe = (value: string, timestamp: number): void => {
    const headers = [['h', Buffer.from('x')]] as const
    driver.input(input).pipe({ key: 'k', value, timestamp, headers })
  }
  let error: unknown
  try {
    pipe('good', 1)
    pipe('bad', 2)
    pipe('fine', 3)
  } catch (thrown) {
    error = thrown
  }
  return { driver, error, values: () => driver.output(output).readValues() }
}

/** Keeps what a handler is told. */
function spy<C, A>(answer: A) {
  const asked: { context: C; error: unknown }[] = []
  const handler = (context: C, error: unknown): A => {
    asked.push({ context, error })
    return answer
  }
  return { asked, handler }
}

/** Names and values of headers, as text. */
function headersOf(letter: { headers?: DeadLetterRecord['headers'] } | undefined) {
  return letter?.headers?.map(([name, value]) => [name, value === null ? null : String(value)])
}

const key = Buffer.from('k')
const bad = Buffer.from('bad')

describe('a record that cannot be read', () => {
  const where = { taskId: '0_0', node: 'KSTREAM-SOURCE-0000000000', topic: 'in', partition: 0 }
  const seen = { ...where, offset: 1, timestamp: 2, headers: [['h', Buffer.from('x')]] }

  test('fails without a handler', () => {
    const { error, values } = run(readsPicky, {})
    expect(error).toMatchObject({
      code: 'RECORD_UNREADABLE',
      context: { task: '0_0', node: where.node, topic: 'in', partition: 0, offset: 1 },
      cause: new RangeError('it is bad to read'),
    })
    expect(values()).toEqual(['good'])
  })

  test('is what a handler is told of', () => {
    const { asked, handler } = spy('continue' as const)
    const { error, values, driver } = run(readsPicky, { onDeserializationError: handler })
    expect(error).toBe(undefined)
    expect(values()).toEqual(['good', 'fine'])
    expect(asked).toEqual([
      {
        context: { ...seen, sourceRawKey: key, sourceRawValue: bad },
        error: new RangeError('it is bad to read'),
      },
    ])
    expect(driver.metrics.droppedRecords()).toEqual(new Map([['deserialization-error', 1]]))
  })

  test('fails when the handler says so', () => {
    const { error } = run(readsPicky, { onDeserializationError: () => 'fail' })
    expect(error).toMatchObject({ code: 'RECORD_UNREADABLE' })
  })

  test('may leave letters of the handler alone', () => {
    const letter = { topic: 'mine', key: null, value: bad, timestamp: 9, headers: [] }
    const { driver } = run(readsPicky, {
      onDeserializationError: () => ({ result: 'continue', deadLetterRecords: [letter] }),
      deadLetterQueueTopic: 'dead',
    })
    expect(driver.producedTopicNames).toEqual(['out', 'mine'])
    expect(driver.rawOutput('mine').readAll()).toEqual([{ key: null, value: bad, timestamp: 9 }])
  })

  test('of a global table is passed over as others are', () => {
    const rows = topic('rows', { key: serdes.string, value: picky })
    const topology = build((builder) => {
      builder.globalTable(rows, { store: 'rows' })
    })
    const { asked, handler } = spy('continue' as const)
    using driver = new TopologyTestDriver(topology, { onDeserializationError: handler })
    driver.input(topic('rows', bytes)).pipe({ key, value: bad, timestamp: 1 })
    driver.input(topic('rows', bytes)).pipe({ key, value: key, timestamp: 2 })
    expect(driver.store(keyValueStore('rows', rows)).get('k')).toBe('k')
    expect(asked).toMatchObject([{ context: { taskId: '-1_-1', topic: 'rows', offset: 0 } }])
  })
})

describe('a dead letter', () => {
  test('has the bytes, the time and the headers of its record, and tells what was wrong', () => {
    const { driver } = run(fails, { onProcessingError: 'continue', deadLetterQueueTopic: 'dead' })
    const [letter, ...others] = driver.rawOutput('dead').readAll()
    expect(others).toEqual([])
    expect(letter).toMatchObject({ key, value: bad, timestamp: 2 })
    expect(headersOf(letter)).toEqual([
      ['h', 'x'],
      ['__streams.errors.exception', 'TypeError'],
      ['__streams.errors.message', 'it is bad'],
      ['__streams.errors.stacktrace', expect.stringMatching(/^TypeError: it is bad\n {4}at /)],
      ['__streams.errors.topic', 'in'],
      ['__streams.errors.partition', '0'],
      ['__streams.errors.offset', '1'],
    ])
  })

  test('tells the code of an error of ours, and all causes', () => {
    const topology = build((builder) => {
      builder
        .stream(input)
        .mapValues((value) => {
          if (value !== 'bad') return value
          const cause = new Error('below', { cause: 'at the bottom' })
          throw new StreamsError('TOPOLOGY_INVALID', { detail: 'above' }, { cause })
        })
        .to(output)
    })
    const { driver } = run(topology, {
      onProcessingError: 'continue',
      deadLetterQueueTopic: 'dead',
    })
    const headers = new Map(driver.rawOutput('dead').read()?.headers)
    expect(String(headers.get('__streams.errors.exception'))).toBe('StreamsError.TOPOLOGY_INVALID')
    expect(String(headers.get('__streams.errors.stacktrace'))).toMatch(
      /^StreamsError: .*above[^]*\nCaused by: Error: below\n[^]*\nCaused by: at the bottom$/,
    )
  })

  test('of what is no Error tells its type', () => {
    const topology = build((builder) => {
      builder.stream(input).forEach((value) => {
        // oxlint-disable-next-line typescript/only-throw-error -- programs may
        throw value
      })
    })
    const { driver } = run(topology, {
      onProcessingError: 'continue',
      deadLetterQueueTopic: 'dead',
    })
    expect(headersOf(driver.rawOutput('dead').read())).toEqual([
      ['h', 'x'],
      ['__streams.errors.exception', 'string'],
      ['__streams.errors.message', 'good'],
      ['__streams.errors.stacktrace', 'good'],
      ['__streams.errors.topic', 'in'],
      ['__streams.errors.partition', '0'],
      ['__streams.errors.offset', '0'],
    ])
  })

  test('of a punctuation has no record', () => {
    using driver = new TopologyTestDriver(tick, {
      onProcessingError: 'continue',
      deadLetterQueueTopic: 'dead',
    })
    driver.advanceWallClockTime(10)
    const letter = driver.rawOutput('dead').read()
    expect(letter).toMatchObject({ key: null, value: null, timestamp: 10 })
    expect(headersOf(letter)).toEqual([
      ['__streams.errors.exception', 'TypeError'],
      ['__streams.errors.message', 'bad time 10'],
      ['__streams.errors.stacktrace', expect.stringContaining('TypeError: bad time 10')],
      ['__streams.errors.topic', null],
      ['__streams.errors.partition', '-1'],
      ['__streams.errors.offset', '-1'],
    ])
  })

  test('is written also when the program fails', () => {
    const { driver, error } = run(fails, { deadLetterQueueTopic: 'dead' })
    expect(error).toMatchObject({ code: 'PROCESSING_FAILED' })
    expect(driver.rawOutput('dead').readAll()).toMatchObject([{ key, value: bad, timestamp: 2 }])
  })

  test('keeps the bytes of the record after it led to writes, also in a cache', () => {
    const topology = build((builder) => {
      const table = builder.table(input, { store: 'rows' })
      table.toStream().forEach((value) => {
        if (value === 'bad') throw new TypeError('it is bad')
      })
    })
    const { driver } = run(topology, {
      onProcessingError: 'continue',
      deadLetterQueueTopic: 'dead',
    })
    expect(driver.rawOutput('dead').readAll()).toMatchObject([{ key, value: bad, timestamp: 2 }])
  })
})

describe('a step that fails', () => {
  test('fails the program without a handler, with its name and the record', () => {
    const { error, values } = run(fails, {})
    expect(error).toMatchObject({
      code: 'PROCESSING_FAILED',
      message: expect.stringContaining('it is bad') as string,
      context: {
        node: 'KSTREAM-MAPVALUES-0000000001',
        task: '0_0',
        topic: 'in',
        partition: 0,
        offset: 1,
      },
    })
    expect(values()).toEqual(['good'])
  })

  test('is what a handler is told of', () => {
    const { asked, handler } = spy<ProcessingErrorContext, 'continue'>('continue')
    const { values, driver } = run(fails, { onProcessingError: handler })
    expect(values()).toEqual(['good', 'fine'])
    expect(asked).toEqual([
      {
        context: {
          taskId: '0_0',
          node: 'KSTREAM-MAPVALUES-0000000001',
          topic: 'in',
          partition: 0,
          offset: 1,
          timestamp: 2,
          headers: [['h', Buffer.from('x')]],
          sourceRawKey: key,
          sourceRawValue: bad,
          record: { key: 'k', value: 'bad' },
        },
        error: new TypeError('it is bad'),
      },
    ])
    expect(driver.metrics.droppedRecords()).toEqual(new Map([['processing-error', 1]]))
  })

  test('is not told of once it was decided on, by steps above', () => {
    const topology = build((builder) => {
      builder
        .stream(input)
        .mapValues((value) => value)
        .forEach((value) => {
          if (value === 'bad') throw new TypeError('it is bad')
        })
    })
    const { asked, handler } = spy<ProcessingErrorContext, 'fail'>('fail')
    const { error } = run(topology, { onProcessingError: handler })
    expect(error).toMatchObject({ context: { node: 'KSTREAM-FOREACH-0000000002' } })
    expect(asked.map(({ context }) => context.node)).toEqual(['KSTREAM-FOREACH-0000000002'])
  })

  test('in a punctuation has no record', () => {
    const { asked, handler } = spy<ProcessingErrorContext, 'continue'>('continue')
    using driver = new TopologyTestDriver(tick, { onProcessingError: handler })
    driver.advanceWallClockTime(10)
    expect(asked).toEqual([
      {
        context: {
          taskId: '0_0',
          node: 'KSTREAM-PROCESSOR-0000000001',
          topic: undefined,
          partition: -1,
          offset: -1,
          timestamp: 10,
          headers: [],
          sourceRawKey: null,
          sourceRawValue: null,
          record: undefined,
        },
        error: new TypeError('bad time 10'),
      },
    ])
  })

  test('may be one that answers later', async () => {
    const topology = build((builder) => {
      builder
        .stream(input)
        .mapValuesAsync((value) =>
          value === 'bad' ? Promise.reject(new TypeError('it is bad')) : Promise.resolve(value),
        )
        .to(output)
    })
    const { asked, handler } = spy<ProcessingErrorContext, 'continue'>('continue')
    const { driver, values } = run(topology, { onProcessingError: handler })
    await driver.settled()
    expect(values()).toEqual(['good', 'fine'])
    expect(asked).toMatchObject([
      {
        context: { offset: 1, sourceRawValue: bad, record: { key: 'k', value: 'bad' } },
        error: new TypeError('it is bad'),
      },
    ])
  })

  test('may be the put of a value that a cached store cannot write', () => {
    const store = keyValueStore('rows', { key: serdes.string, value: picky })
    const topology = build((builder) => {
      builder.table(input, { store }).toStream().to(output)
    })
    const { asked, handler } = spy<ProcessingErrorContext, 'continue'>('continue')
    const { driver, values } = run(topology, { onProcessingError: handler })
    expect(values()).toEqual(['good', 'fine'])
    expect(asked).toMatchObject([
      {
        context: {
          node: 'KTABLE-SOURCE-0000000001',
          offset: 1,
          sourceRawValue: bad,
          record: { key: 'k', value: 'bad' },
        },
        error: { code: 'SERDE_FAILED' },
      },
    ])
    expect(driver.store(store).get('k')).toBe('fine')
  })
})

describe('a record that cannot be written', () => {
  test('fails without a handler, with the sink and the record', () => {
    const { error } = run(writesPicky, {})
    expect(error).toMatchObject({
      code: 'RECORD_UNWRITABLE',
      context: {
        node: 'KSTREAM-SINK-0000000001',
        task: '0_0',
        topic: 'in',
        partition: 0,
        offset: 1,
        sink: 'out',
        origin: 'value',
      },
      cause: new RangeError('it is bad to write'),
    })
  })

  test('is what a handler is told of', () => {
    const { asked, handler } = spy<ProductionErrorContext, 'continue'>('continue')
    const { driver, values } = run(writesPicky, { onProductionError: handler })
    expect(values()).toEqual(['good', 'fine'])
    const headers = [['h', Buffer.from('x')]]
    expect(asked).toEqual([
      {
        context: {
          taskId: '0_0',
          node: 'KSTREAM-SINK-0000000001',
          topic: 'in',
          partition: 0,
          offset: 1,
          timestamp: 2,
          headers,
          sourceRawKey: key,
          sourceRawValue: bad,
          origin: 'value',
          record: { topic: 'out', key: 'k', value: 'bad', timestamp: 2, headers },
        },
        error: new RangeError('it is bad to write'),
      },
    ])
    expect(driver.metrics.droppedRecords()).toEqual(new Map([['production-error', 1]]))
  })

  test('cannot be written at a second try either', () => {
    const { error } = run(writesPicky, { onProductionError: () => 'retry' })
    expect(error).toMatchObject({ code: 'RECORD_UNWRITABLE' })
  })

  test('is told of by its key', () => {
    const { asked, handler } = spy<ProductionErrorContext, 'continue'>('continue')
    using driver = new TopologyTestDriver(writesPicky, { onProductionError: handler })
    driver.input(input).pipe({ key: 'bad', value: 'bad', timestamp: 1 })
    expect(asked).toMatchObject([{ context: { origin: 'key' } }])
  })
})

describe('a handler that fails', () => {
  const throws = (): never => {
    throw new Error('my fault')
  }
  const answers: [string, ErrorHandling, string][] = [
    ['throws', { onProcessingError: throws }, 'my fault'],
    ['answers nothing', { onProcessingError: (() => undefined) as never }, 'it answered undefined'],
    ['answers nonsense', { onProcessingError: (() => 'go on') as never }, 'it answered "go on"'],
    [
      'answers later',
      { onProcessingError: (async () => 'continue') as never },
      'it answered a promise',
    ],
    ['would try again', { onProcessingError: (() => 'retry') as never }, 'it answered "retry"'],
    [
      'has letters without a topic',
      { onProcessingError: (() => ({ result: 'continue', deadLetterRecords: [{}] })) as never },
      'its dead letter {} needs a topic',
    ],
  ]
  for (const [name, handling, detail] of answers) {
    test(`is fatal: it ${name}`, () => {
      const { error, values } = run(fails, handling)
      expect(error).toMatchObject({
        code: 'HANDLER_FAILED',
        message: expect.stringContaining(detail) as string,
        context: {
          handler: 'onProcessingError',
          node: 'KSTREAM-MAPVALUES-0000000001',
          topic: 'in',
          partition: 0,
          offset: 1,
        },
      })
      expect((error as Error).message).toContain('it is bad')
      expect(values()).toEqual(['good'])
    })
  }
})
