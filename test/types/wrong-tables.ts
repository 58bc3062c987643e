/** Programs of tables that must not compile: each error below is expected. Checked by `tsc`, never run. */
import {
  StreamsBuilder,
  keyValueStore,
  nullable,
  serdes,
  sessionStore,
  topic,
  versionedStore,
  type KTable,
} from 'millpond'

const text = topic('text', { key: serdes.string, value: serdes.string })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const numbered = topic('numbered', { key: serdes.long, value: serdes.string })
const withNulls = topic('with-nulls', { key: serdes.string, value: nullable(serdes.string) })
const builder = new StreamsBuilder()
const table = builder.table(withNulls)
const numbers = builder.table(counts)
const byNumber = builder.table(numbered)
const byText = { key: serdes.string, value: serdes.string }
const grouped = table.groupBy((value, key) => [value, key], byText)
const seen = keyValueStore('seen', { key: serdes.string, value: serdes.long })
const pair = (left: string, right: string): string => left + right
const join2 = (all: string, one: string): string => all + one
const zero = (): number => 0
const addLength = (sum: number, one: string): number => sum + one.length
const textByKey = { ...byText, historyRetention: 1 }
const numbersByKey = { ...textByKey, value: serdes.long }
const ofSeen = { stores: { seen } }

// @ts-expect-error a group needs a key and a value
table.groupBy((value) => value, byText)
// @ts-expect-error the serde is for other keys
table.groupBy((value) => [value.length, value], byText)
// @ts-expect-error the serde is for other values
table.groupBy((value) => [value, value.length], byText)
// @ts-expect-error a reduction of a grouped table also subtracts
grouped.reduce(join2)
// @ts-expect-error a reduction keeps the type of the values
grouped.reduce(join2, (all, one) => all.length - one.length)
// @ts-expect-error an aggregation of a grouped table also subtracts
grouped.aggregate(zero, addLength)
// @ts-expect-error the subtractor gives another type than the initializer
grouped.aggregate(zero, addLength, join2)
// @ts-expect-error the store is for other values
grouped.count({ store: keyValueStore('c', { key: serdes.string, value: serdes.string }) })
// @ts-expect-error the store is for other keys
grouped.count({ store: keyValueStore('c', { key: serdes.long, value: serdes.long }) })
// @ts-expect-error a grouped table is no table
grouped.toStream()
// @ts-expect-error a grouped table has no windows
grouped.windowedBy({ kind: 'time', size: 1, grace: 0 })

// @ts-expect-error the tables have different keys
table.join(byNumber, pair)
// @ts-expect-error the joiner is for other values
table.join(numbers, pair)
// @ts-expect-error the other value may be missing
table.leftJoin(table, pair)
// @ts-expect-error both values may be missing
table.outerJoin(table, (left, right) => left.length + (right?.length ?? 0))
// @ts-expect-error a stream is no table
table.join(builder.stream(text), pair)
// @ts-expect-error tables are not joined in windows
table.join(table, pair, { windows: { kind: 'join', before: 1, after: 1, grace: 0 } })
// @ts-expect-error the store is for other values
table.join(table, pair, { store: seen })
// @ts-expect-error misspelt option
table.join(table, pair, { stor: 'joined' })
// @ts-expect-error the result may be null: the topic takes no nulls
table.join(table, pair).toStream().to(text)
// @ts-expect-error there is no right join
table.rightJoin(table, pair)

// @ts-expect-error the foreign key is none of the other table's
table.join(byNumber, pair, { foreignKey: (value) => value })
// @ts-expect-error foreign keys have no outer join
table.outerJoin(byNumber, pair, { foreignKey: (value) => value?.length })
// @ts-expect-error the other value may be missing
table.leftJoin(byNumber, pair, { foreignKey: (value) => value.length })
// @ts-expect-error a foreign key is a function
table.join(byNumber, pair, { foreignKey: 'value' })
// @ts-expect-error a partition is a number
table.join(byNumber, pair, { foreignKey: (v) => v.length, partitioner: () => 'first' })
// @ts-expect-error the serde is for other results
table.join(byNumber, pair, { foreignKey: (value) => value.length, value: serdes.long })

// @ts-expect-error the supplier gives no transformer
table.transformValues(() => 5)
// @ts-expect-error the value may be missing
table.transformValues(() => (value) => value.length)
// @ts-expect-error a transformer forwards nothing
table.transformValues((context) => context.forward)
// @ts-expect-error the step names no such store
table.transformValues((context) => context.stores.lost, ofSeen)
// @ts-expect-error the store has other keys
table.transformValues((context) => () => context.stores.seen.get(1), ofSeen)

// @ts-expect-error the selector gives other keys than the serde is for
table.toStream((value) => value?.length, { key: serdes.string })
// @ts-expect-error the value may be null
table.toStream((value) => value.length)

// @ts-expect-error a versioned store needs its history
versionedStore('v', { key: serdes.string, value: serdes.string })
// @ts-expect-error versioned stores are not cached
versionedStore('v', { ...textByKey, caching: true })
// @ts-expect-error a table has no sessions
builder.table(text, { store: sessionStore('s', { ...byText, retention: 1 }) })
// @ts-expect-error the store is for other values
builder.table(text, { store: versionedStore('v', numbersByKey) })

// @ts-expect-error a table with nulls among its changes is none without
export const withoutNulls: KTable<string, string, string> = table
