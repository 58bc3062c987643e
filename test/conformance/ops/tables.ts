import { KGroupedTableImpl } from '../../../src/dsl/kgrouped-table-impl.ts'
import type { KGroupedTable } from '../../../src/dsl/kgrouped-table.ts'
import { KTableImpl } from '../../../src/dsl/ktable-impl.ts'
import { serdes } from '../../../src/serde/serdes.ts'
import { keyValueStore } from '../../../src/store/descriptor.ts'
import { transformerOf } from '../transformers.ts'
import type { OpCall, OpFamily, Table } from './op.ts'

/** The other table, the joiner and the options of a join of two tables. */
const joined = (call: OpCall) => {
  const joiner = call.joiner()
  return [
    call.input<Table>(1),
    (left: unknown, right: unknown, key: unknown) => joiner(left, right, key) as object | null,
    { ...call.named, ...call.stored(), value: call.keyAndValue.value },
  ] as const
}

/** The same by foreign keys: `with` is the joiner and the function that gives them. */
const joinedByForeignKey = (call: OpCall) => {
  const [other, joiner, options] = joined(call)
  return [other, joiner, { ...options, foreignKey: call.with(1) }] as const
}

/** Stores that transformers have for themselves. */
const countsByKey = { key: serdes.string, value: serdes.long, persistent: false }

type Grouped = KGroupedTable<unknown, object>

/** Tables, and what is counted and folded of them in groups. */
export const tableOps: OpFamily = {
  kinds: [
    ['table', KTableImpl],
    ['groupedTable', KGroupedTableImpl],
  ],
  ops: {
    'builder.table': (call) => call.builder.table(call.topic, { ...call.named, ...call.stored() }),
    'table.filter': (call) =>
      call.table.filter(call.predicate(), { ...call.named, ...call.stored() }),
    'table.filterNot': (call) =>
      call.table.filterNot(call.predicate(), { ...call.named, ...call.stored() }),
    'table.mapValues': (call) =>
      call.table.mapValues(call.with(), { ...call.named, ...call.stored() }),
    'table.toStream': (call) =>
      call.step.with === undefined
        ? call.table.toStream(call.named)
        : call.table.toStream(call.with(), { ...call.named, key: call.keyAndValue.key }),
    'table.groupBy': (call) => {
      const [toKey, toValue] = [call.with(0), call.with(1)]
      return call.table.groupBy((v, k) => [toKey(v, k), toValue(v, k)] as const, {
        ...call.named,
        ...call.keyAndValue,
      })
    },
    'table.transformValues': (call) => {
      const { transformer, stores = [] } = call.step
      const own = stores.map((name) => [name, keyValueStore(name, countsByKey)] as const)
      return call.table.transformValues(transformerOf(transformer), {
        ...call.named,
        ...call.stored(),
        value: call.keyAndValue.value,
        stores: Object.fromEntries(own),
      })
    },
    'table.join': (call) => call.table.join(...joined(call)),
    'table.leftJoin': (call) => call.table.leftJoin(...joined(call)),
    'table.foreignKeyJoin': (call) => call.table.join(...joinedByForeignKey(call)),
    'table.foreignKeyLeftJoin': (call) => call.table.leftJoin(...joinedByForeignKey(call)),
    'table.outerJoin': (call) => call.table.outerJoin(...joined(call)),

    'groupedTable.count': (call) =>
      call.input<Grouped>().count({ ...call.named, ...call.stored<number>() }),
    'groupedTable.reduce': (call) => {
      const [adder, subtractor] = [call.fold(0), call.fold(1)]
      return call.input<Grouped>().reduce(
        (a, v) => adder(a, v, null) as object | null,
        (a, v) => subtractor(a, v, null) as object | null,
        { ...call.named, ...call.stored() },
      )
    },
    'groupedTable.aggregate': (call) => {
      const [initializer, adder, subtractor] = [call.with(0), call.fold(1), call.fold(2)]
      const { value } = call.keyAndValue
      return call.input<Grouped>().aggregate<object, object | null>(
        () => initializer(null, null) as object,
        (a, v, k) => adder(a, v, k) as object | null,
        (a, v, k) => subtractor(a, v, k) as object | null,
        { ...call.named, ...call.stored(), ...(value !== undefined && { value }) },
      )
    },
  },
}
