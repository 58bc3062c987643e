import type { KStream } from '../../../src/dsl/kstream.ts'
import type { KTable } from '../../../src/dsl/ktable.ts'
import type { TableStoreRef } from '../../../src/dsl/materialized.ts'
import type { StreamsBuilder } from '../../../src/dsl/streams-builder.ts'
import { topic, type Topic } from '../../../src/dsl/topic.ts'
import type { Serde } from '../../../src/serde/serde.ts'
import { keyValueStore, versionedStore } from '../../../src/store/descriptor.ts'
import type { TimestampExtractor } from '../../../src/topology/node.ts'
import { InvalidCase, listOf, type Step } from '../case.ts'
import { serdeOf } from '../formats.ts'
import {
  libraryFold,
  libraryFunction,
  libraryJoiner,
  text,
  type LibraryFold,
  type LibraryFunction,
  type LibraryJoiner,
} from '../function-library.ts'

export type Stream = KStream<unknown, unknown>
export type Table = KTable<unknown, object>

/** Hears of records that pass a peek or forEach: the step's id, and key and value as text. */
export type PeekListener = (step: string, key: string, value: string) => void

/**
 * Ops of one family of operators. A name is `<kind of the first input>.<op>`, such as `stream.filter`,
 * or `builder.<op>` for an op that begins a stream. An op returns what its method gives; undefined when that is nothing.
 */
export interface OpFamily {
  readonly ops: Readonly<Record<string, (call: OpCall) => unknown>>
  /** Classes that steps of this family give, and what their kind is called. */
  // oxlint-disable-next-line typescript/no-explicit-any -- variance: any class will do
  readonly kinds?: readonly (readonly [kind: string, type: abstract new (...args: any) => object])[]
}

/** One step of a case, with what an op asks of it. */
export class OpCall {
  readonly step: Step
  readonly builder: StreamsBuilder
  readonly #inputs: (index: number) => unknown
  readonly #peeked: PeekListener

  constructor(
    step: Step,
    options: {
      builder: StreamsBuilder
      inputs: (index: number) => unknown
      peeked: PeekListener
    },
  ) {
    this.step = step
    this.builder = options.builder
    this.#inputs = options.inputs
    this.#peeked = options.peeked
  }

  /** What the n-th step in `from` gave; absent: the step before. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the op knows what it takes
  input<T>(index = 0): T {
    const input = this.#inputs(index)
    if (input === undefined) throw new InvalidCase(`${this.step.op} needs another input`)
    return input as T
  }

  get stream(): Stream {
    return this.input<Stream>()
  }

  get table(): Table {
    return this.input<Table>()
  }

  get named(): { name?: string } {
    const { name } = this.step
    return name === undefined ? {} : { name }
  }

  get keyAndValue(): { key?: Serde<unknown>; value?: Serde<unknown> } {
    const { key, value } = this.step
    return {
      ...(key !== undefined && { key: serdeOf(key) }),
      ...(value !== undefined && { value: serdeOf(value) }),
    }
  }

  /** The store of a table: `{ store }`, or nothing. */
  stored<V = object>(): { store?: TableStoreRef<unknown, V> } {
    const { store } = this.step
    if (store === undefined) return {}
    if (typeof store === 'string') return { store }
    const { name, kind, historyRetention = 0, ...rest } = store
    const options = { ...rest, key: serdeOf(rest.key), value: serdeOf(rest.value) }
    if (kind === undefined) return { store: keyValueStore(name, options) }
    return { store: versionedStore(name, { ...options, historyRetention }) }
  }

  /** The n-th function in `with`. */
  with(index = 0): LibraryFunction {
    return libraryFunction(this.#spec(index))
  }

  fold(index = 0): LibraryFold {
    return libraryFold(this.#spec(index))
  }

  joiner(index = 0): LibraryJoiner {
    return libraryJoiner(this.#spec(index))
  }

  predicate(index = 0): (value: unknown, key: unknown) => boolean {
    return this.with(index) as (value: unknown, key: unknown) => boolean
  }

  list(index = 0): (value: unknown, key: unknown) => unknown[] {
    return this.with(index) as (value: unknown, key: unknown) => unknown[]
  }

  /** For peek and forEach. */
  tell(value: unknown, key: unknown): void {
    this.#peeked(this.step.id ?? '', text(key), text(value))
  }

  /** The first topic of a source or sink, with its serdes. */
  get topic(): Topic<unknown, unknown> {
    const [only] = topicsOf(this.step)
    if (only === undefined) throw new InvalidCase(`${this.step.op} needs a topic`)
    return only
  }

  #spec(index: number): string {
    const spec = listOf(this.step.with)[index]
    if (spec === undefined) throw new InvalidCase(`${this.step.op} needs another function`)
    return spec
  }
}

/** The topics of a source or sink with its serdes. */
export function topicsOf(step: Step): Topic<unknown, unknown>[] {
  // One source has one function for timestamps.
  const reading = readingOf(step)
  return listOf(step.topic).map((name) => topic(name, reading))
}

/** How the topics of a source are read. */
export function readingOf({ key, value, timestamp }: Step): {
  key: Serde<unknown>
  value: Serde<unknown>
  timestamp?: TimestampExtractor
} {
  const time = timestamp === undefined ? undefined : libraryFunction(timestamp)
  return {
    key: serdeOf(key),
    value: serdeOf(value),
    ...(time !== undefined && {
      timestamp: (v: unknown, k: unknown, ofRecord: number) =>
        (time(v, k) as number | null) ?? ofRecord,
    }),
  }
}
