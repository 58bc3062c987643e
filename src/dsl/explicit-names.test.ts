import { describe, expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { joinWindows } from './join-windows.ts'
import { StreamsBuilder, type StreamsBuilderOptions } from './streams-builder.ts'
import { topic } from './topic.ts'

const { string, long } = serdes
const clicks = topic('clicks', { key: string, value: string })
const users = topic('users', { key: string, value: string })
const joined = (left: string | null, right: string | null): string => `${left}${right}`

/** What is unnamed in the program, after the fixed words. */
function unnamed(
  write: (builder: StreamsBuilder) => unknown,
  options: StreamsBuilderOptions = {},
): string | undefined {
  const builder = new StreamsBuilder({ ...options, explicitNames: true })
  write(builder)
  try {
    builder.build()
    return undefined
  } catch (error) {
    if (!isStreamsError(error, 'TOPOLOGY_INVALID')) throw error
    return / these have none of their own: (.+)\.$/.exec(error.message)?.[1]
  }
}

describe('a program whose names must be explicit', () => {
  test('needs names for the stores and repartition topics of groups', () => {
    expect(unnamed((builder) => builder.stream(clicks).groupByKey().count())).toBe(
      'the changelog topics KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog; the state stores KSTREAM-AGGREGATE-STATE-STORE-0000000001',
    )
    expect(
      unnamed((builder) =>
        builder
          .stream(clicks)
          .groupBy((value) => value, { key: string, value: string })
          .count(),
      ),
    ).toBe(
      'the changelog topics KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog; the state stores KSTREAM-AGGREGATE-STATE-STORE-0000000002; the repartition topics KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition',
    )
    expect(
      unnamed((builder) =>
        builder
          .stream(clicks)
          .groupBy((value) => value, { key: string, value: string, name: 'by-page' })
          .count({ store: 'pages' }),
      ),
    ).toBeUndefined()
  })

  test('names the repartition topic by the store when that is all that has a name', () => {
    expect(
      unnamed((builder) =>
        builder
          .stream(clicks)
          .groupBy((value) => value, { key: string, value: string })
          .count({ store: 'pages' }),
      ),
    ).toBeUndefined()
  })

  test('needs a name for a repartition step, but none for other steps', () => {
    expect(unnamed((builder) => builder.stream(clicks).repartition().to(users))).toBe(
      'the repartition topics KSTREAM-REPARTITION-0000000001-repartition',
    )
    expect(
      unnamed((builder) => builder.stream(clicks).repartition({ name: 'again' }).to(users)),
    ).toBeUndefined()
    expect(
      unnamed((builder) =>
        builder
          .stream(clicks)
          .mapValues((value) => value)
          .to(users),
      ),
    ).toBeUndefined()
  })

  test('needs names for the stores of joins of streams', () => {
    const windows = joinWindows({ before: 10, after: 10, grace: 0 })
    const join = (storeName?: string) => (builder: StreamsBuilder) =>
      builder.stream(clicks).join(builder.stream(users), joined, { windows, storeName })
    expect(unnamed(join())).toContain('the state stores KSTREAM-JOINTHIS-')
    expect(unnamed(join('both'))).toBeUndefined()
  })

  test('needs names for tables that are kept, and not for those that are not', () => {
    expect(
      unnamed((builder) =>
        builder
          .table(clicks)
          .toStream()
          .forEach(() => {}),
      ),
    ).toBeUndefined()
    const join = (store?: string) => (builder: StreamsBuilder) =>
      builder
        .stream(clicks)
        .join(builder.table(users, store === undefined ? {} : { store }), joined)
    expect(unnamed(join())).toBe(
      'the changelog topics users-STATE-STORE-0000000001-changelog; the state stores users-STATE-STORE-0000000001',
    )
    expect(unnamed(join(), { optimize: 'all' })).toBe(
      'the state stores users-STATE-STORE-0000000001',
    )
    expect(unnamed(join('users'))).toBeUndefined()
  })

  test('lists no changelog for a store that has none', () => {
    const counts = keyValueStore('counts', { key: string, value: long, changelog: false })
    expect(
      unnamed((builder) => builder.stream(clicks).groupByKey().count({ store: counts })),
    ).toBeUndefined()
    expect(unnamed((builder) => builder.globalTable(users))).toBe(
      'the state stores users-STATE-STORE-0000000000',
    )
    expect(unnamed((builder) => builder.globalTable(users, { store: 'all-users' }))).toBeUndefined()
  })

  test('may have generated names when nothing is said about them', () => {
    const builder = new StreamsBuilder()
    builder.stream(clicks).groupByKey().count()
    expect(() => builder.build()).not.toThrow()
  })
})
