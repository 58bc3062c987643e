import { describe, expect, test } from 'vitest'
import { nullable } from '../serde/nullable.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import type { KTable } from './ktable.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic } from './topic.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

const text = nullable(serdes.string)
const strings = { key: serdes.string, value: serdes.string }
const left = topic('left', { key: serdes.string, value: text })
const right = topic('right', { key: serdes.string, value: text })
const out = topic('out', { key: serdes.string, value: text })
const pair = (one: string, other: string | undefined): string => `${one}-${other}`
const firstLetter = (value: string): string => value.charAt(0)

type Rows = KTable<string, string>

/** A program with a table on each side. */
function driverOf(write: (one: Rows, other: Rows) => Rows): TopologyTestDriver {
  const builder = new StreamsBuilder()
  write(builder.table(left), builder.table(right)).toStream().to(out)
  return new TopologyTestDriver(builder.build(), { applicationId: 'app' })
}

describe('joins of tables', () => {
  test('give the joiner the key', () => {
    using driver = driverOf((one, other) =>
      one.join(other, (value, otherValue, key) => `${key}:${value}-${otherValue}`),
    )
    driver.input(left).pipe({ key: 'k', value: 'l', timestamp: 1 })
    driver.input(right).pipe({ key: 'k', value: 'r', timestamp: 2 })

    expect(driver.output(out).readValues()).toEqual(['k:l-r'])
  })

  test('by foreign keys give the joiner the key of the left row', () => {
    using driver = driverOf((one, other) =>
      one.join(other, (value, otherValue, key) => `${key}:${value}-${otherValue}`, {
        foreignKey: firstLetter,
      }),
    )
    driver.input(right).pipe({ key: 'x', value: 'r', timestamp: 1 })
    driver.input(left).pipe({ key: 'k', value: 'x1', timestamp: 2 })

    expect(driver.output(out).readValues()).toEqual(['k:x1-r'])
  })

  test.each<[string, (one: Rows, other: Rows, foreign: Rows) => unknown]>([
    ['a table of another program', (one, _other, foreign) => one.join(foreign, pair)],
    ['what is no table', (one) => one.leftJoin({} as Rows, pair)],
    ['no joiner', (one, other) => one.outerJoin(other, 5 as never)],
    [
      'a foreign key that is no function',
      (one, other) => one.join(other, pair, { foreignKey: 'id' as never }),
    ],
    [
      'a partitioner that is no function',
      (one, other) =>
        one.join(other, pair, { foreignKey: firstLetter, otherPartitioner: 1 as never }),
    ],
    ['a name that is not allowed', (one, other) => one.join(other, pair, { name: 'a b' })],
    ['options that are none', (one, other) => one.join(other, pair, 'name' as never)],
    ['options that are none, too', (one, other) => one.outerJoin(other, () => '', 5 as never)],
  ])('refuse %s', (_what, write) => {
    const builder = new StreamsBuilder()
    const foreign = new StreamsBuilder().table(right)
    const failure = thrownBy(() => write(builder.table(left), builder.table(right), foreign))

    expect(failure.code).toBe('TOPOLOGY_INVALID')
  })

  test('by foreign keys say which serde is missing', () => {
    const builder = new StreamsBuilder()
    const other = builder.table(right).mapValues((value) => value.length)
    builder.table(left).join(other, (value) => value, { foreignKey: firstLetter })
    const failure = thrownBy(() => builder.build())

    expect(failure.code).toBe('SERDE_MISSING')
    expect(failure.message).toContain('the right table of join')
  })
})

describe('a join by foreign keys', () => {
  const registration = 'app-joining-subscription-registration-topic'
  const responses = 'app-joining-subscription-response-topic'
  const named = { foreignKey: firstLetter, name: 'joining' }
  const bytes = nullable(serdes.bytes)
  const raw = (name: string) => topic(name, { key: bytes, value: bytes })
  const hex = (given: Uint8Array | null): string | undefined =>
    given === null ? undefined : Buffer.from(given).toString('hex')

  test('answers and keeps subscriptions of version 0, which do not say where the row is', () => {
    using driver = driverOf((one, other) => one.leftJoin(other, pair, named))
    driver.input(right).pipe({ key: 'x', value: 'r', timestamp: 1 })
    // Version 0 without a hash: of a row that is not there (any more).
    const value = Buffer.from('8002706b', 'hex')
    driver.input(raw(registration)).pipe({ key: Buffer.from('x'), value, timestamp: 5 })

    const [answer] = driver.rawOutput(responses).readAll()
    expect(hex(answer?.key ?? null)).toBe(hex(Buffer.from('pk')))
    expect(hex(answer?.value ?? null)).toBe(`80${hex(Buffer.from('r'))}`)
    const changelog = driver.rawOutput('app-joining-subscription-store-changelog').readAll()
    expect(changelog.map((record) => hex(record.value))).toEqual(['8002706b'])
    // The row is gone on both sides: the answer fits, and so the result is gone.
    expect(driver.output(out).readAll()).toMatchObject([{ key: 'pk', value: null }])
  })

  test('drops answers to rows that have changed meanwhile', () => {
    using driver = driverOf((one, other) => one.join(other, pair, named))
    driver.input(left).pipe({ key: 'k', value: 'x1', timestamp: 1 })
    const answer = Buffer.from(`00${'00'.repeat(16)}72`, 'hex')
    driver.input(raw(responses)).pipe({ key: Buffer.from('k'), value: answer, timestamp: 2 })

    expect(driver.output(out).readAll()).toEqual([])
    expect(driver.metrics.droppedRecords().get('stale-response')).toBe(1)
  })

  test.each([
    ['subscription', registration],
    ['response', responses],
  ])('fails on a record without a value in its %s topic', (what, name) => {
    using driver = driverOf((one, other) => one.join(other, pair, named))
    const failure = thrownBy(() =>
      driver.input(raw(name)).pipe({ key: Buffer.from('k'), value: null, timestamp: 0 }),
    )

    expect(failure.code).toBe('PROCESSING_FAILED')
    expect(failure.message).toContain(`The ${what} topic of`)
  })

  test('asks the partitioners that it is given, without a value', () => {
    const asked: unknown[] = []
    using driver = driverOf((one, other) =>
      one.join(other, pair, {
        ...named,
        partitioner: (name, key, value) => {
          asked.push([name, key, value])
          return 0
        },
        otherPartitioner: (name, key, value) => {
          asked.push([name, key, value])
          return 0
        },
      }),
    )
    driver.input(right).pipe({ key: 'x', value: 'r', timestamp: 1 })
    driver.input(left).pipe({ key: 'k', value: 'x1', timestamp: 2 })

    expect(asked).toEqual([
      [registration, 'x', null],
      [responses, 'k', null],
    ])
  })
})

describe('a grouped table', () => {
  test('treats keys that are equal objects as one', () => {
    const rows = topic('rows', { key: serdes.string, value: nullable(serdes.string) })
    const keyed = serdes.json<{ letter: string }>()
    const counts = keyValueStore('counts', { key: keyed, value: serdes.long, caching: false })
    const builder = new StreamsBuilder()
    builder
      .table(rows)
      .groupBy((value) => [{ letter: firstLetter(value) }, value], {
        key: keyed,
        value: serdes.string,
      })
      .count({ store: counts })
    using driver = new TopologyTestDriver(builder.build(), { applicationId: 'app' })
    driver.input(rows).pipe({ key: 'k', value: 'a1', timestamp: 1 })
    driver.input(rows).pipe({ key: 'k', value: 'a2', timestamp: 2 })

    // One change with both values, and so no moment in which the group is empty.
    const changes = driver.rawOutput('app-counts-repartition').readAll()
    expect(changes.map(({ value }) => value?.at(-1))).toEqual([1, 2])
    expect([...driver.store(counts).range()]).toEqual([[{ letter: 'a' }, 1]])
  })

  test('leaves out rows for which the selector gives null', () => {
    const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
    const builder = new StreamsBuilder()
    builder
      .table(left)
      .groupBy((value) => (value === '' ? null : [firstLetter(value), value]), strings)
      .count({ store: counts })
    using driver = new TopologyTestDriver(builder.build())
    driver.input(left).pipe({ key: 'k', value: 'a', timestamp: 1 })
    driver.input(left).pipe({ key: 'l', value: '', timestamp: 2 })
    driver.input(left).pipe({ key: 'k', value: '', timestamp: 3 })

    expect([...driver.store(counts).range()]).toEqual([['a', 0]])
  })

  test.each([
    ['no pair', () => 5 as never, 'must give pairs'],
    ['half a pair', () => ['a'] as never, 'it gave an array of 1'],
  ])('says what is wrong with a selector that gives %s', (_what, selector, message) => {
    const builder = new StreamsBuilder()
    builder.table(left).groupBy(selector, strings).count()
    using driver = new TopologyTestDriver(builder.build())
    const failure = thrownBy(() => driver.input(left).pipe({ key: 'k', value: 'v', timestamp: 1 }))

    expect(failure.code).toBe('PROCESSING_FAILED')
    expect(failure.message).toContain(message)
  })

  test('fails on a record without a key or a value in its repartition topic', () => {
    const builder = new StreamsBuilder()
    builder
      .table(left)
      .groupBy((value) => [value, value], strings)
      .count({ store: 'counts' })
    const raw = topic('app-counts-repartition', {
      key: nullable(serdes.bytes),
      value: nullable(serdes.bytes),
    })
    for (const record of [
      { key: null, value: Buffer.from('v\u0001') },
      { key: Buffer.from('k'), value: null },
    ]) {
      using driver = new TopologyTestDriver(builder.build(), { applicationId: 'app' })
      const failure = thrownBy(() => driver.input(raw).pipe({ ...record, timestamp: 0 }))
      expect(failure.code).toBe('PROCESSING_FAILED')
      expect(failure.message).toContain('has a record without a')
    }
  })

  test.each<[string, (table: Rows) => unknown]>([
    ['a selector that is no function', (table) => table.groupBy('x' as never, strings)],
    ['options that are none', (table) => table.groupBy((value) => [value, value], 'x' as never)],
    [
      'options of an aggregation that are none',
      (table) => table.groupBy((value) => [value, value], strings).count('x' as never),
    ],
    [
      'a reduction without a subtractor',
      (table) => table.groupBy((value) => [value, value], strings).reduce(pair, undefined as never),
    ],
    [
      'an aggregation without a function to begin with',
      (table) =>
        table.groupBy((value) => [value, value], strings).aggregate(0 as never, pair, pair),
    ],
  ])('refuses %s', (_what, write) => {
    const failure = thrownBy(() => write(new StreamsBuilder().table(left)))

    expect(failure.code).toBe('TOPOLOGY_INVALID')
  })
})

describe('transformed values', () => {
  test('may come from an object, which is closed with its task', () => {
    const log: string[] = []
    class Upper {
      readonly #suffix = '!'
      transform(value: string | undefined): string | undefined {
        return value && value.toUpperCase() + this.#suffix
      }
      close(): void {
        log.push('closed')
      }
    }
    const driver = driverOf((one, other) =>
      one.transformValues(() => new Upper()).join(other, pair),
    )
    driver.input(left).pipe({ key: 'k', value: 'l', timestamp: 1 })
    driver.input(right).pipe({ key: 'k', value: 'r', timestamp: 2 })

    expect(driver.output(out).readValues()).toEqual(['L!-r'])
    expect(log).toEqual([])
    driver.close()
    // One that transforms changes, and one that looks rows up for the join.
    expect(log).toEqual(['closed', 'closed'])
  })

  test('must be kept to be looked up when the transformer has stores', () => {
    const seen = keyValueStore('seen', { key: serdes.string, value: serdes.long })
    const builder = new StreamsBuilder()
    const table = builder.table(left).transformValues(() => (value) => value, { stores: { seen } })
    const failure = thrownBy(() => table.join(builder.table(right), pair))

    expect(failure.code).toBe('TOPOLOGY_INVALID')
    expect(failure.message).toContain('give it a `store`')
  })

  test('are not waited for', () => {
    using driver = driverOf((one) =>
      one.transformValues(() => (value) => Promise.resolve(value) as unknown as string),
    )
    const failure = thrownBy(() => driver.input(left).pipe({ key: 'k', value: 'l', timestamp: 1 }))

    expect(failure.code).toBe('PROCESSOR_ASYNC')
  })

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'must return a function'],
    ['an object without a method transform', {}, 'must return a function'],
  ])('need more than a supplier that gives %s', (_what, given, message) => {
    const failure = thrownBy(() => driverOf((one) => one.transformValues(() => given as never)))

    expect(failure.code).toBe('PROCESSING_FAILED')
    expect(failure.message).toContain(message)
  })

  test('refuse what is no supplier and no store', () => {
    const table = new StreamsBuilder().table(left)
    const noSupplier = thrownBy(() => table.transformValues('x' as never))
    const noOptions = thrownBy(() => table.transformValues(() => (value) => value, 'x' as never))
    const noStore = thrownBy(() =>
      table.transformValues(() => (value) => value, { stores: { seen: 'seen' } as never }),
    )

    const codes = [noSupplier, noOptions, noStore].map(({ code }) => code)
    expect(codes).toEqual(Array(3).fill('TOPOLOGY_INVALID'))
  })
})

describe('a table as a stream', () => {
  test('refuses what is neither a selector nor options', () => {
    const failure = thrownBy(() => new StreamsBuilder().table(left).toStream('x' as never))

    expect(failure.code).toBe('TOPOLOGY_INVALID')
  })

  test('may get other keys', () => {
    const builder = new StreamsBuilder()
    builder
      .table(left)
      .toStream((value, key) => value ?? key, { key: serdes.string })
      .to(out)
    using driver = new TopologyTestDriver(builder.build())
    driver.input(left).pipe({ key: 'k', value: 'l', timestamp: 1 })
    driver.input(left).pipe({ key: 'k', value: null, timestamp: 2 })

    expect(driver.output(out).readAll()).toMatchObject([
      { key: 'l', value: 'l' },
      { key: 'k', value: null },
    ])
  })
})
