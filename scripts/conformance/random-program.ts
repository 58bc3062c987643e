/** Programs of all operators, well typed, with names, stores and serdes in all the ways there are. */
import type { Step, StoreSpec } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { RandomGlobals } from './random-global.ts'
import { RandomJoins } from './random-joins.ts'
import { serdeNames, type Serdes } from './random-script.ts'
import { RandomTables } from './random-tables.ts'
import { RandomUserProcessors } from './random-user-processors.ts'
import { RandomWindows } from './random-windows.ts'
import {
  randomAggregator,
  randomFunction,
  randomListFunction,
  randomPredicate,
  randomReducer,
} from './typed-functions.ts'

const stepsMax = 14
/** Records multiply in lists; a chain of more than this many steps of lists is not made longer. */
const listStepsMax = 2

/** A stream or table while the program is written. */
interface Open {
  readonly id: string
  readonly kind: 'stream' | 'table'
  readonly key: string
  readonly value: string
  /** Serdes that Kafka Streams carries at this point. */
  readonly javaKnows: { readonly key: boolean; readonly value: boolean }
  /** Serdes that Millpond carries: also those that steps have stated. */
  readonly known: { readonly key: boolean; readonly value: boolean }
  readonly changedKey: boolean
  readonly listSteps: number
  /** Kafka Streams cannot look up rows of streams that are cogrouped in windows; Millpond can. */
  readonly isCogroupedInWindows?: boolean
}

interface Grouping {
  readonly id: string
  readonly key: string
  readonly value: string
}

type SourceFields = Omit<Step, 'op' | 'key' | 'value'> & {
  readonly key: string
  readonly value: string
}

const all = { javaKnows: { key: true, value: true }, known: { key: true, value: true } } as const

/** Writes one program, step by step. */
export class RandomProgram {
  readonly #chance: Chance
  readonly #inputs: Map<string, Serdes>
  readonly #steps: Step[] = []
  readonly #open: Open[] = []
  readonly #groupings: Grouping[] = []
  readonly #globals: RandomGlobals
  readonly #joins: RandomJoins
  readonly #processors: RandomUserProcessors
  readonly #tables: RandomTables
  readonly #windows: RandomWindows
  readonly #sources: { op: 'stream' | 'table'; step: SourceFields }[] = []

  /** The topics that it reads are noted in `inputs`. */
  constructor(chance: Chance, inputs: Map<string, Serdes>) {
    this.#chance = chance
    this.#inputs = inputs
    this.#globals = new RandomGlobals(chance, inputs, (step) => this.#add(step))
    this.#tables = new RandomTables(
      chance,
      (step) => this.#add(step),
      (serdes, probability) => this.#store(serdes, probability, true),
    )
    this.#processors = new RandomUserProcessors(chance, inputs, (step) => this.#add(step))
    this.#joins = new RandomJoins(chance, inputs, (step) => this.#add(step))
    this.#windows = new RandomWindows(chance, (step) => this.#add(step))
  }

  /** All steps. */
  write(): Step[] {
    this.#addSource()
    const count = 1 + this.#chance.below(stepsMax)
    while (this.#steps.length < count) this.#addStep()
    for (const open of this.#open) if (this.#chance.is(0.7)) this.#addSink(open)
    return this.#steps
  }

  #add(step: Omit<Step, 'id'>): string {
    const id = `s${this.#steps.length}`
    this.#steps.push({ id, ...step })
    return id
  }

  #addSource(): void {
    if (this.#sources.length > 0 && this.#chance.is(0.25)) {
      // A topic is read once, or several times in one and the same way; rarely another way is tried.
      const { op, step } = this.#chance.pick(this.#sources)
      if (op === 'stream') this.#addSourceOf(op, step)
      else if (this.#chance.is(0.1)) this.#addSourceOf('stream', step)
      return
    }
    if (this.#chance.is(0.05)) {
      this.#open.push(this.#processors.source())
      return
    }
    const serdes = { key: this.#chance.pick(serdeNames), value: this.#chance.pick(serdeNames) }
    const topics = [`in-${this.#chance.number()}`]
    const op = this.#chance.is(0.25) ? 'table' : 'stream'
    if (op === 'stream' && this.#chance.is(0.1)) topics.push(`in-${this.#chance.number()}`)
    for (const topic of topics) this.#inputs.set(topic, serdes)
    const isWhole = ['string', 'long', 'int', 'short'].includes(serdes.value)
    this.#addSourceOf(op, {
      topic: topics.length === 1 ? topics[0] : topics,
      ...serdes,
      ...(isWhole && this.#chance.is(0.08) && { timestamp: 'parse-int' }),
    })
  }

  #addSourceOf(op: 'stream' | 'table', step: SourceFields): void {
    const { key, value, timestamp } = step
    // Functions are compared by identity, and each step has its own: such a topic is read once.
    if (timestamp === undefined) this.#sources.push({ op, step })
    const store = op === 'table' ? this.#store({ key, value }, 0.5) : {}
    const id = this.#add({ op, ...step, ...this.#chance.name(), ...store })
    this.#open.push({ id, kind: op, key, value, ...all, changedKey: false, listSteps: 0 })
  }

  #addStep(): void {
    if (this.#chance.is(0.1)) {
      this.#addSource()
      return
    }
    if (this.#groupings.length > 0 && this.#chance.is(0.08)) {
      this.#aggregate(this.#chance.pick(this.#groupings))
      return
    }
    // The newest ones more often: chains, not only bushes.
    const at = Math.max(
      this.#chance.below(this.#open.length),
      this.#chance.below(this.#open.length),
    )
    const from = this.#open[at] as Open
    if (from.kind === 'table') this.#addTableStep(from)
    else this.#addStreamStep(from)
  }

  #addStreamStep(from: Open): void {
    const ops: (() => void)[] = [
      () => this.#filter(from),
      () => this.#map(from),
      () => this.#mapValues(from),
      () => this.#flat(from),
      () => this.#selectKey(from),
      () => this.#look(from),
      () => this.#merge(from),
      () => this.#toTable(from),
      () => this.#aggregate(this.#groupBy(from)),
      () => this.#aggregate(this.#groupBy(from)),
      () => this.#aggregate(this.#groupByKey(from)),
      () => this.#aggregate(this.#groupByKey(from)),
      () => this.#through(from),
      () => this.#joinGlobal(from),
      () => this.#join(from),
      () => this.#join(from),
      () => this.#open.push(...this.#joins.route(from)),
      () => this.#process(from),
    ]
    this.#chance.pick(ops)()
  }

  #filter(from: Open): void {
    const op = this.#chance.pick(['filter', 'filterNot'])
    const id = this.#add({
      op,
      from: from.id,
      with: randomPredicate(this.#chance),
      ...this.#chance.name(),
    })
    this.#open.push({ ...from, id })
  }

  #map(from: Open): void {
    const [toKey, key] = randomFunction(this.#chance, from)
    const [toValue, value] = randomFunction(this.#chance, from)
    this.#addMap(from, { op: 'map', with: [toKey, toValue] }, { key, value })
  }

  #mapValues(from: Open): void {
    const [spec, value] = randomFunction(this.#chance, from)
    this.#addMap(from, { op: 'mapValues', with: spec }, { value })
  }

  #selectKey(from: Open): void {
    const [spec, key] = randomFunction(this.#chance, from)
    this.#addMap(from, { op: 'selectKey', with: spec }, { key })
  }

  #flat(from: Open): void {
    if (from.listSteps >= listStepsMax) return
    const [list, item] = randomListFunction(this.#chance, from.value)
    if (this.#chance.is(0.5)) {
      this.#addMap(from, { op: 'flatMapValues', with: list }, { value: item }, 1)
      return
    }
    const [toKey, key] = randomFunction(this.#chance, { ...from, value: item })
    const [toValue, value] = randomFunction(this.#chance, { ...from, value: item })
    this.#addMap(from, { op: 'flatMap', with: [list, toKey, toValue] }, { key, value }, 1)
  }

  /** A step that gives another key or value, and may state the serdes of what it gives. */
  #addMap(
    from: Open,
    step: { op: string; with: string | string[] },
    types: { key?: string; value?: string },
    listSteps = 0,
  ): void {
    const stated = this.#chance.is(0.5) ? types : {}
    const id = this.#add({ ...step, from: from.id, ...stated, ...this.#chance.name() })
    const changes = { key: types.key !== undefined, value: types.value !== undefined }
    this.#open.push({
      ...from,
      ...types,
      id,
      javaKnows: {
        key: from.javaKnows.key && !changes.key,
        value: from.javaKnows.value && !changes.value,
      },
      known: {
        key: changes.key ? stated.key !== undefined : from.known.key,
        value: changes.value ? stated.value !== undefined : from.known.value,
      },
      changedKey: from.changedKey || changes.key,
      listSteps: from.listSteps + listSteps,
    })
  }

  #join(from: Open): void {
    const joined = this.#joins.join(from, this.#open)
    if (joined !== undefined) this.#open.push(joined)
  }

  #process(from: Open): void {
    const processed = this.#processors.step(from)
    if (processed !== undefined) this.#open.push(processed)
  }

  #joinGlobal(from: Open): void {
    const { id, value } = this.#globals.join(from)
    const javaKnows = { key: from.javaKnows.key, value: false }
    this.#open.push({ ...from, id, value, javaKnows, known: { key: from.known.key, value: false } })
  }

  #look(from: Open): void {
    const id = this.#add({
      op: this.#chance.is(0.7) ? 'peek' : 'forEach',
      from: from.id,
      ...this.#chance.name(),
    })
    if (this.#steps.at(-1)?.op === 'peek') this.#open.push({ ...from, id })
  }

  #merge(from: Open): void {
    const others = this.#open.filter(
      ({ kind, key, value }) => kind === 'stream' && key === from.key && value === from.value,
    )
    const other = this.#chance.pick(others)
    const id = this.#add({ op: 'merge', from: [from.id, other.id], ...this.#chance.name() })
    // Kafka Streams forgets the serdes; Millpond keeps them when both sides have the same.
    const both = (part: 'key' | 'value'): boolean => from.known[part] && other.known[part]
    this.#open.push({
      ...from,
      id,
      javaKnows: { key: false, value: false },
      known: { key: both('key'), value: both('value') },
      changedKey: from.changedKey || other.changedKey,
      listSteps: Math.max(from.listSteps, other.listSteps) + (from === other ? 1 : 0),
    })
  }

  /** Through a topic of the user's: the readers of it are new steps, so nothing goes in circles. */
  #through(from: Open): void {
    const topic = `mid-${this.#chance.number()}`
    const serdes = { key: from.key, value: from.value }
    this.#add({ op: 'to', from: from.id, topic, ...serdes, ...this.#chance.name() })
    if (this.#chance.is(0.4)) {
      this.#inputs.set(topic, serdes)
      this.#addSourceOf(this.#chance.is(0.3) ? 'table' : 'stream', { topic, ...serdes })
    }
  }

  #toTable(from: Open): void {
    const { key, value } = from
    const mustState = !from.javaKnows.key || !from.javaKnows.value
    const knowsAll = from.known.key && from.known.value
    // A store of toTable inherits nothing in Kafka Streams, nor does that of a table's filter.
    let stated: Partial<Step> = this.#store({ key, value }, 0.6, true)
    // Unnamed, Kafka Streams needs the serdes here; Millpond has them from the steps above.
    if (stated.store === undefined && mustState) {
      stated = knowsAll ? { key, value } : this.#store({ key, value }, 1, true)
    }
    const id = this.#add({ op: 'toTable', from: from.id, ...stated, ...this.#chance.name() })
    this.#open.push({ ...from, id, kind: 'table', ...all, changedKey: false })
  }

  #groupBy(from: Open): Grouping {
    const [spec, key] = randomFunction(this.#chance, from)
    const { value } = from
    const id = this.#add({
      op: 'groupBy',
      from: from.id,
      with: spec,
      key,
      value,
      ...this.#chance.name(0.3),
    })
    return this.#grouping({ id, key, value })
  }

  #groupByKey(from: Open): Grouping {
    const { key, value } = from
    const isKnown = from.javaKnows.key && from.javaKnows.value
    // Sometimes nobody knows the serdes: both sides must refuse a repartition.
    const isUnknown = !from.known.key && !from.known.value && from.changedKey
    const isBare = (isKnown && this.#chance.is(0.5)) || (isUnknown && this.#chance.is(0.05))
    const id = isBare
      ? this.#add({ op: 'groupByKey', from: from.id })
      : this.#add({ op: 'groupByKey', from: from.id, key, value, ...this.#chance.name(0.3) })
    return this.#grouping({ id, key, value })
  }

  #grouping(grouping: Grouping): Grouping {
    this.#groupings.push(grouping)
    return grouping
  }

  #aggregate(grouping: Grouping): void {
    if (this.#chance.is(0.35)) {
      const { id, key, value } = this.#windows.aggregate(grouping)
      this.#openTable(id, key, value)
      return
    }
    if (this.#chance.is(0.15)) {
      this.#cogroup(grouping)
      return
    }
    const { id: from, key, value } = grouping
    const op = this.#chance.pick(['count', 'reduce', 'aggregate'])
    const step = { op, from, ...this.#chance.name() }
    if (op === 'count') {
      this.#openTable(
        this.#add({ ...step, ...this.#store({ key, value: 'long' }, 0.6) }),
        key,
        'long',
      )
      return
    }
    if (op === 'reduce') {
      const store = this.#store({ key, value }, 0.6)
      const id = this.#add({ ...step, with: randomReducer(this.#chance, value), ...store })
      this.#openTable(id, key, value)
      return
    }
    const [initializer, fold, result] = randomAggregator(this.#chance, value)
    const store = this.#store({ key, value: result }, 0.6, true)
    const stated = store.store === undefined ? { value: result } : store
    const id = this.#add({ ...step, with: [initializer, fold], ...stated })
    this.#openTable(id, key, result)
  }

  #cogroup(grouping: Grouping): void {
    const others = this.#groupings.filter(
      ({ id, key }) => id !== grouping.id && key === grouping.key && this.#chance.is(0.5),
    )
    const { id, key, value } = this.#windows.cogroup([grouping, ...others])
    this.#openTable(id, key, value, key !== grouping.key)
  }

  #openTable(id: string, key: string, value: string, isCogroupedInWindows = false): void {
    const table = { id, kind: 'table', key, value, changedKey: false, listSteps: 0 } as const
    this.#open.push({ ...table, ...all, isCogroupedInWindows })
  }

  #addTableStep(from: Open): void {
    // Kafka Streams has no serdes of its own for what is held back.
    if (from.javaKnows.key && from.javaKnows.value && this.#chance.is(0.15)) {
      this.#open.push({ ...from, id: this.#windows.suppress(from) })
      return
    }
    if (from.isCogroupedInWindows !== true && this.#chance.is(0.4)) {
      const others = this.#open.filter(
        ({ kind, isCogroupedInWindows }) => kind === 'table' && isCogroupedInWindows !== true,
      )
      const table = this.#tables.step(from, others)
      if (table !== undefined) this.#open.push({ ...from, ...table })
      return
    }
    if (this.#chance.is(0.4)) {
      this.#open.push(this.#toStream(from))
      return
    }
    if (this.#chance.is(0.5)) {
      const { key, value } = from
      const store = this.#store({ key, value }, 0.4, true)
      const op = this.#chance.pick(['filter', 'filterNot'])
      const step = {
        op,
        from: from.id,
        with: randomPredicate(this.#chance),
        ...this.#chance.name(),
        ...store,
      }
      this.#open.push({ ...from, id: this.#add(step), ...(store.store !== undefined && all) })
      return
    }
    const [spec, value] = randomFunction(this.#chance, from)
    const store = this.#store({ key: from.key, value }, 0.4, true)
    const step = { op: 'mapValues', from: from.id, with: spec, ...this.#chance.name(), ...store }
    const id = this.#add(step)
    const javaKnows = { key: from.javaKnows.key, value: false }
    const known = { key: from.known.key, value: false }
    const knows = store.store === undefined ? { javaKnows, known } : all
    this.#open.push({ ...from, id, value, ...knows })
  }

  #toStream(from: Open): Open {
    const stream = { ...from, kind: 'stream', changedKey: false } as const
    const step = { op: 'toStream', from: from.id, ...this.#chance.name() }
    if (this.#chance.is(0.8)) return { ...stream, id: this.#add(step) }
    const [spec, key] = randomFunction(this.#chance, from)
    const id = this.#add({ ...step, with: spec })
    const forgets = (knows: Open['known']): Open['known'] => ({ key: false, value: knows.value })
    const { javaKnows, known } = from
    const serdes = { javaKnows: forgets(javaKnows), known: forgets(known) }
    return { ...stream, id, key, ...serdes, changedKey: true }
  }

  #addSink(from: Open): void {
    let open = from
    if (open.kind === 'table') {
      const id = this.#add({ op: 'toStream', from: open.id })
      open = { ...open, id, kind: 'stream' }
    }
    const { id, key, value } = open
    const topic = this.#chance.is(0.1) ? 'shared-out' : `out-${this.#chance.number()}`
    this.#add({ op: 'to', from: id, topic, key, value, ...this.#chance.name() })
  }

  /** With that probability a store; `stated`: it must name the serdes. */
  #store(
    serdes: { key: string; value: string },
    probability: number,
    stated = false,
  ): { store?: string | StoreSpec } {
    if (!this.#chance.is(probability)) return {}
    const name = this.#chance.name(1).name ?? 'store'
    if (!stated && this.#chance.is(0.4)) return { store: name }
    if (this.#chance.is(0.1)) {
      const historyRetention = this.#chance.pick([0, 5, 100, 100_000])
      // Kafka Streams does not look at names of such stores; Millpond refuses what is no name.
      const legal = `versions-${this.#chance.number()}`
      return { store: { name: legal, ...serdes, kind: 'versioned', historyRetention } }
    }
    return {
      store: {
        name,
        ...serdes,
        ...(this.#chance.is(0.4) && { caching: false }),
        // In memory most of the time: opening files is what takes long.
        ...(this.#chance.is(0.75) && { persistent: false }),
        ...(this.#chance.is(0.1) && { changelog: false }),
        ...(this.#chance.is(0.05) && { changelog: { 'retention.ms': '86400000' } }),
      },
    }
  }
}
