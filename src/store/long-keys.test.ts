/** Keys that the engine cannot store: the record that brings one is refused, in the cache too. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { timeWindows } from '../dsl/windows.ts'
import { isStreamsError } from '../errors.ts'
import { serdes } from '../serde/serdes.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'

const keySerdes = { string: serdes.string, json: serdes.json<string>() }
const dead = topic('dead', { key: serdes.bytes, value: serdes.bytes })
const long = 'x'.repeat(5000)

function counts(options: { key: 'string' | 'json'; windowed: boolean }) {
  const key = keySerdes[options.key]
  const input = topic('in', { key, value: serdes.string })
  const builder = new StreamsBuilder()
  const grouped = builder.stream(input).groupByKey()
  if (options.windowed) {
    grouped.windowedBy(timeWindows({ size: 10, grace: 0 })).count({ store: 'counts' })
  } else {
    grouped.count({ store: 'counts' })
  }
  return { topology: builder.build(), input }
}

const cases = (['string', 'json'] as const).flatMap((key) =>
  [false, true].flatMap((windowed) => [true, false].map((caching) => ({ key, windowed, caching }))),
)

test.each(cases)('are passed over by a handler, with a dead letter: %o', (options) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'millpond-keys-'))
  try {
    const { topology, input } = counts(options)
    const codes: unknown[] = []
    using driver = new TopologyTestDriver(topology, {
      stateDir,
      ...(options.caching ? {} : { cacheBytes: 0 }),
      deadLetterQueueTopic: 'dead',
      onProcessingError: (_context, error) => {
        codes.push(isStreamsError(error) && [error.code, error.context['store']])
        return 'continue'
      },
    })
    const pipe = (key: string): void => driver.input(input).pipe({ key, value: 'v', timestamp: 1 })
    pipe('a')
    pipe(long)
    pipe('b')

    expect(codes).toEqual([['KEY_TOO_LONG', 'counts']])
    const letters = driver.output(dead).readAll()
    const bytes = keySerdes[options.key].serialize(long).length
    expect(letters.map(({ key }) => key?.length)).toEqual([bytes])
    driver.close()
  } finally {
    rmSync(stateDir, { recursive: true })
  }
})
