/** Joins and routes that must not compile: each error below is expected. Checked by `tsc`, never run. */
import { StreamsBuilder, joinWindows, nullable, serdes, topic } from 'millpond'

const text = topic('text', { key: serdes.string, value: serdes.string })
const withNulls = topic('with-nulls', { key: serdes.string, value: nullable(serdes.string) })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const numbered = topic('numbered', { key: serdes.long, value: serdes.string })
const builder = new StreamsBuilder()
const stream = builder.stream(text)
const table = builder.table(counts)
const windows = joinWindows({ difference: 1, grace: 0 })
const pair = (left: string, right: string): string => left + right
const lengthOf = (value: string): number => value.length

// @ts-expect-error grace must be stated
joinWindows({ difference: 1 })
// @ts-expect-error one end is missing
joinWindows({ before: 1, grace: 0 })
// @ts-expect-error a difference, or both ends
joinWindows({ grace: 0 })

// @ts-expect-error two streams are joined in windows
stream.join(builder.stream(text), pair)
// @ts-expect-error two streams are joined in windows
stream.leftJoin(builder.stream(text), (left) => left, { name: 'x' })
// @ts-expect-error the other value may be missing
stream.leftJoin(builder.stream(text), pair, { windows })
// @ts-expect-error both values may be missing
stream.outerJoin(builder.stream(text), (left, right) => left.length + (right?.length ?? 0), {
  windows,
})
// @ts-expect-error the streams have different keys
stream.join(builder.stream(numbered), pair, { windows })
// @ts-expect-error the serde is for other values
stream.join(builder.stream(text), pair, { windows, otherValue: serdes.long })
// @ts-expect-error misspelt option
stream.join(builder.stream(text), pair, { windows, storename: 'x' })
// @ts-expect-error such stores are never cached
stream.join(builder.stream(text), pair, { windows, stores: { caching: true } })
// @ts-expect-error a table is not joined in windows
stream.join(table, (value) => value, { windows })
// @ts-expect-error there is no outer join with a table
stream.outerJoin(table, (value) => value)
// @ts-expect-error the table has other keys
builder.stream(numbered).join(table, (value) => value)
// @ts-expect-error the row may be missing
stream.leftJoin(table, (value, count) => count.toFixed())
// @ts-expect-error the table's values are numbers
stream.join(table, (_value, count) => count.length)

// @ts-expect-error a predicate gives a boolean
stream.split({ long: (value) => value.length })
// @ts-expect-error there is no such branch
void stream.split({ long: (value) => value.length > 9 }).short
// @ts-expect-error possibly null
builder.stream(withNulls).split({ long: (value) => value.length > 9 })
const nullsOrNot = builder.stream(withNulls).split({ text: (value) => value !== null })
// @ts-expect-error the rest may hold nulls
nullsOrNot.rest.mapValues(lengthOf)

// @ts-expect-error the topic's name is text
stream.to((value) => value.length)
// @ts-expect-error a topic states its own serdes
stream.to(text, { value: serdes.string })
// @ts-expect-error the serde is for other values
stream.to((value) => value, { value: serdes.long })
// @ts-expect-error the number of partitions is a number
stream.repartition({ partitions: '12' })
// @ts-expect-error the serde is for other keys
stream.repartition({ key: serdes.long })
// @ts-expect-error a line is text
stream.print({ format: (value) => value.length })
// @ts-expect-error print ends the stream
stream.print().to(text)
// @ts-expect-error there is no such optimization
export const optimized = new StreamsBuilder({ optimize: ['everything'] })
