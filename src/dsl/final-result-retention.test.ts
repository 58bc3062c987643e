/** What docs/guides/windows-and-time.md says about final results that are lost, as in Kafka Streams. */
import { expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import { sessionStore, windowStore, type WindowStoreOptions } from '../store/descriptor.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import { minutes, seconds } from './duration.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic } from './topic.ts'
import { sessionWindows, timeWindows } from './windows.ts'

const clicks = topic('clicks', { key: serdes.string, value: serdes.string })
const both = { key: serdes.string, value: serdes.long }
const grace = seconds(10)
const perMinute = timeWindows({ size: minutes(1), grace })

/** Starts of the windows that come out when a record at second 5 is followed by one at that second. */
function startsAfter(
  second: number,
  grow: (builder: StreamsBuilder, note: (start: number) => void) => void,
): number[] {
  const starts: number[] = []
  const builder = new StreamsBuilder()
  grow(builder, (start) => starts.push(start))
  using driver = new TopologyTestDriver(builder.build())
  for (const at of [5, second]) {
    driver.input(clicks).pipe({ key: 'ann', value: '/', timestamp: seconds(at) })
  }
  return starts
}

const onClose = (second: number, options: WindowStoreOptions): number[] =>
  startsAfter(second, (builder, note) => {
    const store = windowStore('w', { ...both, ...options })
    const windowed = builder.stream(clicks).groupByKey().windowedBy(perMinute)
    const counts = windowed.emitStrategy('on-window-close').count({ store })
    counts.toStream().forEach((_, { window }) => note(window.start))
  })

test.each<[second: number, options: WindowStoreOptions, starts: number[]]>([
  [119, { caching: false }, [0]],
  [120, { caching: false }, []],
  [3659, { caching: false, retention: minutes(60) }, [0]],
  [3660, { caching: false, retention: minutes(60) }, []],
  [36_000, { caching: true }, [0]],
])('second %d after second 5 in %j: %j', (second, options, starts) => {
  expect(onClose(second, options)).toEqual(starts)
})

test.each([
  [129, [5000]],
  [130, []],
])('a session is lost with its segment: second %d, %j', (second, starts) => {
  const found = startsAfter(second, (builder, note) => {
    const windows = sessionWindows({ gap: minutes(1), grace })
    const sessions = builder.stream(clicks).groupByKey().windowedBy(windows)
    const counts = sessions
      .emitStrategy('on-window-close')
      .count({ store: sessionStore('s', both) })
    counts.toStream().forEach((_, { window }) => note(window.start))
  })
  expect(found).toEqual(starts)
})

test('suppress tells of what the store has forgotten', () => {
  const found = startsAfter(36_000, (builder, note) => {
    const counts = builder
      .stream(clicks)
      .groupByKey()
      .windowedBy(perMinute)
      .count({ store: windowStore('w', { ...both, caching: false }) })
      .suppress({ until: 'window-closes', buffer: 'unbounded' })
    counts.toStream().forEach((_, { window }) => note(window.start))
  })
  expect(found).toEqual([0])
})
