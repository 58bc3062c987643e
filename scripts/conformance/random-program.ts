/** Programs of all operators, well typed, with names, stores and serdes in all the ways there are. */
import type { Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { RandomChanges, type ChangeKind } from './random-changes.ts'
import { RandomGlobals } from './random-global.ts'
import { RandomJoins } from './random-joins.ts'
import { serdeNames, type Serdes } from './random-script.ts'
import { randomStepStore } from './random-step-store.ts'
import { RandomTables } from './random-tables.ts'
import { RandomUserProcessors } from './random-user-processors.ts'
import { RandomWindows } from './random-windows.ts'
import {
  randomAggregator,
  randomFunction,
  randomPredicate,
  randomReducer,
} from './typed-functions.ts'

const stepsMax = 14

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
  readonly #changes: RandomChanges
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
    this.#changes = new RandomChanges(chance, (step) => this.#add(step))
    this.#globals = new RandomGlobals(chance, inputs, (step) => this.#add(step))
    this.#tables = new RandomTables(
      chance,
      (step) => this.#add(step),
      (serdes, probability) => randomStepStore(chance, serdes, probability, true),
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
    const store = op === 'table' ? randomStepStore(this.#chance, { key, value }, 0.5) : {}
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
      () => this.#change(from, 'map'),
      () => this.#change(from, 'mapValues'),
      () => this.#change(from, 'flat'),
      () => this.#change(from, 'selectKey'),
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

  #change(from: Open, kind: ChangeKind): void {
    const changed = this.#changes.step(from, kind)
    if (changed !== undefined) this.#open.push(changed)
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
    let stated: Partial<Step> = randomStepStore(this.#chance, { key, value }, 0.6, true)
    // Unnamed, Kafka Streams needs the serdes here; Millpond has them from the steps above.
    if (stated.store === undefined && mustState) {
      stated = knowsAll ? { key, value } : randomStepStore(this.#chance, { key, value }, 1, true)
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
        this.#add({ ...step, ...randomStepStore(this.#chance, { key, value: 'long' }, 0.6) }),
        key,
        'long',
      )
      return
    }
    if (op === 'reduce') {
      const store = randomStepStore(this.#chance, { key, value }, 0.6)
      const id = this.#add({ ...step, with: randomReducer(this.#chance, value), ...store })
      this.#openTable(id, key, value)
      return
    }
    const [initializer, fold, result] = randomAggregator(this.#chance, value)
    const store = randomStepStore(this.#chance, { key, value: result }, 0.6, true)
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
      const store = randomStepStore(this.#chance, { key, value }, 0.4, true)
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
    const store = randomStepStore(this.#chance, { key: from.key, value }, 0.4, true)
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
}
