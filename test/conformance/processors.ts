/**
 * The processors that cases name, as `name` or `name:argument`. conformance/java's Processors.java has the
 * same ones. Each runs as a processor and, as far as it leaves the key, as one of fixed keys.
 */
import type { FixedKeyRecord } from '../../src/processor/fixed-key-record.ts'
import type { StoreAccess } from '../../src/processor/local-store.ts'
import type {
  FixedKeyProcessorContext,
  ProcessingContext,
  ProcessorContext,
} from '../../src/processor/processor-context.ts'
import type { StreamRecord } from '../../src/processor/stream-record.ts'
import type { KeyValueStore, TimestampedKeyValueStore } from '../../src/store/key-value-store.ts'
import type { RecordHeaders } from '../../src/store/state-store.ts'
import { StampedWindowView } from '../../src/store/stamped-view.ts'
import { InvalidCase } from './case.ts'
import { failOn, failingOf, libraryFunction, partsOf, text } from './function-library.ts'
import { runCommand } from './store-commands.ts'

type In = StreamRecord<unknown, unknown>
type Process = (record: In) => void

/** Where records go. Without headers: none. */
type Forward = (
  record: { key: unknown; value: unknown; timestamp: number; headers?: RecordHeaders },
  options?: { child?: string },
) => void

/** What a processor has at hand, whichever kind of processor it is. */
interface Hand {
  readonly context: ProcessingContext
  readonly forward: Forward
  /** By the names of the stores; asked for when a record is there. */
  readonly stores: () => readonly (readonly [name: string, store: object])[]
}

/** Its key may change. */
export function processorOf(
  spec: string,
  uses: readonly StoreAccess[],
): (context: ProcessorContext<unknown, unknown>) => Process {
  return (context) =>
    stepOf(spec, { context, forward: context.forward, stores: () => opened(context, uses) })
}

/** Its key stays: what it forwards is derived from the last record, and nothing comes before one. */
export function fixedKeyProcessorOf(
  spec: string,
  uses: readonly StoreAccess[],
): (
  context: FixedKeyProcessorContext<unknown, unknown>,
) => (record: FixedKeyRecord<unknown, unknown>) => void {
  return (context) => {
    let last: FixedKeyRecord<unknown, unknown> | undefined
    const forward: Forward = ({ value, timestamp, headers = [] }, options) => {
      if (last === undefined) return
      const record = last.withValue(value).withTimestamp(timestamp).withHeaders(headers)
      context.forward(record, options)
    }
    const process = stepOf(spec, { context, forward, stores: () => opened(context, uses) })
    return (record) => {
      last = record
      process(record)
    }
  }
}

function opened(
  context: ProcessingContext,
  uses: readonly StoreAccess[],
): (readonly [name: string, store: object])[] {
  return uses.map((access) => {
    const store: { name: string } = context.store(access)
    return [store.name, store]
  })
}

function stepOf(spec: string, hand: Hand): Process {
  const [name, argument] = partsOf(spec)
  const step = steps[name]
  if (step === undefined) throw new InvalidCase(`there is no processor ${spec}`)
  return step(hand, argument)
}

const steps: Readonly<Record<string, (hand: Hand, argument: string) => Process>> = {
  pass: ({ forward }) => forward,
  append:
    ({ forward }, argument) =>
    (record) =>
      forward({ ...asIs(record), value: text(record.value) + argument }),
  rekey:
    ({ forward }) =>
    (record) =>
      forward({ ...asIs(record), key: record.value, value: record.key }),
  twice:
    ({ forward }) =>
    (record) => {
      forward({ ...asIs(record), value: `${text(record.value)} first` })
      forward({ ...asIs(record), value: null })
    },
  shift:
    ({ forward }, argument) =>
    (record) =>
      forward({ ...asIs(record), timestamp: record.timestamp + Number(argument) }),
  header:
    ({ forward }, argument) =>
    (record) => {
      const value = record.value === null ? null : Buffer.from(text(record.value))
      forward({ ...asIs(record), headers: [...record.headers, [argument, value]] })
    },
  'no-headers':
    ({ forward }) =>
    ({ key, value, timestamp }) =>
      forward({ key, value, timestamp }),
  child:
    ({ forward }) =>
    (record) =>
      forward(asIs(record), { child: text(record.value) }),
  where: (hand) => (record) => {
    const { taskId, applicationId } = hand.context
    hand.forward({ ...asIs(record), value: `${where(hand)} task ${taskId} of ${applicationId}` })
  },
  commit:
    ({ context, forward }) =>
    (record) => {
      context.commit()
      forward(asIs(record))
    },
  'fail-on': failing,
  'fail-at': failAt,
  put,
  'look-up': lookUp,
  remember,
  'index-words': indexWords,
  tally,
  scan,
  command,
  'empty-at': emptyAt,
  punctuate,
  'punctuate-from': punctuateFrom,
  'punctuate-twice': punctuateTwice,
}

/** A record of fixed keys cannot be spread. */
function asIs({ key, value, timestamp, headers }: In): In {
  return { key, value, timestamp, headers }
}

function where({ context }: Hand): string {
  const from = context.recordMetadata
  return from === undefined ? 'nowhere' : `${from.topic}-${from.partition}`
}

type PlainRows = KeyValueStore<unknown, unknown>
type TimestampedRows = TimestampedKeyValueStore<unknown, unknown>

function isPlain(store: object): store is PlainRows {
  return 'putIfAbsent' in store
}

/** Does as another one, and then fails when the value is that text. */
function failing(hand: Hand, argument: string): Process {
  const [shown, inner] = failingOf(argument)
  const process = stepOf(inner, hand)
  return (record) => {
    process(record)
    failOn(shown, record.value)
  }
}

/** Its punctuations of both kinds forward, and then fail. */
function failAt(hand: Hand, argument: string): Process {
  const [streamTime = 0, wallClock = 0] = argument.split(',').map(Number)
  const failer = (kind: string) => (time: number) => {
    teller(hand, kind)(time)
    throw new Error(`failed at ${time}`)
  }
  hand.context.schedule(streamTime, 'stream-time', failer('stream'))
  hand.context.schedule(wallClock, 'wall-clock-time', failer('wall'))
  return hand.forward
}

/** Puts each record into its stores, without looking at it. */
function put({ stores }: Hand): Process {
  return ({ key, value, timestamp }) => {
    for (const [, store] of stores()) {
      if (isPlain(store)) store.put(key, value)
      else (store as TimestampedRows).put(key, value, timestamp)
    }
  }
}

/**
 * Keeps the last value of each key in all its stores, and forwards what the stores had before. Records
 * without a key are not forwarded.
 */
function remember({ forward, stores }: Hand): Process {
  return (record) => {
    const { key, value } = record
    if (key === null) return
    for (const [name, store] of stores() as [string, PlainRows][]) {
      const before = store.get(key)
      if (value === null) store.delete(key)
      else store.put(key, value)
      forward({ ...asIs(record), value: `${name} had ${text(before)}` })
    }
  }
}

/**
 * Forwards what a store has for the value of each record, whether it is connected to it or the store is
 * global; on the value `write` it tries to write there.
 */
function lookUp({ context, forward }: Hand, name: string): Process {
  return (record) => {
    const { value } = record
    // The name is all that is looked at.
    const store = context.store({ kind: 'key-value', name } as never) as PlainRows
    if (value === 'write') store.put(value, value)
    const found = value === null ? undefined : store.get(value)
    forward({ ...asIs(record), value: `${name} has ${text(found)}` })
  }
}

/** A value, and its timestamp where the store has one. */
function shown(store: object, found: unknown): string {
  if (isPlain(store) || found === undefined) return text(found)
  const { value, timestamp } = found as { value: unknown; timestamp: number }
  return `${text(value)}@${timestamp}`
}

const wordsOf = libraryFunction('words')

/** Updates several rows for one record: those of its words. */
function indexWords({ stores }: Hand): Process {
  return ({ key, value, timestamp }) => {
    for (const [, store] of stores()) {
      for (const word of wordsOf(value, key) as string[]) {
        if (isPlain(store)) indexPlain(store, word, text(key))
        else indexTimestamped(store as TimestampedRows, word, { key: text(key), timestamp })
      }
    }
  }
}

function indexPlain(rows: PlainRows, word: string, key: string): void {
  if (word === 'drop') rows.delete('be')
  else if (word === 'not') rows.putIfAbsent(word, key)
  else rows.put(word, text(rows.get(word)) + key)
}

function indexTimestamped(
  rows: TimestampedRows,
  word: string,
  { key, timestamp }: { key: string; timestamp: number },
): void {
  if (word === 'drop') rows.put('be', undefined, timestamp)
  else rows.put(word, text(rows.get(word)?.value) + key, timestamp)
}

/** Counts the records of each key in its stores of longs, and forwards the count. */
function tally({ forward, stores }: Hand): Process {
  return (record) => {
    const { key } = record
    if (key === null) return
    for (const [, store] of stores() as [string, PlainRows][]) {
      const after = ((store.get(key) as number | undefined) ?? 0) + 1
      store.put(key, after)
      forward({ ...asIs(record), value: text(after) })
    }
  }
}

/** Forwards, for each record, the rows of its stores between two keys: forward, and in reverse. */
function scan({ forward, stores }: Hand, argument: string): Process {
  const [from, to] = argument.split(',')
  return (record) => {
    for (const [, store] of stores() as [string, PlainRows][]) {
      const rowsOf = (options: Parameters<PlainRows['range']>[0]): string =>
        [...store.range(options)].map(([key, row]) => `${text(key)}=${shown(store, row)}`).join(' ')
      forward({ ...asIs(record), value: rowsOf({ from, to }) })
      forward({ ...asIs(record), value: rowsOf({ reverse: true }) })
    }
  }
}

/** Does with its stores what each record says, and forwards what they answer. */
function command({ forward, stores }: Hand): Process {
  return (record) => {
    const words = text(record.value).split(' ')
    for (const [, store] of stores()) {
      const timestamped = store instanceof StampedWindowView
      const { key, timestamp } = record
      const value = runCommand(store, { key, words, timestamp, timestamped })
      forward({ ...asIs(record), value })
    }
  }
}

/**
 * Puts each record into its stores; at intervals of stream time it forwards all rows and deletes each
 * while it goes through them.
 */
function emptyAt({ context, forward, stores }: Hand, argument: string): Process {
  const plain = (): [string, PlainRows][] => stores() as [string, PlainRows][]
  context.schedule(Number(argument), 'stream-time', (time) => {
    for (const [, store] of plain()) {
      for (const [key, value] of store.range()) {
        forward({ key, value, timestamp: time })
        store.delete(key)
      }
    }
  })
  return ({ key, value }) => {
    if (key === null) return
    for (const [, store] of plain()) store.put(key, value)
  }
}

/** Forwards what a punctuation sees of the time. */
function teller({ context, forward }: Hand, kind: string): (time: number) => void {
  return (time) => {
    const value = `at ${time} stream time ${context.streamTime}`
    forward({ key: kind, value, timestamp: time })
  }
}

/** Forwards what it sees of the time: with each record, and at intervals of both kinds. */
function punctuate(hand: Hand, argument: string): Process {
  const [streamTime = 0, wallClock = 0] = argument.split(',').map(Number)
  const { context, forward } = hand
  context.schedule(streamTime, 'stream-time', teller(hand, 'stream'))
  context.schedule(wallClock, 'wall-clock-time', teller(hand, 'wall'))
  return (record) =>
    forward({ ...asIs(record), value: `${text(record.value)} stream time ${context.streamTime}` })
}

/** As punctuate with one interval, anchored to a start. */
function punctuateFrom(hand: Hand, argument: string): Process {
  const [start, interval = 0] = argument.split(',').map(Number)
  const { context } = hand
  context.schedule(interval, 'stream-time', teller(hand, 'stream'), { start })
  context.schedule(interval, 'wall-clock-time', teller(hand, 'wall'), { start })
  return ({ value }) => {
    // From within a record: a start may be over.
    if (value === 'again')
      context.schedule(interval, 'stream-time', teller(hand, 'again'), { start })
  }
}

/** Is called back in stream time, and ends that from within the second call. */
function punctuateTwice(hand: Hand, argument: string): Process {
  let calls = 0
  const schedule = hand.context.schedule(Number(argument), 'stream-time', (time) => {
    calls += 1
    teller(hand, `call ${calls} ${where(hand)}`)(time)
    if (calls === 2) schedule[Symbol.dispose]()
  })
  return hand.forward
}
