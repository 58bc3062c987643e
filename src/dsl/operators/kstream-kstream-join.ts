/**
 * One side of a join of two streams (org.apache.kafka.streams.kstream.internals.KStreamKStreamJoin).
 * Each record meets the kept records of the other side. In a left or outer join, a record that has
 * met none is held back until stream time has passed its window and the grace; then it goes on alone.
 *
 *     left  ── windowed: keeps it ── this join ─┐
 *                    ╳  each looks into         ├─ merge
 *     right ── windowed: the other ─ other join ┘
 */
import { settled } from '../../processor/assert-done.ts'
import type { NodeContext, NodeProcessor, NodeSupplier } from '../../processor/processor.ts'
import type { KeyValueStore } from '../../store/key-value-store.ts'
import type { JoinSide, JoinSideKey, SideValue } from '../../store/outer-join-store.ts'
import type { WindowStore } from '../../store/window-store.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import { OuterJoinTime } from './outer-join-time.ts'
import type { JoinFunction } from './user-function.ts'

/** What both sides of a join share. */
export interface StreamJoin {
  readonly joiner: JoinFunction
  /** How many milliseconds earlier and later the record of the right side may be than that of the left. */
  readonly windows: { readonly before: number; readonly after: number; readonly grace: number }
  /** Sides whose records go on alone when they meet none. */
  readonly outer: Readonly<Record<JoinSide, boolean>>
  readonly storeNames: Readonly<Record<JoinSide, string>>
  /** The store of what is held back; undefined in an inner join. */
  readonly outerStoreName: string | undefined
}

/** Makes the two sides of a join. */
export function kstreamKStreamJoin(join: StreamJoin): Record<JoinSide, NodeSupplier> {
  // Both sides of a task find each other by the store that they share.
  const times = new WeakMap<object, OuterJoinTime>()
  const timeOf = (store: object): OuterJoinTime => {
    const time = times.get(store) ?? new OuterJoinTime()
    times.set(store, time)
    return time
  }
  const sideOf =
    (side: JoinSide): NodeSupplier =>
    (context) => {
      if (join.outerStoreName === undefined) return new JoinProcessor(context, join, side)
      const store = context.store(join.outerStoreName) as OuterStore
      return new JoinProcessor(context, join, side, new HeldBack(store, timeOf(store)))
    }
  return { left: sideOf('left'), right: sideOf('right') }
}

type OuterStore = KeyValueStore<JoinSideKey, SideValue[]>

/** The records of a left or outer join that have met none so far, and its time. */
class HeldBack {
  readonly time: OuterJoinTime
  readonly #store: OuterStore
  /** For the store alone, which does not keep it. */
  readonly #sought: { timestamp: number; side: JoinSide; key: unknown } = {
    timestamp: 0,
    side: 'left',
    key: undefined,
  }

  constructor(store: OuterStore, time: OuterJoinTime) {
    this.#store = store
    this.time = time
  }

  add(side: JoinSide, key: unknown, value: unknown, timestamp: number): void {
    this.time.heldBack(timestamp)
    const sought = this.#keyOf(side, key, timestamp)
    const before = this.#store.get(sought) ?? []
    this.#store.put(sought, [...before, { side, value }])
  }

  /** The record has met another one. */
  remove(side: JoinSide, key: unknown, timestamp: number): void {
    const sought = this.#keyOf(side, key, timestamp)
    if (this.#store.get(sought) !== undefined) this.#store.delete(sought)
  }

  #keyOf(side: JoinSide, key: unknown, timestamp: number): JoinSideKey {
    const sought = this.#sought
    sought.side = side
    sought.key = key
    sought.timestamp = timestamp
    return sought
  }

  /** Gives all records whose windows have closed, the oldest first, and forgets them. */
  takeClosed(
    windows: StreamJoin['windows'],
    give: (key: unknown, value: SideValue, timestamp: number) => void,
  ): void {
    const { time } = this
    time.minTime = Infinity
    const open = { left: false, right: false }
    let given: JoinSideKey | undefined
    using rows = this.#store.range()
    for (const [row, values] of rows) {
      const { timestamp, side, key } = row
      time.minTime = timestamp
      // Rows of a side come by time: what follows the first open one is open too.
      if (open.left && open.right) break
      const length = (side === 'left' ? windows.after : windows.before) + windows.grace
      if (timestamp + length >= time.streamTime) {
        open[side] = true
        continue
      }
      for (const value of values) {
        give(key, value, timestamp)
        // A failure in between leaves in the store what was not given, and a little more.
        if (given !== undefined && given !== row) this.#store.delete(given)
        given = row
      }
    }
    if (given !== undefined) this.#store.delete(given)
  }
}

class JoinProcessor implements NodeProcessor {
  readonly #context: NodeContext
  readonly #join: StreamJoin
  readonly #side: JoinSide
  readonly #otherSide: JoinSide
  readonly #isOuter: boolean
  readonly #others: WindowStore<unknown, unknown>
  readonly #heldBack: HeldBack | undefined
  /** How much earlier and later than a record of this side its partners may be. */
  readonly #before: number
  readonly #after: number

  constructor(context: NodeContext, join: StreamJoin, side: JoinSide, heldBack?: HeldBack) {
    const { before, after } = join.windows
    this.#context = context
    this.#join = join
    this.#side = side
    this.#otherSide = side === 'left' ? 'right' : 'left'
    this.#isOuter = join.outer[side]
    this.#others = context.store(join.storeNames[this.#otherSide]) as WindowStore<unknown, unknown>
    this.#heldBack = heldBack
    this.#before = side === 'left' ? before : after
    this.#after = side === 'left' ? after : before
  }

  process(key: unknown, value: unknown): void {
    const context = this.#context
    const { timestamp } = context
    const time = this.#heldBack?.time
    time?.advance(timestamp)
    const hasKey = key !== null && key !== undefined
    const hasValue = value !== null && value !== undefined
    if (!hasKey || !hasValue) {
      if (this.#isOuter && hasValue) context.forward(key, this.#alone(this.#side, value, key))
      else context.dropped(droppedNullKeyOrValue)
      return
    }
    if (time !== undefined && timestamp === time.streamTime) this.#emitClosed()
    if (this.#meetOthers(key, value, timestamp) || !this.#isOuter) return
    const windowEnd = Math.max(0, timestamp + this.#after)
    // The other side may be ahead: nothing will come any more that this record could meet.
    if (time === undefined || windowEnd < time.streamTime) {
      context.forward(key, this.#alone(this.#side, value, key))
    } else {
      this.#heldBack?.add(this.#side, key, value, timestamp)
    }
  }

  /** False: the record has met none. */
  #meetOthers(key: unknown, value: unknown, timestamp: number): boolean {
    const from = Math.max(0, timestamp - this.#before)
    const to = Math.max(0, timestamp + this.#after)
    const isLeft = this.#side === 'left'
    const { joiner } = this.#join
    let hasMet = false
    using rows = this.#others.fetchRange(key, from, to)
    for (const [time, other] of rows) {
      hasMet = true
      this.#heldBack?.remove(this.#otherSide, key, time)
      const joined = isLeft ? joiner(value, other, key) : joiner(other, value, key)
      settled(joined, this.#context.node)
      this.#context.forwardAt(key, joined, Math.max(timestamp, time))
    }
    return hasMet
  }

  /** Gives the records that have met none, of either side, and whose windows have closed. */
  #emitClosed(): void {
    const heldBack = this.#heldBack
    const { windows } = this.#join
    const length = this.#after + windows.grace
    if (heldBack?.time.isTimeToEmit(this.#context, length) !== true) return
    heldBack.takeClosed(windows, (key, { side, value }, timestamp) =>
      this.#context.forwardAt(key, this.#alone(side, value, key), timestamp),
    )
  }

  #alone(side: JoinSide, value: unknown, key: unknown): unknown {
    const { joiner } = this.#join
    const alone = side === 'left' ? joiner(value, undefined, key) : joiner(undefined, value, key)
    return settled(alone, this.#context.node)
  }
}
