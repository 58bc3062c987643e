/** Programs with windows, cogroups and suppression that must not compile. Never run. */
import {
  StreamsBuilder,
  keyValueStore,
  minutes,
  serdes,
  sessionStore,
  sessionWindows,
  slidingWindows,
  timeWindows,
  topic,
  unlimitedWindows,
  windowStore,
} from 'millpond'

const words = topic('words', { key: serdes.string, value: serdes.string })
const numbers = topic('numbers', { key: serdes.long, value: serdes.long })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const perMinute = topic('per-minute', {
  key: serdes.timeWindowed(serdes.string, minutes(1)),
  value: serdes.long,
})
const builder = new StreamsBuilder()
const grouped = builder.stream(words).groupByKey()
const windowed = grouped.windowedBy(timeWindows({ size: 1, grace: 0 }))
const sessions = grouped.windowedBy(sessionWindows({ gap: 1, grace: 0 }))
const long = { key: serdes.string, value: serdes.long }
const text = { key: serdes.string, value: serdes.string }

// @ts-expect-error grace must be stated
timeWindows({ size: minutes(1) })
// @ts-expect-error a size must be stated
timeWindows({ grace: 0 })
// @ts-expect-error grace must be stated
slidingWindows({ timeDifference: 1 })
// @ts-expect-error sessions have a gap, no size
sessionWindows({ size: 1, grace: 0 })
// @ts-expect-error unlimited windows never close
unlimitedWindows({ grace: 0 })
// @ts-expect-error a number is no windows
grouped.windowedBy(minutes(1))
// @ts-expect-error windows of one's own need a function
grouped.windowedBy({ kind: 'custom', size: 1, grace: 0 })

// @ts-expect-error there is no such strategy
windowed.emitStrategy('at-once')
// @ts-expect-error unlimited windows never close
grouped.windowedBy(unlimitedWindows()).emitStrategy('on-window-close')
// @ts-expect-error store value must be a number
windowed.count({ store: windowStore('s', text) })
// @ts-expect-error windows are kept in a window store
windowed.count({ store: keyValueStore('s', long) })
// @ts-expect-error windows are kept in a window store
windowed.count({ store: sessionStore('s', long) })
// @ts-expect-error sessions are kept in a session store
sessions.count({ store: windowStore('s', long) })
// @ts-expect-error a misspelt option
windowed.count({ retetion: 1 })
// @ts-expect-error gives a number where the values are strings
windowed.reduce((one, other) => one.length + other.length)
// @ts-expect-error the aggregate is a number
windowed.aggregate(nothing, (sum, word) => `${sum}${word}`)
// @ts-expect-error sessions need a merger
sessions.aggregate(nothing, (sum, word) => sum + word.length)
// @ts-expect-error the merger gives another type
sessions.aggregate(nothing, (sum) => sum, shown)
// @ts-expect-error the serde is of another type
windowed.aggregate(nothing, (sum) => sum, { value: serdes.string })

// @ts-expect-error the topic's keys have no windows
windowed.count().toStream().to(counts)
// @ts-expect-error sessions are deleted when they grow
sessions.count().toStream().to(perMinute)
// @ts-expect-error a table without windows has none that close
builder.table(words).suppress({ until: 'window-closes', buffer: 'unbounded' })
// @ts-expect-error a final result cannot come early
windowed.count().suppress({ until: 'window-closes', buffer: { maxBytes: 1, onFull: 'emit-early' } })
// @ts-expect-error what happens when it is full must be stated
windowed.count().suppress({ until: { timeLimit: 1 }, buffer: { maxBytes: 1 } })
// @ts-expect-error how much it may hold must be stated
windowed.count().suppress({ until: { timeLimit: 1 } })

const cogroup = grouped.cogroup(longer)
const otherKeys = builder.stream(numbers).groupByKey()
const inSessions = cogroup.windowedBy(sessionWindows({ gap: 1, grace: 0 }))
const inWindows = cogroup.windowedBy(timeWindows({ size: 1, grace: 0 }))
// @ts-expect-error a cogroup has keys of one type
cogroup.cogroup(otherKeys, (sum) => sum)
// @ts-expect-error the aggregate is a number
cogroup.cogroup(grouped, (sum, word) => `${sum}${word}`)
// @ts-expect-error begins with another type
cogroup.aggregate(() => 'x')
// @ts-expect-error sessions need a merger
inSessions.aggregate(nothing)
// @ts-expect-error a cogroup emits on update
inWindows.emitStrategy('on-window-close')
// @ts-expect-error the size of windows is a number
serdes.timeWindowed(serdes.string, '1')

function shown(one: number, other: number): string {
  return `${one}${other}`
}
function nothing(): number {
  return 0
}
function longer(sum: number, word: string): number {
  return sum + word.length
}
