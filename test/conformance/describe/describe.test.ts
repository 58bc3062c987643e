/**
 * `cases.json` was written by conformance/java/DescribeVectors.java with Kafka Streams 4.4.0: it
 * writes the programs of programs.ts with Java's StreamsBuilder (the last one with its Topology), and
 * prints `describe()` and the names and configs of the internal topics for the application id `app`.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { allPartitionCounts, internalTopics } from '../../../src/topology/internal-topics.ts'
import { programs } from './programs.ts'

interface DescribeCase {
  readonly name: string
  readonly describe: string
  readonly internalTopics: readonly {
    readonly name: string
    readonly configs: Readonly<Record<string, string>>
  }[]
}

const cases = JSON.parse(
  readFileSync(new URL('cases.json', import.meta.url), 'utf8'),
) as DescribeCase[]

describe('a topology is described and given its internal topics as by Kafka Streams', () => {
  test('every case has a program and every program a case', () => {
    expect(Object.keys(programs)).toEqual(cases.map(({ name }) => name))
  })

  test.each(cases)('$name', (expected) => {
    const topology = programs[expected.name]?.()
    expect(topology?.describe()).toBe(expected.describe)

    if (topology === undefined) return
    const read = topology.subtopologies.flatMap(({ sources }) =>
      sources.flatMap(({ topics, internal }) => (internal ? [] : topics)),
    )
    const counts = new Map(read.map((topic) => [topic, 1]))
    const topics = internalTopics(topology, 'app', counts)
    const inOrder = topics
      .map(({ name, configs }) => ({ name, configs }))
      .sort((left, right) => (left.name < right.name ? -1 : 1))
    expect(inOrder).toEqual(expected.internalTopics)
    expect([...allPartitionCounts(topology, 'app', counts).values()].every((n) => n === 1)).toBe(
      true,
    )
  })
})
