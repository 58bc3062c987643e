/** Global tables that must not compile: each error below is expected. Checked by `tsc`, never run. */
import { StreamsBuilder, keyValueStore, serdes, topic } from 'millpond'

const text = topic('text', { key: serdes.string, value: serdes.string })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const textStore = keyValueStore('text', { key: serdes.string, value: serdes.string })
const builder = new StreamsBuilder()
const stream = builder.stream(text)
const table = builder.globalTable(counts)

// @ts-expect-error which row is joined must be stated
stream.join(table, (value, count) => value + count.toString())
// @ts-expect-error which row is joined must be stated
stream.leftJoin(table, (value, count) => value + String(count), { name: 'x' })
// @ts-expect-error the table has text as keys
stream.join(table, (value) => value, { lookup: (value) => value.length })
// @ts-expect-error the row may be missing
stream.leftJoin(table, (_value, count) => count.toFixed(), { lookup: (value) => value })
// @ts-expect-error the rows are numbers
stream.join(table, (_value, count) => count.length, { lookup: (value) => value })
// @ts-expect-error such a table is not joined in windows
stream.join(table, (value) => value, { lookup: (value) => value, windows: {} })
// @ts-expect-error there is no outer join with a global table
stream.outerJoin(table, (value) => value, { lookup: (value) => value })
// @ts-expect-error the store has other values than the topic
builder.globalTable(counts, { store: textStore })
// @ts-expect-error a topic is stated with its serdes
builder.globalTable('counts')
// @ts-expect-error a global table is read by joins and processors alone
table.toStream()
// @ts-expect-error a global table is not filtered
table.filter((count) => count > 1)
builder.addGlobalStore(textStore, counts, () => (record) => {
  // @ts-expect-error the processor gets the records of the topic
  record.value.trim()
})
// @ts-expect-error the processor is missing
builder.addGlobalStore(textStore, text)
