import { expect, test } from 'vitest'
import { thrownBy } from '../../test/peers/thrown-by.ts'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { Topology } from '../topology/topology.ts'
import { TopologyTestDriver } from './topology-test-driver.ts'

interface Basket {
  readonly items: string[]
}

const input = topic('in', { key: serdes.string, value: serdes.string })
const basketSerde = serdes.json<Basket>()
const baskets = keyValueStore('baskets', { key: serdes.string, value: basketSerde })

/** An aggregation whose aggregator is that one. */
function gathering(
  aggregator: (basket: Basket, item: string) => Basket,
  options: { initial?: Basket; caching?: boolean } = {},
): Topology {
  const { initial, caching } = options
  const builder = new StreamsBuilder()
  builder
    .stream(input)
    .groupByKey({ name: 'by-key' })
    .aggregate(() => initial ?? { items: [] }, aggregator, {
      name: 'gather',
      store: caching === undefined ? baskets : { ...baskets, caching },
    })
  return builder.build()
}

function push(basket: Basket, item: string): Basket {
  basket.items.push(item)
  return basket
}

const two = [
  ['a', 'tea'],
  ['a', 'milk'],
] as const

test('an aggregator that changes what it was given fails', () => {
  using driver = new TopologyTestDriver(gathering(push))
  const error = thrownBy(() => driver.input(input).pipeKeyValues(two, { start: 0 }))
  expect(error.message).toContain('The step gather failed on the record at in-0 offset 1:')
  expect(error.message).toContain('not extensible')
})

test('so does one whose initializer gives the same object each time', () => {
  using driver = new TopologyTestDriver(gathering(push, { initial: { items: [] } }))
  const other = [
    ['a', 'tea'],
    ['b', 'milk'],
  ] as const
  expect(() => driver.input(input).pipeKeyValues(other, { start: 0 })).toThrow('not extensible')
})

test('one that makes a new value does not, and what a test reads is frozen', () => {
  const topology = gathering(({ items }, item) => ({ items: [...items, item] }))
  using driver = new TopologyTestDriver(topology)
  driver.input(input).pipeKeyValues(two, { start: 0 })
  const basket = driver.store(baskets).get('a')
  expect(basket).toEqual({ items: ['tea', 'milk'] })
  expect(() => basket?.items.push('sugar')).toThrow('not extensible')
})

test('without a cache each reader has a value of its own', () => {
  using driver = new TopologyTestDriver(gathering(push, { caching: false }))
  driver.input(input).pipeKeyValues(two, { start: 0 })
  expect(driver.store(baskets).get('a')).toEqual({ items: ['tea', 'milk'] })
})
