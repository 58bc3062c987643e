/** Programs of the Processor API that must compile, with their types. Checked by `tsc`, never run. */
import {
  StreamsBuilder,
  keyValueStore,
  minutes,
  nullable,
  seconds,
  serdes,
  sessionStore,
  timestamped,
  topic,
  versionedStore,
  windowStore,
  type FixedKeyProcessorSupplier,
  type FixedKeyRecord,
  type KStream,
  type KeyValueStore,
  type Processor,
  type ProcessorSupplier,
  type RawKey,
  type RecordHeaders,
  type RecordMetadata,
  type SessionStore,
  type StreamRecord,
  type TimestampedKeyValueStore,
  type TimestampedWindowStore,
  type VersionedStore,
  type WindowStore,
} from 'millpond'

/** Compiles only when both types are the same. */
type Same<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- how types are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'types differ'
function same<A, B>(_proof: Same<A, B>): void {}

interface Click {
  readonly session: string
  readonly page: string
}

const clicks = topic('clicks', { key: serdes.string, value: serdes.json<Click>() })
const ended = topic('sessions-ended', { key: serdes.string, value: serdes.long })
const lastSeen = keyValueStore('last-seen', { key: serdes.string, value: serdes.long })
const byMinute = windowStore('by-minute', {
  key: serdes.string,
  value: serdes.long,
  retention: minutes(60),
  windowSize: minutes(1),
})
const visits = sessionStore('visits', { key: serdes.string, value: serdes.long })
const prices = versionedStore('prices', {
  key: serdes.string,
  value: serdes.double,
  historyRetention: minutes(5),
})

export function endIdleSessions(builder: StreamsBuilder): void {
  builder
    .stream(clicks)
    .process(
      ({ stores, schedule, forward }) => {
        const timer = schedule(seconds(10), 'wall-clock-time', (now) => {
          for (const [session, seen] of stores.lastSeen.range()) {
            if (now - seen < seconds(30)) continue
            forward({ key: session, value: seen, timestamp: now })
            stores.lastSeen.delete(session)
          }
        })
        same<typeof timer, Disposable>(true)
        return ({ value: click, timestamp }) => stores.lastSeen.put(click.session, timestamp)
      },
      { name: 'end-idle-sessions', stores: { lastSeen }, key: serdes.string, value: serdes.long },
    )
    .to(ended)
}

export function everyKindOfStore(builder: StreamsBuilder): void {
  const stores = {
    lastSeen,
    byMinute,
    visits,
    prices,
    dated: timestamped(lastSeen),
    datedByMinute: timestamped(byMinute),
  }
  builder.stream(clicks).process(
    (context) => {
      const { stores: own } = context
      same<typeof own.lastSeen, KeyValueStore<string, number>>(true)
      same<typeof own.byMinute, WindowStore<string, number>>(true)
      same<typeof own.visits, SessionStore<string, number>>(true)
      same<typeof own.prices, VersionedStore<string, number>>(true)
      same<typeof own.dated, TimestampedKeyValueStore<string, number>>(true)
      same<typeof own.datedByMinute, TimestampedWindowStore<string, number>>(true)
      const another = context.store(lastSeen)
      same<typeof another, KeyValueStore<string, number>>(true)
      const anotherDated = context.store(timestamped(lastSeen))
      same<typeof anotherDated, TimestampedKeyValueStore<string, number>>(true)
      return (record) => {
        same<typeof record, StreamRecord<string, Click>>(true)
        same<typeof record.headers, RecordHeaders>(true)
        same<typeof context.recordMetadata, RecordMetadata | undefined>(true)
      }
    },
    { stores },
  )
}

export function whatIsForwarded(builder: StreamsBuilder): void {
  const stream = builder.stream(clicks)
  const lengths = stream.process(
    ({ forward }) =>
      (record) =>
        forward({ ...record, key: record.value.page.length, value: null }),
    { key: serdes.long, value: nullable(serdes.string) },
  )
  same<typeof lengths, KStream<number, string | null>>(true)

  const passedOn = stream.process(
    ({ forward }) =>
      (record) =>
        forward(record),
  )
  same<typeof passedOn, KStream<string, Click>>(true)
  const kept = stream.processValues(
    ({ forward }) =>
      (record) =>
        forward(record),
  )
  same<typeof kept, KStream<string, Click>>(true)

  const stated = stream.process<string, number>(
    ({ forward, wallClockTime }) =>
      ({ key, headers }) => {
        forward({ key, value: 1, timestamp: wallClockTime(), headers }, { child: 'next' })
      },
  )
  same<typeof stated, KStream<string, number>>(true)
}

class Total implements Processor<string, Click> {
  total = 0

  process({ value }: StreamRecord<string, Click>): void {
    this.total += value.page.length
  }

  close(): void {
    this.total = 0
  }
}

const count: ProcessorSupplier<string, Click, string, number> = ({ forward }) => {
  let seen = 0
  return (record) => {
    seen += 1
    forward({ ...record, value: seen })
  }
}

const lengthOfPage: FixedKeyProcessorSupplier<string, Click, number> =
  ({ forward }) =>
  (record) =>
    forward(record.withValue(record.value.page.length))

export function suppliers(builder: StreamsBuilder): void {
  const stream = builder.stream(clicks)
  stream.process(() => new Total()).forEach(() => {})
  same<ReturnType<typeof counted>, KStream<string, number>>(true)
  function counted(): KStream<string, number> {
    return stream.process(count)
  }
  stream.processValues(lengthOfPage).to(ended)
}

export function fixedKeys(builder: StreamsBuilder): void {
  const numbered = builder.stream(clicks).processValues(
    ({ stores, forward, commit, taskId, applicationId }) =>
      (record) => {
        same<typeof record, FixedKeyRecord<string, Click>>(true)
        const number = (stores.lastSeen.get(record.key) ?? 0) + 1
        stores.lastSeen.put(record.key, number)
        forward(
          record
            .withValue(number)
            .withTimestamp(record.timestamp + 1)
            .withHeaders([]),
        )
        if (number > 10) commit()
        void [taskId, applicationId]
      },
    { name: 'number', stores: { lastSeen }, value: serdes.long },
  )
  same<typeof numbered, KStream<string, number>>(true)
}

export function patterns(builder: StreamsBuilder): void {
  const all = builder.stream(/clicks-.+/, {
    key: serdes.string,
    value: serdes.json<Click>(),
    timestamp: (click, key, recordTimestamp, { partitionTime }) =>
      Math.max(click.page.length + key.length + recordTimestamp, partitionTime),
    offsetReset: { byDuration: minutes(10) },
  })
  same<typeof all, KStream<string, Click>>(true)
  const raw = builder.stream(/clicks-.+/, { value: serdes.string, name: 'all-clicks' })
  same<typeof raw, KStream<RawKey, string>>(true)
  builder.addStateStore(lastSeen).addStateStore(timestamped(byMinute))
}
