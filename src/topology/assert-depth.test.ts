import { expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { serdes } from '../serde/serdes.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import type { Topology } from './topology.ts'

const numbers = topic('numbers', { key: serdes.string, value: serdes.int })
const sums = topic('sums', { key: serdes.string, value: serdes.int })

/** So many steps, the source and the sink included. */
function chain(steps: number, options: { repartitionAt?: number } = {}): Topology {
  const builder = new StreamsBuilder()
  let stream = builder.stream(numbers)
  for (let step = 2; step < steps; step += 1) {
    stream =
      step === options.repartitionAt
        ? stream.repartition({ name: 'half', value: serdes.int })
        : stream.mapValues((value) => value + 1)
  }
  stream.to(sums)
  return builder.build()
}

test('a record passes the longest chain of steps that there may be', () => {
  using driver = new TopologyTestDriver(chain(1000))
  driver.input(numbers).pipe({ key: 'a', value: 1 })
  expect(driver.output(sums).readValue()).toBe(999)
})

test('a longer one is refused when it is built, with the name of the step', () => {
  expect(() => chain(1001)).toThrow(
    'KSTREAM-SINK-0000001000 has more than 1000 steps above it; write to a topic on the way, with repartition()',
  )
})

test('it can be described, and optimized, however long it is in parts', () => {
  const topology = chain(1500, { repartitionAt: 750 })
  expect(topology.describe()).toContain('KSTREAM-SINK')
})

test('a chain that is far too long is refused, and does not overflow the stack', () => {
  expect(() => chain(5_000)).toThrow('more than 1000 steps above it')
})
