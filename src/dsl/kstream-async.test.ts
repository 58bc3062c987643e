import { describe, expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import type { AsyncOptions } from './async-options.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic } from './topic.ts'

const input = topic('in', { key: serdes.string, value: serdes.string })
const output = topic('out', { key: serdes.string, value: serdes.string })
const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

/** Calls that end when the test says so. */
function service() {
  const calls = new Map<string, PromiseWithResolvers<string>>()
  return {
    begun: () => [...calls.keys()],
    ask: (value: string): Promise<string> => {
      const resolvers = withResolvers()
      calls.set(value, resolvers)
      return resolvers.promise
    },
    answer: (value: string) => calls.get(value)?.resolve(value.toUpperCase()),
    refuse: (value: string) => calls.get(value)?.reject(new Error(`not ${value}`)),
  }
}

interface PromiseWithResolvers<T> {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (error: Error) => void
}

function withResolvers(): PromiseWithResolvers<string> {
  let resolve: (value: string) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<string>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

function driverOf(options: AsyncOptions = {}) {
  const { begun, ask, answer, refuse } = service()
  const builder = new StreamsBuilder()
  builder.stream(input).mapValuesAsync(ask, options).to(output)
  const driver = new TopologyTestDriver(builder.build())
  const pipe = (value: string, timestamp: number) =>
    driver.input(input).pipe({ key: value, value, timestamp, headers: [['n', Buffer.from(value)]] })
  const read = () =>
    driver
      .output(output)
      .readAll()
      .map(({ value, timestamp, headers }) => [
        value,
        timestamp,
        (headers ?? []).map(String).join(),
      ])
  return { driver, begun, answer, refuse, pipe, read }
}

describe('mapValuesAsync', () => {
  test('results come in the order of the records, with their time and headers', async () => {
    const { driver, answer, pipe, read } = driverOf()
    using _ = driver
    pipe('a', 1)
    pipe('b', 2)
    answer('b')
    expect(read()).toEqual([])
    answer('a')
    await driver.settled()
    expect(read()).toEqual([
      ['A', 1, 'n,a'],
      ['B', 2, 'n,b'],
    ])
  })

  test('no further records are taken while as many calls run as may', async () => {
    const { driver, begun, answer, pipe, read } = driverOf({ concurrency: 1 })
    using _ = driver
    pipe('a', 1)
    pipe('b', 2)
    expect(begun()).toEqual(['a'])
    answer('a')
    const settled = driver.settled()
    while (begun().length < 2) await Promise.resolve()
    answer('b')
    await settled
    expect(read().map(([value]) => value)).toEqual(['A', 'B'])
  })

  test('a call that is refused fails the record, and says which', async () => {
    const { driver, refuse, pipe } = driverOf()
    using _ = driver
    pipe('a', 1)
    refuse('a')
    await expect(driver.settled()).rejects.toMatchObject({
      code: 'PROCESSING_FAILED',
      context: { node: 'KSTREAM-MAPVALUES-ASYNC-0000000001', topic: 'in', offset: 0 },
    })
  })

  test('a call that takes too long fails the record', async () => {
    const { driver, pipe } = driverOf({ timeout: 500 })
    using _ = driver
    pipe('a', 1)
    driver.advanceWallClockTime(499)
    expect(() => driver.advanceWallClockTime(1)).toThrow('it has not answered within 500 ms')
  })

  test('calls that run when the driver closes are told so', () => {
    let reason: unknown
    const builder = new StreamsBuilder()
    builder.stream(input).forEachAsync((_value, _key, { signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return new Promise(() => undefined)
    })
    const driver = new TopologyTestDriver(builder.build())
    driver.input(input).pipe({ key: 'a', value: 'a' })
    driver.close()
    expect(String(reason)).toContain('task 0_0 was given up')
  })

  test('what closing code still forwards into a step is given up', () => {
    const builder = new StreamsBuilder()
    builder
      .stream(input)
      .process<string, string>(({ forward }) => ({
        process: () => undefined,
        close: () => forward({ key: 'a', value: 'last', timestamp: 0 }),
      }))
      .mapValuesAsync(async (value) => value)
      .to(output)
    const driver = new TopologyTestDriver(builder.build())
    driver.input(input).pipe({ key: 'a', value: 'a' })
    expect(() => driver.close()).not.toThrow()
  })

  test('steps one behind the other, with a table between them, all come to rest', async () => {
    const builder = new StreamsBuilder()
    const seen: string[] = []
    builder
      .stream(input)
      .mapValuesAsync(async (value) => `${value}!`, { value: serdes.string })
      .groupByKey()
      .count({ store: counts })
      .toStream()
      .mapValuesAsync(async (count) => String(count))
      .forEachAsync(async (value, key) => {
        seen.push(`${key}: ${value}`)
      })
    using driver = new TopologyTestDriver(builder.build())
    for (const key of ['a', 'b', 'a']) driver.input(input).pipe({ key, value: key })
    await driver.settled()
    expect(driver.store(counts).get('a')).toBe(2)
    expect(seen.toSorted()).toEqual(['a: 2', 'b: 1'])
  })

  test.each([
    [{ concurrency: 0 }, 'the concurrency of mapValuesAsync'],
    [{ concurrency: 1.5 }, 'the concurrency of mapValuesAsync'],
    [{ timeout: -1 }, 'the timeout of mapValuesAsync'],
    [{ timeout: Infinity }, 'the timeout of mapValuesAsync'],
  ])('%j is refused', (options, what) => {
    const stream = new StreamsBuilder().stream(input)
    expect(() => stream.mapValuesAsync(async (value) => value, options)).toThrow(what)
  })
})
