import { settled } from '../../processor/assert-done.ts'
import type { Change } from '../../processor/change.ts'
import type { NodeContext, NodeSupplier } from '../../processor/processor.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { droppedNullKey, droppedSupersededVersion } from './dropped-reason.ts'
import { KeptTable } from './kept-table.ts'
import type { Table } from './table-forwarder.ts'
import type { TableView, ValueGetter } from './table-view.ts'
import type { JoinFunction } from './user-function.ts'

/** Which rows a joined row needs: both, the left one, or any of the two. */
export type TableJoinKind = 'inner' | 'left' | 'outer'

/** One of the two steps of a join: it takes the changes of one table and looks into the other one. */
export interface TableJoinSide {
  /** Gets the value of this side first. */
  readonly joiner: JoinFunction
  readonly otherRows: TableView
  /** There is no joined row without a row of this side. */
  readonly needsOwn: boolean
  /** There is no joined row without a row of the other side. */
  readonly needsOther: boolean
  readonly sendOldValues: boolean
  /** Late versions are among the changes: they do not count. */
  readonly isVersioned: boolean
}

/**
 * Joins each change of a table with the row of another table. The result has the later timestamp of
 * the two. Java's KTableKTableInnerJoin, KTableKTableLeftJoin, KTableKTableRightJoin and
 * KTableKTableOuterJoin.
 */
export function ktableKTableJoin(side: TableJoinSide): NodeSupplier {
  const { joiner, otherRows, needsOwn, needsOther, sendOldValues, isVersioned } = side
  const joined = (own: unknown, other: unknown, key: unknown, node: string): unknown => {
    if (own === undefined && (needsOwn || other === undefined)) return undefined
    return settled(joiner(own, other, key), node) ?? undefined
  }
  return (context) => {
    const changes = new ChangeForwarder(context)
    const getter = otherRows.open(context)
    return {
      process(key: unknown, { newValue, oldValue, isLatest }: Change) {
        if (key === null || key === undefined) {
          context.dropped(droppedNullKey)
          return
        }
        if (isVersioned && !isLatest) {
          context.dropped(droppedSupersededVersion)
          return
        }
        const other = getter.get(key)
        let { timestamp } = context
        if (other !== undefined) timestamp = Math.max(timestamp, getter.timestamp)
        else if (needsOther || (newValue === undefined && oldValue === undefined)) return
        const newResult = joined(newValue, other, key, context.node)
        const oldResult = sendOldValues ? joined(oldValue, other, key, context.node) : undefined
        changes.forward(key, newResult, oldResult, timestamp, isLatest)
      },
      close: () => getter.close?.(),
    }
  }
}

/** Where the changes of both sides meet, and are kept if somebody wants it. Java's KTableKTableJoinMerger. */
export function ktableJoinMerge({ storeName, sendOldValues }: Table): NodeSupplier {
  return (context) => {
    if (storeName === undefined) {
      return { process: (key, change) => context.forward(key, change) }
    }
    const kept = new KeptTable(context, { storeName, sendOldValues })
    return {
      process(key: unknown, { newValue, oldValue }: Change) {
        kept.put(key, newValue, oldValue, context.timestamp)
      },
    }
  }
}

/** The rows of a join that is not kept: each is worked out when it is asked for. */
export function joinedView(
  kind: TableJoinKind,
  joiner: JoinFunction,
  { left, right }: { left: TableView; right: TableView },
): TableView {
  return {
    storeNames: [...new Set([...left.storeNames, ...right.storeNames])],
    open: (context) => new JoinedRows(kind, joiner, { left, right, context }),
  }
}

class JoinedRows implements ValueGetter {
  /** Also of two tables with versions: what was joined at an earlier time is not known. */
  readonly isVersioned = false
  timestamp = -1
  readonly #kind: TableJoinKind
  readonly #joiner: JoinFunction
  readonly #node: string
  readonly #left: ValueGetter
  readonly #right: ValueGetter

  constructor(
    kind: TableJoinKind,
    joiner: JoinFunction,
    { left, right, context }: { left: TableView; right: TableView; context: NodeContext },
  ) {
    this.#kind = kind
    this.#joiner = joiner
    this.#node = context.node
    this.#left = left.open(context)
    this.#right = right.open(context)
  }

  get(key: unknown): unknown {
    const left = this.#left.get(key)
    if (left === undefined && this.#kind !== 'outer') return undefined
    const right = this.#right.get(key)
    if (right === undefined && (this.#kind === 'inner' || left === undefined)) return undefined
    let timestamp = -1
    if (left !== undefined) timestamp = this.#left.timestamp
    if (right !== undefined) timestamp = Math.max(timestamp, this.#right.timestamp)
    this.timestamp = timestamp
    return settled(this.#joiner(left, right, key), this.#node) ?? undefined
  }

  getAsOf(): never {
    throw new TypeError('the result of a join keeps no old values')
  }

  close(): void {
    this.#left.close?.()
    this.#right.close?.()
  }
}
