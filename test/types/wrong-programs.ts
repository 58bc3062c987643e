/** Programs that must not compile: each error below is expected. Checked by `tsc`, never run. */
import { StreamsBuilder, keyValueStore, nullable, serdes, topic, type KTable } from 'millpond'

interface Sized {
  readonly n: number
}
interface Named {
  readonly n: number
  readonly name: string
}

const sized = topic('sized', { key: serdes.string, value: serdes.json<Sized>() })
const named = topic('named', { key: serdes.string, value: serdes.json<Named>() })
const text = topic('text', { key: serdes.string, value: serdes.string })
const numbered = topic('numbered', { key: serdes.long, value: serdes.string })
const rawKeys = topic('raw-keys', { value: serdes.string })
const withNulls = topic('with-nulls', { key: serdes.string, value: nullable(serdes.string) })
const counts = topic('counts', { key: serdes.string, value: serdes.long })
const builder = new StreamsBuilder()
const zero = (): number => 0
const nothing = (): null => null
const lengthOf = (value: string): number => value.length

// @ts-expect-error a topic needs a value serde
topic('incomplete', { key: serdes.string })
// @ts-expect-error there is no such option
topic('misspelt', { value: serdes.string, timestmp: () => 0 })
// @ts-expect-error there is no such reset
topic('reset', { value: serdes.string, offsetReset: 'newest' })
// @ts-expect-error the timestamp is a number
topic('timestamp', { value: serdes.string, timestamp: (value) => value })
// @ts-expect-error a store needs a key serde
keyValueStore('incomplete', { value: serdes.string })

// @ts-expect-error the value type differs from the topic's
builder.stream(sized).to(text)
// @ts-expect-error the key type differs from the topic's
builder.stream(text).to(numbered)
// @ts-expect-error the topic's keys are bytes
builder.stream(text).to(rawKeys)
// @ts-expect-error the topic's values have a name, those of the stream do not
builder.stream(sized).to(named)
// @ts-expect-error the topic does not expect null
builder.stream(withNulls).to(text)
// @ts-expect-error the topic does not expect tombstones, and a table has them
builder.table(text).toStream().to(text)
// @ts-expect-error a name alone is not a topic
builder.stream(text).to('text')
// @ts-expect-error the partition is a number
builder.stream(text).to(text, { partitioner: (name) => name })

// @ts-expect-error possibly null
builder.stream(withNulls).mapValues((value) => value.length)
// @ts-expect-error possibly null: the key was not stated
builder.stream(rawKeys).mapValues((_value, key) => key.length)
// @ts-expect-error value first, key second
builder.stream(numbered).filter((key: number) => key > 1)
// @ts-expect-error misspelt option
builder.stream(sized).filter((value) => value.n > 1, { nme: 'x' })
// @ts-expect-error the predicate gives a boolean
builder.stream(sized).filter((value) => value.n)
// @ts-expect-error map gives a pair
builder.stream(sized).map((value) => value)
// @ts-expect-error map must return
builder.stream(sized).map((value) => void value.n)
// @ts-expect-error a text can be iterated, but is one value
builder.stream(sized).flatMapValues((value) => String(value.n))
// @ts-expect-error flatMapValues gives an iterable
builder.stream(sized).flatMapValues((value) => value.n)
// @ts-expect-error flatMap gives pairs
builder.stream(sized).flatMap((value) => [value.n])
// @ts-expect-error the serde is for another type
builder.stream(sized).mapValues((value) => value.n, { value: serdes.string })
// @ts-expect-error the serde is for another type of key
builder.stream(sized).selectKey((value) => value.n, { key: serdes.string })
// @ts-expect-error filter has no serdes
builder.stream(sized).filter(() => true, { value: serdes.string })
// @ts-expect-error the streams have different values
builder.stream(sized).merge(builder.stream(text))
// @ts-expect-error the streams have different keys
builder.stream(text).merge(builder.stream(numbered))
const ended = builder.stream(text).forEach(() => {})
// @ts-expect-error forEach ends the stream
ended.to(text)
// @ts-expect-error topics of one stream have one type
builder.stream([text, sized])

const grouped = builder.stream(sized).groupByKey()
const textStore = keyValueStore('s', { key: serdes.string, value: serdes.string })
const numberedStore = keyValueStore('s', { key: serdes.long, value: serdes.long })
const namedStore = keyValueStore('s', { key: serdes.string, value: serdes.json<Named>() })

// @ts-expect-error the store's values must be numbers
grouped.count({ store: textStore })
// @ts-expect-error the store's keys must be strings
grouped.count({ store: numberedStore })
// @ts-expect-error the store's values have a name, the stream's do not
grouped.reduce((before) => before, { store: namedStore })
// @ts-expect-error the reducer gives another type
grouped.reduce((before, now) => before.n + now.n)
// @ts-expect-error the aggregator gives another type than the initializer
grouped.aggregate(zero, (sum, value) => `${sum}${value.n}`)
// @ts-expect-error the aggregator must return
grouped.aggregate(zero, (sum) => void sum.toFixed(), { value: serdes.long, nothing: 1 })
// @ts-expect-error an aggregate cannot begin with null
grouped.aggregate(nothing, nothing)
// @ts-expect-error the serde is for another type than the aggregate
grouped.aggregate(zero, (sum) => sum + 1, { value: serdes.string })
// @ts-expect-error the group serde is for another type of key
builder.stream(sized).groupBy((value) => value.n, { key: serdes.string })
// @ts-expect-error a grouped stream is not a stream
grouped.to(sized)
// @ts-expect-error a table is written through toStream
grouped.count().to(counts)
// @ts-expect-error the store is for another type
builder.table(text, { store: numberedStore })
// @ts-expect-error a table's rows are not null, so neither is what its predicate gets
builder.table(withNulls).filter((value: null) => value === null)
// @ts-expect-error a stream is not a table
export const table: KTable<string, string> = builder.stream(text)
// @ts-expect-error the table's changes may be null
builder.table(text).toStream().mapValues(lengthOf)
// @ts-expect-error it is build()
builder.buld()
