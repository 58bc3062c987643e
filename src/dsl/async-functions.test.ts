/** Functions that give a promise where a value is wanted, in whole programs. */
import { expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { serdes } from '../serde/serdes.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import { joinWindows } from './join-windows.ts'
import type { KStream } from './kstream.ts'
import type { KTable } from './ktable.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic } from './topic.ts'
import { sessionWindows, slidingWindows, timeWindows } from './windows.ts'

const { string } = serdes
const left = topic('left', { key: string, value: string })
const right = topic('right', { key: string, value: string })
const facts = topic('facts', { key: string, value: string })

type Program = (
  one: KStream<string, string>,
  other: KStream<string, string>,
  rest: { rows: KTable<string, string> },
) => unknown

// oxlint-disable-next-line typescript/no-explicit-any -- it stands for a value
const later = (): any => Promise.reject(new Error('nobody hears it'))
const strings = { value: string }
const grouped = (one: KStream<string, string>) => one.groupByKey({ key: string, value: string })
const near = joinWindows({ difference: 10, grace: 0 })

test.each<[string, Program]>([
  [
    'windowed aggregate',
    (one) =>
      grouped(one)
        .windowedBy(timeWindows({ size: 10, grace: 0 }))
        .aggregate(() => '', later, strings),
  ],
  [
    'windowed initializer',
    (one) =>
      grouped(one)
        .windowedBy(timeWindows({ size: 10, grace: 0 }))
        .aggregate(later, () => '', strings),
  ],
  [
    'sliding aggregate',
    (one) =>
      grouped(one)
        .windowedBy(slidingWindows({ timeDifference: 10, grace: 0 }))
        .aggregate(() => '', later, strings),
  ],
  [
    'session aggregate',
    (one) =>
      grouped(one)
        .windowedBy(sessionWindows({ gap: 10, grace: 0 }))
        .aggregate(
          () => '',
          later,
          () => '',
          strings,
        ),
  ],
  [
    'session merger',
    (one) =>
      grouped(one)
        .windowedBy(sessionWindows({ gap: 10, grace: 0 }))
        .aggregate(
          () => '',
          () => '',
          later,
          strings,
        ),
  ],
  [
    'windowed reduce',
    (one) =>
      grouped(one)
        .windowedBy(timeWindows({ size: 10, grace: 0 }))
        .reduce(later),
  ],
  [
    'cogroup',
    (one) =>
      grouped(one)
        .cogroup<string>(later)
        .aggregate(() => '', strings),
  ],
  ['joiner of streams', (one, other) => one.join(other, later, { windows: near })],
  ['left joiner of streams', (one, other) => one.leftJoin(other, later, { windows: near })],
  ['joiner of a stream with itself', (one) => one.join(one, later, { windows: near })],
  ['joiner with a table', (one, _other, { rows }) => one.leftJoin(rows, later)],
  ['joiner of tables', (one, _other, { rows }) => one.toTable().leftJoin(rows, later)],
  [
    'foreign key',
    (one, _other, { rows }) => one.toTable().join(rows, later, { foreignKey: later }),
  ],
  [
    'table aggregate',
    (one) =>
      one
        .toTable()
        .groupBy((value, key) => [key, value], { key: string, value: string })
        .aggregate(
          () => '',
          later,
          (aggregate) => aggregate,
          strings,
        ),
  ],
  [
    'table initializer',
    (one) =>
      one
        .toTable()
        .groupBy((value, key) => [key, value], { key: string, value: string })
        .aggregate(
          later,
          () => '',
          (aggregate) => aggregate,
          strings,
        ),
  ],
  ['table selector', (one) => one.toTable().groupBy(later, { key: string, value: string }).count()],
])('the %s must give a value, not a promise', (_name, program) => {
  const builder = new StreamsBuilder()
  program(builder.stream(left), builder.stream(right), { rows: builder.table(facts) })
  const driver = new TopologyTestDriver(builder.build())
  const failures: unknown[] = []
  const pipe = (timestamp: number): void => {
    try {
      driver.input(left).pipe({ key: 'k', value: 'v', timestamp })
      driver.input(right).pipe({ key: 'k', value: 'w', timestamp })
    } catch (error) {
      failures.push(error)
    }
  }
  pipe(1)
  if (failures.length === 0) pipe(2)
  if (failures.length === 0) pipe(100)

  expect(failures.map((each) => isStreamsError(each) && each.code)).toEqual(['PROCESSOR_ASYNC'])
})
