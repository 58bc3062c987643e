/**
 * Millpond gives what Kafka Streams gives: the committed cases, with the results that Kafka Streams
 * 4.4.0 recorded (`npm run conformance -- --record`). Compared are, byte for byte and in order, every
 * record that each step produces over all topics, the rows of every store, `describe()`, the internal
 * topics with their configs, and how many records were dropped. docs/internals/conformance.md describes the format.
 */
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { caseFiles, readCases } from './case-files.ts'
import { listOf, type CaseResult, type ConformanceCase } from './case.ts'
import { firstDifference } from './first-difference.ts'
import { bytesOf, hex } from './formats.ts'
import { runCase } from './run-case.ts'

for (const path of caseFiles()) {
  describe(`cases of ${basename(path)}`, () => {
    test.each(readCases(path))('$name', (given) => {
      const actual = runCase(given)

      assertSame(given, actual)
      for (const topic of Object.keys(given.outputs ?? {})) {
        const rows = (actual.steps ?? []).flat().filter(([name]) => name === topic)
        expect(rows.map((row) => row.slice(1, 4))).toEqual(writtenOutputs(given, topic))
      }
    })
  })
}

/** The message of a failure is the first difference. */
function assertSame({ expected, script }: ConformanceCase, actual: CaseResult): void {
  if (expected === undefined) {
    throw new Error('Kafka Streams has not run this case: npm run conformance -- --record')
  }
  const difference = firstDifference(expected, actual, script)
  if (difference !== undefined) throw new Error(difference.text)
}

/** What a person expects of a topic, in the bytes of the step that writes it. */
function writtenOutputs(given: ConformanceCase, topic: string): (string | number | null)[][] {
  const sink = given.topology.find(
    ({ op, topic: topics }) => (op === 'to' || op === 'sink') && listOf(topics).includes(topic),
  )
  return (given.outputs?.[topic] ?? []).map(([key, value, timestamp]) => [
    hex(bytesOf(key, sink?.key)),
    hex(bytesOf(value, sink?.value)),
    timestamp,
  ])
}
