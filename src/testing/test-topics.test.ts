/** Piping lists into a topic and reading in all the ways that there are. */
import { describe, expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { nullable } from '../serde/nullable.ts'
import { serdes } from '../serde/serdes.ts'
import { TopologyTestDriver } from './topology-test-driver.ts'
import type { TestOutputTopic } from './test-output-topic.ts'

const text = nullable(serdes.string)
const source = topic('source', { key: text, value: text })
const target = topic('target', { key: text, value: text })

/** A driver whose program copies everything. */
function copying(wallClock = 100): TopologyTestDriver {
  const builder = new StreamsBuilder()
  builder.stream(source).to(target)
  return new TopologyTestDriver(builder.build(), { wallClock })
}

/** Key, value and time of all that is unread. */
function rows(output: TestOutputTopic<string | null, string | null>): unknown[] {
  return output.readAll().map(({ key, value, timestamp }) => [key, value, timestamp])
}

describe('lists of records', () => {
  test('take the times of the input topic, one after the other', () => {
    using driver = copying()
    const input = driver.input(source, { advanceTime: 5 })
    input.pipeValues(['a', null])
    input.pipeKeyValues([
      ['k', 'b'],
      [null, 'c'],
    ])

    expect(rows(driver.output(target))).toEqual([
      [null, 'a', 100],
      [null, null, 105],
      ['k', 'b', 110],
      [null, 'c', 115],
    ])
  })

  test('take times of their own, which leave those of the input topic alone', () => {
    using driver = copying()
    const input = driver.input(source, { advanceTime: 5 })
    input.pipeValues(['a', 'b'], { start: 7, advance: 3 })
    const pairs = [
      ['k', 'c'],
      ['k', 'd'],
    ] as const
    input.pipeKeyValues(pairs, { start: 50 })
    input.pipeValue('e')

    expect(rows(driver.output(target))).toEqual([
      [null, 'a', 7],
      [null, 'b', 10],
      ['k', 'c', 50],
      ['k', 'd', 50],
      [null, 'e', 100],
    ])
  })
})

describe('what was written', () => {
  test('comes as a record, as its value, or as key and value', () => {
    using driver = copying()
    driver.input(source).pipe({
      key: 'a',
      value: '1',
      timestamp: 3,
      headers: [['h', Buffer.from('x')]],
    })
    driver.input(source).pipeKeyValues([
      ['b', '2'],
      ['c', null],
    ])
    const output = driver.output(target)

    expect(output.size).toBe(3)
    expect(output.readRecord()).toEqual({
      key: 'a',
      value: '1',
      timestamp: 3,
      headers: [['h', Buffer.from('x')]],
    })
    expect(output.readValue()).toBe('2')
    expect(output.readKeyValue()).toEqual(['c', null])
    expect(output.isEmpty).toBe(true)
  })

  test('comes as a table, in which the last value of a key counts', () => {
    using driver = copying()
    driver.input(source).pipeKeyValues([
      ['a', '1'],
      ['b', '2'],
      ['a', '3'],
      ['b', null],
    ])
    const output = driver.output(target)

    expect(output.readKeyValuesToMap()).toEqual(
      new Map([
        ['a', '3'],
        ['b', null],
      ]),
    )
    expect(output.readKeyValuesToMap()).toEqual(new Map())
  })

  test.each(['readRecord', 'readValue', 'readKeyValue'] as const)(
    '%s fails when there is nothing, and names the topic',
    (read) => {
      using driver = copying()
      expect(() => driver.output(target)[read]()).toThrowError(
        expect.objectContaining({
          code: 'RECORD_MISSING',
          message: expect.stringContaining('target') as string,
        }),
      )
    },
  )
})
