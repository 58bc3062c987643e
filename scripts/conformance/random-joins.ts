/** Joins of streams in a random program, and where their records go: branches, topics, lines. */
import type { Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { serdeNames, type Serdes } from './random-script.ts'
import { randomPredicate } from './typed-functions.ts'

type Add = (step: Omit<Step, 'id'>) => string

interface Knows {
  readonly key: boolean
  readonly value: boolean
}

/** A stream or table of the program, with the serdes that both sides carry at this point. */
export interface RandomSide {
  readonly id: string
  readonly kind: 'stream' | 'table'
  readonly key: string
  readonly value: string
  readonly javaKnows: Knows
  readonly known: Knows
  readonly changedKey: boolean
  readonly listSteps: number
}

/** Each join multiplies records, as a step of lists does. */
const joinsMax = 2
const inner = ['joinStream']
const outer = ['leftJoinStream', 'outerJoinStream']
const both = { key: true, value: true }

/** Adds steps below streams. */
export class RandomJoins {
  readonly #chance: Chance
  readonly #inputs: Map<string, Serdes>
  readonly #add: Add

  /** The topics that it reads are noted in `inputs`. */
  constructor(chance: Chance, inputs: Map<string, Serdes>, add: Add) {
    this.#chance = chance
    this.#inputs = inputs
    this.#add = add
  }

  /** Joins a stream with another one, or with a table; undefined: not with so many joins above. */
  join<S extends RandomSide>(from: S, open: readonly S[]): S | undefined {
    if (from.listSteps >= joinsMax) return undefined
    const others = open.filter(({ key, listSteps }) => key === from.key && listSteps < joinsMax)
    const tables = others.filter(({ kind }) => kind === 'table')
    if (this.#chance.is(0.15)) return this.#joinWithGrace(from)
    if (tables.length > 0 && this.#chance.is(0.5)) {
      return this.#joinTable(from, this.#chance.pick(tables))
    }
    return this.#joinStream(from, this.#chance.pick(others.filter(({ kind }) => kind === 'stream')))
  }

  #joinStream<S extends RandomSide>(from: S, other: S): S {
    const [joiner, value] = this.#joiner(from, other)
    const length = (): number => this.#chance.pick([0, 1, 5, 10, 60, 1000, 100_000])
    const windows = { before: length(), after: length(), grace: this.#chance.pick([0, 0, 5, 100]) }
    // A window may lie wholly in the future.
    if (this.#chance.is(0.1)) windows.before = -this.#chance.below(windows.after + 1)
    // Kafka Streams cannot show rows of windows without a length.
    if (windows.before + windows.after === 0) windows.after += 1
    const id = this.#add({
      // Kafka Streams cannot tell that two arrays of bytes are the same key, and deletes a row twice.
      op: this.#chance.pick(from.key === 'bytes' ? inner : [...inner, ...outer]),
      from: [from.id, other.id],
      with: joiner,
      windows,
      key: from.key,
      value: from.value,
      otherValue: other.value,
      ...this.#chance.name(),
      ...this.#storesOfJoin(),
    })
    return this.#joined(from, id, value, from.listSteps + other.listSteps + 1)
  }

  #storesOfJoin(): Partial<Step> {
    const name = this.#chance.is(0.2) ? `joined-${this.#chance.number()}` : undefined
    const isInMemory = this.#chance.is(0.7)
    const isLogged = this.#chance.is(0.9)
    const store = {
      ...(name !== undefined && { name }),
      ...(isInMemory && { persistent: false }),
      ...(!isLogged && { changelog: false }),
    }
    return { store: store as Step['store'] }
  }

  #joinTable<S extends RandomSide>(from: S, table: S, grace?: number): S {
    const [joiner, value] = this.#joiner(from, table)
    const id = this.#add({
      op: this.#chance.pick(['joinTable', 'leftJoinTable']),
      from: [from.id, table.id],
      with: joiner,
      key: from.key,
      value: from.value,
      ...this.#chance.name(),
      ...(grace !== undefined && { grace }),
    })
    return this.#joined(from, id, value, from.listSteps)
  }

  /** With a table of its own, since few of them keep versions. */
  #joinWithGrace<S extends RandomSide>(from: S): S {
    const topic = `rows-${this.#chance.number()}`
    const serdes = { key: from.key, value: this.#chance.pick(serdeNames) }
    this.#inputs.set(topic, serdes)
    const name = `versions-${this.#chance.number()}`
    const historyRetention = this.#chance.pick([5, 100, 100_000, 100_000])
    const store = { name, ...serdes, kind: 'versioned' as const, historyRetention }
    const id = this.#add({ op: 'table', topic, ...serdes, store })
    // A left join would fail on a record without a key in Kafka Streams.
    const keyed = this.#add({ op: 'filter', from: from.id, with: 'has-key' })
    const grace = this.#chance.pick([0, 5, 60, 1000])
    return this.#joinTable({ ...from, id: keyed }, { ...from, ...serdes, id }, grace)
  }

  #joined<S extends RandomSide>(from: S, id: string, value: string, listSteps: number): S {
    return {
      ...from,
      id,
      value,
      javaKnows: { key: true, value: false },
      known: { key: true, value: false },
      changedKey: false,
      listSteps,
    }
  }

  #joiner(left: RandomSide, right: RandomSide): readonly [spec: string, type: string] {
    return this.#chance.pick([
      ['pair:+', 'string'],
      ['pair:', 'string'],
      ['keyed-pair:/', 'string'],
      ['no-pair-of:to', 'string'],
      ['left', left.value],
      ['right', right.value],
      ['neither', 'string'],
    ] as const)
  }

  /** Adds a step that routes the records; gives the streams that come out. */
  route<S extends RandomSide>(from: S): S[] {
    return this.#chance.pick([
      () => this.#split(from),
      () => this.#split(from),
      () => this.#repartition(from),
      () => this.#end({ op: 'print', from: from.id, with: 'show', ...this.#label() }),
      () =>
        this.#end({ op: 'toChosen', from: from.id, with: 'constant:chosen', ...serdesOf(from) }),
    ])()
  }

  #split<S extends RandomSide>(from: S): S[] {
    const count = 1 + this.#chance.below(3)
    const isNamed = this.#chance.is(0.7)
    const names = Array.from({ length: count }, (_, at) => (isNamed ? `b${at}` : String(at + 1)))
    const split = this.#add({
      op: 'split',
      from: from.id,
      with: names.map(() => randomPredicate(this.#chance)),
      ...(isNamed && { branches: names }),
      ...(this.#chance.is(0.2) && { rest: 'others' }),
      ...this.#chance.name(),
    })
    const asked = [...names, 'rest'].filter(() => this.#chance.is(0.6))
    return asked.map((branch) => ({
      ...from,
      id: this.#add({ op: 'branch', from: split, branch }),
    }))
  }

  #repartition<S extends RandomSide>(from: S): S[] {
    const id = this.#add({
      op: 'repartition',
      from: from.id,
      ...serdesOf(from),
      // A test driver has one partition of each topic; others would not fit beside them.
      ...(this.#chance.is(0.3) && { partitions: 1 }),
      // Kafka Streams does not look at these names; Millpond refuses what is no name.
      ...(this.#chance.is(0.4) && this.#chance.validName()),
    })
    return [{ ...from, id, javaKnows: both, known: both, changedKey: false }]
  }

  #label(): Partial<Step> {
    return { ...(this.#chance.is(0.3) && { label: 'seen' }), ...this.#chance.name() }
  }

  #end(step: Omit<Step, 'id'>): [] {
    this.#add(step)
    return []
  }
}

const serdesOf = ({ key, value }: Serdes): Serdes => ({ key, value })
