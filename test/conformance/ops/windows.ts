import {
  CogroupedKStreamImpl,
  SessionWindowedCogroupedKStreamImpl,
  TimeWindowedCogroupedKStreamImpl,
} from '../../../src/dsl/cogrouped-kstream-impl.ts'
import type {
  CogroupedKStream,
  SessionWindowedCogroupedKStream,
  TimeWindowedCogroupedKStream,
} from '../../../src/dsl/cogrouped-kstream.ts'
import type { KGroupedStream } from '../../../src/dsl/kgrouped-stream.ts'
import { SessionWindowedKStreamImpl } from '../../../src/dsl/session-windowed-kstream-impl.ts'
import type { Suppressed } from '../../../src/dsl/suppressed.ts'
import { WindowedKStreamImpl } from '../../../src/dsl/windowed-kstream-impl.ts'
import type {
  SessionWindowedKStream,
  SessionWindowedOptions,
  TimeWindowedKStream,
  WindowedOptions,
} from '../../../src/dsl/windowed-kstream.ts'
import {
  sessionWindows,
  slidingWindows,
  timeWindows,
  unlimitedWindows,
  type CustomWindows,
  type SessionWindows,
  type SlidingWindows,
  type TimeWindows,
  type UnlimitedWindows,
} from '../../../src/dsl/windows.ts'
import { sessionStore, windowStore } from '../../../src/store/descriptor.ts'
import { InvalidCase, type Step, type WindowsSpec } from '../case.ts'
import { serdeOf } from '../formats.ts'
import type { OpCall, OpFamily } from './op.ts'

type Grouped = KGroupedStream<unknown, unknown>
type Windowed = TimeWindowedKStream<unknown, unknown>
type Sessions = SessionWindowedKStream<unknown, unknown>
type Cogrouped = CogroupedKStream<unknown, object, object | null>
type WindowedCogrouped = TimeWindowedCogroupedKStream<unknown, object, object | null>
type SessionCogrouped = SessionWindowedCogroupedKStream<unknown, object>

/** Aggregations in windows, cogroups, and suppression. */
export const windowOps: OpFamily = {
  kinds: [
    ['windowed', WindowedKStreamImpl],
    ['sessionWindowed', SessionWindowedKStreamImpl],
    ['cogrouped', CogroupedKStreamImpl],
    ['windowedCogrouped', TimeWindowedCogroupedKStreamImpl],
    ['sessionWindowedCogrouped', SessionWindowedCogroupedKStreamImpl],
  ],
  ops: {
    // The types of overloads know one kind of windows at a time.
    'grouped.windowedBy': (call) =>
      call.input<Grouped>().windowedBy(windowsOf(call.step) as TimeWindows),
    'windowed.emitStrategy': (call) => call.input<Windowed>().emitStrategy(strategyOf(call)),
    'windowed.count': (call) => call.input<Windowed>().count(inWindows(call)),
    'windowed.reduce': (call) =>
      call.input<Windowed>().reduce(folder(call, 0), inWindows<object>(call)),
    'windowed.aggregate': (call) =>
      call
        .input<Windowed>()
        .aggregate<object, object | null>(initializer(call), folder(call, 1), valued(call)),
    'sessionWindowed.emitStrategy': (call) => call.input<Sessions>().emitStrategy(strategyOf(call)),
    'sessionWindowed.count': (call) => call.input<Sessions>().count(inSessions(call)),
    'sessionWindowed.reduce': (call) =>
      call.input<Sessions>().reduce(folder(call, 0), inSessions<object>(call)),
    'sessionWindowed.aggregate': (call) =>
      call
        .input<Sessions>()
        .aggregate<object>(initializer(call), folder(call, 1), merger(call, 2), {
          ...inSessions<object>(call),
          ...valueOf(call),
        }),

    'grouped.cogroup': (call) =>
      call.input<Grouped>().cogroup<object, object | null>(folder(call, 0)),
    'cogrouped.cogroup': (call) =>
      call.input<Cogrouped>().cogroup(call.input<Grouped>(1), folder(call, 0)),
    'cogrouped.aggregate': (call) =>
      call.input<Cogrouped>().aggregate(initializer(call), {
        ...call.named,
        ...call.stored(),
        ...valueOf(call),
      }),
    'cogrouped.windowedBy': (call) =>
      call.input<Cogrouped>().windowedBy(windowsOf(call.step) as TimeWindows),
    'windowedCogrouped.aggregate': (call) =>
      call.input<WindowedCogrouped>().aggregate(initializer(call), valued(call)),
    'sessionWindowedCogrouped.aggregate': (call) =>
      call.input<SessionCogrouped>().aggregate(initializer(call), merger(call, 1), {
        ...inSessions<object>(call),
        ...valueOf(call),
      }),

    'table.suppress': (call) => call.table.suppress(suppressed(call) as never),
  },
}

const strategyOf = ({ step }: OpCall) => step.strategy ?? 'on-window-update'

const initializer = (call: OpCall) => () => call.with(0)(null, null) as object

function folder(
  call: OpCall,
  index: number,
): (aggregate: object, value: unknown, key?: unknown) => object | null {
  const fold = call.fold(index)
  return (aggregate, value, key = null) => fold(aggregate, value, key) as object | null
}

function merger(call: OpCall, index: number): (one: object, two: object, key: unknown) => object {
  const fold = call.fold(index)
  return (one, two, key) => fold(one, two, key) as object
}

const valueOf = ({ keyAndValue: { value } }: OpCall) => (value === undefined ? {} : { value })

const valued = (call: OpCall) => ({ ...inWindows<object>(call), ...valueOf(call) })

function inWindows<A = number>(call: OpCall): WindowedOptions<unknown, A> {
  const { store, retention } = call.step
  const options = { ...call.named, ...(retention !== undefined && { retention }) }
  if (store === undefined) return options
  if (typeof store === 'string') return { ...options, store }
  const { name, key, value, ...kept } = store
  const serdes = { key: serdeOf(key), value: serdeOf(value) }
  return { ...options, store: windowStore(name, { ...kept, ...serdes }) }
}

function inSessions<A = number>(call: OpCall): SessionWindowedOptions<unknown, A> {
  const { store, retention } = call.step
  const options = { ...call.named, ...(retention !== undefined && { retention }) }
  if (store === undefined) return options
  if (typeof store === 'string') return { ...options, store }
  const { name, key, value, ...kept } = store
  const serdes = { key: serdeOf(key), value: serdeOf(value) }
  return { ...options, store: sessionStore(name, { ...kept, ...serdes }) }
}

type AnyWindows = TimeWindows | SlidingWindows | SessionWindows | UnlimitedWindows | CustomWindows

function windowsOf({ into }: Step): AnyWindows {
  if (into === undefined) throw new InvalidCase('windowedBy needs windows')
  const { kind, size = 0, advance, timeDifference = 0, gap = 0, grace = 0, start } = into
  switch (kind) {
    case 'time':
      return timeWindows({ size, grace, ...(advance !== undefined && { advance }) })
    case 'sliding':
      return slidingWindows({ timeDifference, grace })
    case 'session':
      return sessionWindows({ gap, grace })
    case 'unlimited':
      return unlimitedWindows(start === undefined ? {} : { start })
    case 'custom':
      return shiftedWindows(into)
    default:
      throw new TypeError(kind satisfies never)
  }
}

/** Tumbling windows that begin at an offset; before it there are none. */
function shiftedWindows({ size = 0, grace = 0, offset = 0 }: WindowsSpec): CustomWindows {
  return {
    kind: 'custom',
    size,
    grace,
    windowsFor(timestamp) {
      if (timestamp < offset) return []
      const start = Math.floor((timestamp - offset) / size) * size + offset
      return [{ start, end: start + size }]
    },
  }
}

function suppressed({ step, named }: OpCall): Suppressed {
  const { until, buffer = 'unbounded', changelog } = step
  return {
    ...named,
    until: typeof until === 'number' ? { timeLimit: until } : until,
    buffer,
    ...(changelog !== undefined && { changelog }),
  } as Suppressed
}
