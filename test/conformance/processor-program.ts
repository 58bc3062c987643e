import type { NodeContext, NodeProcessor, NodeSupplier } from '../../src/processor/processor.ts'
import { keyValueStore } from '../../src/store/descriptor.ts'
import type { KeyValueStore, TimestampedKeyValueStore } from '../../src/store/key-value-store.ts'
import { InternalTopologyBuilder } from '../../src/topology/internal-topology-builder.ts'
import type { Topology } from '../../src/topology/topology.ts'
import { InvalidCase, listOf, type Step } from './case.ts'
import { serdeOf } from './formats.ts'
import { libraryFunction, partsOf, text } from './function-library.ts'

const wordsOf = libraryFunction('words')

/** Whether the steps are those of Java's Topology, not of StreamsBuilder. */
export function isProcessorProgram(steps: readonly Step[]): boolean {
  return steps.some(({ op }) => op === 'source')
}

/** Writes a program of the steps source, processor, store and sink. */
export function buildProcessorProgram(steps: readonly Step[]): Topology {
  const builder = new InternalTopologyBuilder()
  for (const step of steps) add(builder, step)
  return builder.build()
}

function add(builder: InternalTopologyBuilder, step: Step): void {
  const { op, name = '', from, caching = false, persistent, changelog } = step
  const serdes = { key: serdeOf(step.key), value: serdeOf(step.value) }
  const topics = listOf(step.topic)
  switch (op) {
    case 'source':
      builder.addSource(name, { topics, ...serdes })
      break
    case 'processor':
      builder.addProcessor(name, supplier(step), listOf(from))
      break
    case 'store': {
      const descriptor = keyValueStore(name, { ...serdes, caching, persistent, changelog })
      builder.addStore(
        { descriptor, timestamped: step.timestamped ?? false },
        step.processors ?? [],
      )
      break
    }
    case 'globalStore': {
      const { name: store = '', source = '' } = step
      const descriptor = keyValueStore(store, { ...serdes, caching, persistent })
      builder.addGlobalStore(
        { descriptor, timestamped: step.timestamped ?? false },
        {
          topic: topics[0] ?? '',
          ...serdes,
          source,
          processor: step.processors?.[0] ?? '',
          supplier: supplier({ ...step, stores: [store] }),
          reprocessOnRestore: true,
        },
      )
      break
    }
    case 'sink':
      builder.addSink(name, { topic: topics[0] ?? '', ...serdes }, listOf(from))
      break
    default:
      throw new InvalidCase(`${op} does not go with source, processor, store and sink`)
  }
}

function supplier({ with: spec, stores = [] }: Step): NodeSupplier {
  const [name, argument] = partsOf(listOf(spec)[0] ?? '')
  switch (name) {
    case 'pass':
      return (context) => ({ process: (key, value) => context.forward(key, value) })
    case 'put':
      return (context) => put(context, stores)
    case 'remember':
      return (context) => remember(context, stores)
    case 'look-up':
      return (context) => lookUp(context, argument)
    case 'index-words':
      return (context) => indexWords(context, stores)
    case 'punctuate':
      return (context) => punctuate(context, argument.split(',').map(Number))
    default:
      throw new InvalidCase(`there is no processor ${name}`)
  }
}

/** Puts each record into its stores, without looking at it. */
function put(context: NodeContext, names: readonly string[]): NodeProcessor {
  return {
    process(key, value) {
      for (const name of names)
        (context.store(name) as KeyValueStore<unknown, unknown>).put(key, value)
    },
  }
}

/**
 * Keeps the last value of each key in all its stores, and forwards what the stores had before. Records
 * without a key are not forwarded.
 */
function remember(context: NodeContext, names: readonly string[]): NodeProcessor {
  return {
    process(key, value) {
      if (key === null) return
      for (const name of names) {
        const store = context.store(name) as KeyValueStore<unknown, unknown>
        const before = store.get(key)
        if (value === null) store.delete(key)
        else store.put(key, value)
        context.forward(key, `${name} had ${text(before)}`)
      }
    },
  }
}

/**
 * Forwards what a store has for the value of each record, without being connected to it; on the value
 * `write` it tries to write there.
 */
function lookUp(context: NodeContext, name: string): NodeProcessor {
  return {
    process(key, value) {
      const store = context.store(name) as KeyValueStore<unknown, unknown>
      if (value === 'write') store.put(value, value)
      const found = value === null ? undefined : store.get(value)
      const row = found as { value?: unknown } | undefined
      context.forward(key, `${name} has ${text(isPlain(store) ? found : row?.value)}`)
    },
  }
}

/** Updates several rows for one record: those of its words. */
function indexWords(context: NodeContext, names: readonly string[]): NodeProcessor {
  return {
    process(key, value) {
      for (const name of names) {
        const store = context.store(name)
        for (const word of wordsOf(value, key) as string[]) {
          if (isPlain(store)) indexPlain(store, word, text(key))
          else indexTimestamped(store, word, { key: text(key), timestamp: context.timestamp })
        }
      }
    },
  }
}

type PlainRows = KeyValueStore<string, string>
type TimestampedRows = TimestampedKeyValueStore<string, string>

function isPlain(store: unknown): store is PlainRows {
  return 'putIfAbsent' in (store as object)
}

function indexPlain(rows: PlainRows, word: string, key: string): void {
  if (word === 'drop') rows.delete('be')
  else if (word === 'not') rows.putIfAbsent(word, key)
  else rows.put(word, text(rows.get(word)) + key)
}

function indexTimestamped(
  store: unknown,
  word: string,
  { key, timestamp }: { key: string; timestamp: number },
): void {
  const rows = store as TimestampedRows
  if (word === 'drop') rows.put('be', undefined, timestamp)
  else rows.put(word, text(rows.get(word)?.value) + key, timestamp)
}

/** Forwards what it sees of the time: with each record, and at intervals of both kinds. */
function punctuate(context: NodeContext, intervals: readonly number[]): NodeProcessor {
  const [streamTime = 0, wallClock = 0] = intervals
  const tell = (kind: string) => (time: number) =>
    context.forwardAt(kind, `at ${time} stream time ${context.streamTime}`, time)
  context.schedule(streamTime, 'stream-time', tell('stream'))
  context.schedule(wallClock, 'wall-clock-time', tell('wall'))
  return {
    process: (key, value) =>
      context.forward(key, `${text(value)} stream time ${context.streamTime}`),
  }
}
