/** Programs with windows, cogroups and suppression that must compile, with their types. Never run. */
import {
  StreamsBuilder,
  days,
  hours,
  minutes,
  nullable,
  seconds,
  serdes,
  sessionStore,
  sessionWindows,
  slidingWindows,
  timeWindows,
  topic,
  unlimitedWindows,
  windowStore,
  type CustomWindows,
  type KStream,
  type KTable,
  type Serde,
  type SessionWindowedKStream,
  type TimeWindowedKStream,
  type Topology,
  type WindowedKStream,
  type Windowed,
} from 'millpond'

/** Compiles only when both types are the same. */
type Same<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- how types are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'types differ'
function same<A, B>(_proof: Same<A, B>): void {}

interface Reading {
  readonly celsius: number
}
interface Stats {
  readonly count: number
  readonly max: number
}

const readings = topic('readings', { key: serdes.string, value: serdes.json<Reading>() })
const names = topic('names', { key: serdes.string, value: nullable(serdes.string) })
const orders = topic('orders', { key: serdes.string, value: serdes.double })
const perMinute = topic('per-minute', {
  key: serdes.timeWindowed(serdes.string, minutes(1)),
  value: serdes.long,
})
const perVisit = topic('per-visit', {
  key: serdes.sessionWindowed(serdes.string),
  value: nullable(serdes.long),
})
const counts = windowStore('counts', { key: serdes.string, value: serdes.long })
const visits = sessionStore('visits', { key: serdes.string, value: serdes.long, retention: 1 })
const statsBySensor = windowStore('stats', {
  key: serdes.string,
  value: serdes.json<Stats>(),
  retention: hours(24),
})
const minute = timeWindows({ size: minutes(1), grace: seconds(10) })
const gap = sessionWindows({ gap: minutes(30), grace: 0 })

same<typeof perMinute.key, Serde<Windowed<string>>>(true)

export function timeWindowed(builder: StreamsBuilder): void {
  const grouped = builder.stream(readings).groupByKey()
  const windowed = grouped.windowedBy(minute)
  same<typeof windowed, TimeWindowedKStream<string, Reading>>(true)

  const counted = windowed.count({ store: counts, name: 'counting' })
  same<typeof counted, KTable<Windowed<string>, number, number>>(true)
  counted.toStream().to(perMinute)
  windowed.count()
  windowed.count({ store: 'by-name', retention: days(1) })

  const reduced = windowed.reduce((one, other) => (one.celsius > other.celsius ? one : other))
  same<typeof reduced, KTable<Windowed<string>, Reading, Reading>>(true)

  const stats = windowed.aggregate(
    (): Stats => ({ count: 0, max: -Infinity }),
    ({ count, max }, { celsius }, sensor) => ({
      count: count + sensor.length,
      max: Math.max(max, celsius),
    }),
    { store: statsBySensor },
  )
  same<typeof stats, KTable<Windowed<string>, Stats, Stats>>(true)

  const deleting = windowed.aggregate(
    () => 0,
    (sum, { celsius }) => (celsius > 0 ? sum + celsius : null),
    { value: serdes.double },
  )
  same<typeof deleting, KTable<Windowed<string>, number, number | null>>(true)
}

export function windowsOfAllKinds(builder: StreamsBuilder): void {
  const grouped = builder.stream(names).groupByKey()
  const fiscal: CustomWindows = {
    kind: 'custom',
    size: days(366),
    grace: 0,
    windowsFor: (timestamp) => [{ start: 0, end: timestamp + 1 }],
  }
  same<ReturnType<typeof hopping>, TimeWindowedKStream<string, string | null>>(true)
  function hopping() {
    return grouped.windowedBy(timeWindows({ size: 60, advance: 10, grace: 5 }))
  }
  const sliding = grouped.windowedBy(slidingWindows({ timeDifference: 5, grace: 0 }))
  same<typeof sliding, TimeWindowedKStream<string, string>>(true)
  const unlimited = grouped.windowedBy(unlimitedWindows({ start: 5 }))
  same<typeof unlimited, WindowedKStream<string, string | null>>(true)
  const custom = grouped.windowedBy(fiscal)
  same<typeof custom, WindowedKStream<string, string | null>>(true)

  // A null value reaches the reducer, or deletes when it is the first.
  const longest = hopping().reduce((one, other) =>
    other !== null && other.length > one.length ? other : one,
  )
  same<typeof longest, KTable<Windowed<string>, string, string | null>>(true)
}

export function emission(builder: StreamsBuilder): void {
  const grouped = builder.stream(names).groupByKey()
  const final = grouped.windowedBy(minute).emitStrategy('on-window-close')
  same<typeof final, TimeWindowedKStream<string, string | null, 'on-window-close'>>(true)
  // Final results are no deletions.
  const reduced = final.reduce((one, other) => other ?? one)
  same<typeof reduced, KTable<Windowed<string>, string, string>>(true)

  const sessions = grouped.windowedBy(gap).emitStrategy('on-window-close').count({ store: visits })
  same<typeof sessions, KTable<Windowed<string>, number, number>>(true)
}

export function sessions(builder: StreamsBuilder): void {
  const windowed = builder.stream(readings).groupByKey().windowedBy(gap)
  same<typeof windowed, SessionWindowedKStream<string, Reading>>(true)

  // Sessions that grow are deleted first.
  const counted = windowed.count({ store: visits })
  same<typeof counted, KTable<Windowed<string>, number, number | null>>(true)
  counted.toStream().to(perVisit)
  windowed.reduce((one, other) => (one.celsius > other.celsius ? one : null))

  const sum = windowed.aggregate(
    () => 0,
    (total, { celsius }) => total + celsius,
    (one, other, key) => one + other + key.length,
    { value: serdes.double, name: 'sum' },
  )
  same<typeof sum, KTable<Windowed<string>, number, number | null>>(true)
}

export function suppressed(builder: StreamsBuilder): void {
  const counted = builder.stream(readings).groupByKey().windowedBy(minute).count()
  const sensors = builder.table(names)

  const final = counted
    .filter((count) => count > 1)
    .suppress({ until: 'window-closes', buffer: 'unbounded' })
  // Deletions are not among final results.
  same<typeof final, KTable<Windowed<string>, number, number>>(true)
  final.toStream().map((count, { key, window }) => [key, { count, from: window.start }])

  counted.suppress({
    until: 'window-closes',
    buffer: { maxBytes: 64 << 20, onFull: 'shut-down' },
    changelog: { 'segment.bytes': '1000000' },
    name: 'final-counts',
  })
  const later = sensors.suppress({
    until: { timeLimit: minutes(5) },
    buffer: { maxRecords: 1000, onFull: 'emit-early' },
    changelog: false,
  })
  same<typeof later, KTable<string, string, string | null>>(true)
}

export function windowedTables(builder: StreamsBuilder): void {
  const counted = builder.stream(readings).groupByKey().windowedBy(minute).count()
  const shown = counted.mapValues((count, { key, window }) => `${key} ${window.end}: ${count}`)
  same<typeof shown, KTable<Windowed<string>, string, string>>(true)
  const stream = counted.toStream()
  same<typeof stream, KStream<Windowed<string>, number>>(true)
  stream.selectKey((count, { key }) => `${key}${count}`, { key: serdes.string }).groupByKey()

  const read = builder.table(perMinute, { store: 'per-minute' })
  same<typeof read, KTable<Windowed<string>, number, number | null>>(true)
  const joined = counted.join(read, (one, other) => one - other)
  same<typeof joined, KTable<Windowed<string>, number>>(true)
}

export function cogrouped(builder: StreamsBuilder): Topology {
  const byKey = builder.stream(readings).groupByKey()
  const spent = builder.stream(orders).groupByKey()
  const named = builder.stream(names).groupByKey()

  const cogroup = byKey
    .cogroup((stats: Stats, { celsius }) => ({ ...stats, max: celsius }))
    .cogroup(spent, (stats, total, key) => ({ ...stats, count: total + key.length }))
  const table = cogroup.aggregate(() => ({ count: 0, max: 0 }), { value: serdes.json<Stats>() })
  same<typeof table, KTable<string, Stats, Stats>>(true)

  const deleting = cogroup.cogroup(named, (stats, name) => (name === null ? null : stats))
  const deletable = deleting.aggregate(() => ({ count: 0, max: 0 }), { store: 'stats' })
  same<typeof deletable, KTable<string, Stats, Stats | null>>(true)

  const windowed = cogroup
    .windowedBy(minute)
    .aggregate(() => ({ count: 0, max: 0 }), { store: statsBySensor, retention: days(1) })
  same<typeof windowed, KTable<Windowed<string>, Stats, Stats>>(true)
  cogroup.windowedBy(slidingWindows({ timeDifference: 5, grace: 0 }))
  const inSessions = cogroup.windowedBy(gap).aggregate(
    () => ({ count: 0, max: 0 }),
    (one, other) => ({ count: one.count + other.count, max: Math.max(one.max, other.max) }),
    { value: serdes.json<Stats>() },
  )
  same<typeof inSessions, KTable<Windowed<string>, Stats, Stats | null>>(true)
  return builder.build()
}
