import type { KGroupedStream } from '../../src/dsl/kgrouped-stream.ts'
import type { KStream } from '../../src/dsl/kstream.ts'
import type { KTable } from '../../src/dsl/ktable.ts'
import type { TableStoreRef } from '../../src/dsl/materialized.ts'
import { StreamsBuilder } from '../../src/dsl/streams-builder.ts'
import { topic, type Topic } from '../../src/dsl/topic.ts'
import type { Serde } from '../../src/serde/serde.ts'
import { keyValueStore } from '../../src/store/descriptor.ts'
import type { Topology } from '../../src/topology/topology.ts'
import { InvalidCase, listOf, type Step } from './case.ts'
import { serdeOf } from './formats.ts'
import { libraryFold, libraryFunction, text, type LibraryFunction } from './function-library.ts'

type Stream = KStream<unknown, unknown>
type Table = KTable<unknown, object>
type Grouped = KGroupedStream<unknown, unknown>

/** What a step gave. */
type Given =
  | { kind: 'stream'; stream: Stream }
  | { kind: 'table'; table: Table }
  | { kind: 'grouped'; grouped: Grouped }
  | { kind: 'nothing' }

/** Hears of records that pass a peek or forEach: the step's id, and key and value as text. */
export type PeekListener = (step: string, key: string, value: string) => void

/** Writes the program of a case with StreamsBuilder: one method call for each step. */
export class Program {
  readonly #builder = new StreamsBuilder()
  readonly #steps = new Map<string, Given>()
  readonly #peeked: PeekListener
  #previous: Given = { kind: 'nothing' }

  constructor(peeked: PeekListener) {
    this.#peeked = peeked
  }

  build(steps: readonly Step[]): Topology {
    for (const step of steps) {
      this.#previous = this.#add(step)
      if (step.id !== undefined) this.#steps.set(step.id, this.#previous)
    }
    return this.#builder.build()
  }

  #add(step: Step): Given {
    switch (step.op) {
      case 'stream':
        return ofStream(this.#builder.stream(topicsOf(step), named(step)))
      case 'table': {
        const [only] = topicsOf(step)
        if (only === undefined) throw new InvalidCase('a table needs a topic')
        return ofTable(this.#builder.table(only, { ...named(step), ...stored(step) }))
      }
      case 'count':
      case 'reduce':
      case 'aggregate':
        return this.#aggregate(step)
      default: {
        const from = this.#from(step)
        if (from.kind === 'stream') return this.#addToStream(step, from.stream)
        if (from.kind === 'table') return addToTable(step, from.table)
        throw new InvalidCase(`${step.op} needs a stream or a table`)
      }
    }
  }

  #addToStream(step: Step, stream: Stream): Given {
    const options = { ...named(step), ...keyAndValue(step) }
    switch (step.op) {
      case 'filter':
        return ofStream(stream.filter(predicate(step), options))
      case 'filterNot':
        return ofStream(stream.filterNot(predicate(step), options))
      case 'mapValues':
        return ofStream(stream.mapValues(withOf(step), options))
      case 'flatMapValues':
        return ofStream(stream.flatMapValues(lists(step), options))
      case 'selectKey':
        return ofStream(stream.selectKey(withOf(step), options))
      case 'map': {
        const [toKey, toValue] = [withOf(step, 0), withOf(step, 1)]
        return ofStream(stream.map((v, k) => [toKey(v, k), toValue(v, k)] as const, options))
      }
      case 'flatMap': {
        const [toKey, toValue] = [withOf(step, 1), withOf(step, 2)]
        const list = lists(step)
        return ofStream(
          stream.flatMap(
            (v, k) => list(v, k).map((item) => [toKey(item, k), toValue(item, k)] as const),
            options,
          ),
        )
      }
      case 'peek':
        return ofStream(stream.peek(this.#tell(step), options))
      case 'forEach':
        stream.forEach(this.#tell(step), options)
        return { kind: 'nothing' }
      case 'merge': {
        const other = this.#from(step, 1)
        if (other.kind !== 'stream') throw new InvalidCase('merge needs two streams')
        return ofStream(stream.merge(other.stream, options))
      }
      case 'groupBy':
        return { kind: 'grouped', grouped: stream.groupBy(withOf(step), options) }
      case 'groupByKey':
        return { kind: 'grouped', grouped: stream.groupByKey(options) }
      case 'toTable':
        return ofTable(stream.toTable({ ...named(step), ...stored(step) }))
      case 'to': {
        const [only] = topicsOf(step)
        if (only === undefined) throw new InvalidCase('to needs a topic')
        stream.to(only, named(step))
        return { kind: 'nothing' }
      }
      default:
        throw new InvalidCase(`there is no op ${step.op} of streams`)
    }
  }

  #aggregate(step: Step): Given {
    const from = this.#from(step)
    if (from.kind !== 'grouped') throw new InvalidCase(`${step.op} needs a grouped stream`)
    const { grouped } = from
    switch (step.op) {
      case 'count':
        return ofTable(grouped.count({ ...named(step), ...stored<number>(step) }))
      case 'reduce': {
        const reducer = libraryFold(specOf(step))
        return ofTable(
          grouped.reduce((a, v) => reducer(a, v, null) as object | null, {
            ...named(step),
            ...stored(step),
          }),
        )
      }
      default: {
        const initializer = withOf(step, 0)
        const aggregator = libraryFold(specOf(step, 1))
        const table = grouped.aggregate<object, object | null>(
          () => initializer(null, null) as object,
          (a, v, k) => aggregator(a, v, k) as object | null,
          { ...named(step), ...stored(step), ...keyAndValue({ op: step.op, value: step.value }) },
        )
        return ofTable(table)
      }
    }
  }

  #tell({ id = '' }: Step): (value: unknown, key: unknown) => void {
    return (value, key) => this.#peeked(id, text(key), text(value))
  }

  /** A step's n-th input. */
  #from({ from }: Step, index = 0): Given {
    if (from === undefined) return this.#previous
    const given = this.#steps.get(listOf(from)[index] ?? '')
    if (given === undefined) throw new InvalidCase(`there is no step ${String(from)}`)
    return given
  }
}

function addToTable(step: Step, table: Table): Given {
  const options = { ...named(step), ...stored(step) }
  switch (step.op) {
    case 'filter':
      return ofTable(table.filter(predicate(step), options))
    case 'filterNot':
      return ofTable(table.filterNot(predicate(step), options))
    case 'mapValues':
      return ofTable(table.mapValues(withOf(step), options))
    case 'toStream':
      return ofStream(table.toStream(named(step)))
    default:
      throw new InvalidCase(`there is no op ${step.op} of tables`)
  }
}

function ofStream(stream: unknown): Given {
  return { kind: 'stream', stream: stream as Stream }
}

function ofTable(table: unknown): Given {
  return { kind: 'table', table: table as Table }
}

function named({ name }: Step): { name?: string } {
  return name === undefined ? {} : { name }
}

function keyAndValue({ key, value }: Step): { key?: Serde<unknown>; value?: Serde<unknown> } {
  return {
    ...(key !== undefined && { key: serdeOf(key) }),
    ...(value !== undefined && { value: serdeOf(value) }),
  }
}

function stored<V = object>({ store }: Step): { store?: TableStoreRef<unknown, V> } {
  if (store === undefined) return {}
  if (typeof store === 'string') return { store }
  const { name, key, value, ...options } = store
  const descriptor = keyValueStore(name, { ...options, key: serdeOf(key), value: serdeOf(value) })
  return { store: descriptor }
}

function specOf(step: Step, index = 0): string {
  const spec = listOf(step.with)[index]
  if (spec === undefined) throw new InvalidCase(`${step.op} needs another function`)
  return spec
}

function withOf(step: Step, index = 0): LibraryFunction {
  return libraryFunction(specOf(step, index))
}

function predicate(step: Step): (value: unknown, key: unknown) => boolean {
  return withOf(step) as (value: unknown, key: unknown) => boolean
}

function lists(step: Step): (value: unknown, key: unknown) => unknown[] {
  return withOf(step) as (value: unknown, key: unknown) => unknown[]
}

/** The topics of a source or sink with its serdes. */
export function topicsOf(step: Step): Topic<unknown, unknown>[] {
  const { key, value, timestamp } = step
  const time = timestamp === undefined ? undefined : libraryFunction(timestamp)
  const options = {
    key: serdeOf(key),
    value: serdeOf(value),
    ...(time !== undefined && {
      timestamp: (v: unknown, k: unknown, ofRecord: number) =>
        (time(v, k) as number | null) ?? ofRecord,
    }),
  }
  return listOf(step.topic).map((name) => topic(name, options))
}
