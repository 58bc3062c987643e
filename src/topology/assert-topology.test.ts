import { expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import { assertTopology } from './assert-topology.ts'

test.each([
  ['undefined', undefined, 'not undefined'],
  ['a builder', new StreamsBuilder(), 'not the builder itself'],
  ['a name', 'word-count', 'not "word-count"'],
])('%s is no topology, also to the test driver', (_what, given, message) => {
  for (const take of [assertTopology, (one: unknown) => new TopologyTestDriver(one as never)]) {
    expect(() => take(given)).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message: expect.stringContaining(`must be what builder.build() returns, ${message}`),
      }),
    )
  }
})

test('what a builder builds is one', () => {
  expect(() => assertTopology(new StreamsBuilder().build())).not.toThrow()
})
