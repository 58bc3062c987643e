/**
 * Random conformance cases: programs of all operators, well typed, and scripts of few keys, disordered
 * timestamps, nulls and headers. The same seed and number give the same case.
 */
import { randomInteger, seededRandom, type Random } from '../../src/base/random.ts'
import type {
  CaseConfig,
  ConformanceCase,
  ScriptEntry,
  ScriptRecord,
  ScriptValue,
  Step,
  StoreSpec,
} from '../../test/conformance/case.ts'

/** Serdes that the generator reads topics with; functions give string, long and double. */
const serdeNames = [
  'string',
  'string',
  'string',
  'long',
  'long',
  'int',
  'double',
  'short',
  'float',
  'boolean',
  'bytes',
  'uuid',
  'list:string',
] as const

const stepsMax = 14
const recordsMax = 24
/** Records multiply in lists; a chain of more than this many steps of lists is not made longer. */
const listStepsMax = 2

const valuePools: Readonly<Record<string, readonly ScriptValue[]>> = {
  string: ['to', 'be', 'to be', 'or not', 'drop', '5', '-12', '7 7', '', 'grüß dich', 'a😀b'],
  long: [0, 1, 2, 7, -1, 255, 4_294_967_296, -4_294_967_296],
  int: [0, 1, 2, -1, 300, -2_147_483_648, 2_147_483_647],
  short: [0, 1, -1, 32_767, -32_768],
  double: [0, 0.5, -0.25, 3, 1000],
  float: [0, 1.5, -2.25, 64],
  boolean: [true, false],
  bytes: [{ hex: '' }, { hex: '00' }, { hex: '0001' }, { hex: 'ff' }],
  uuid: ['00000000-0000-0000-0000-000000000000', '123e4567-e89b-12d3-a456-426614174000'],
  'list:string': [[], ['a'], ['a', null, 'b c'], ['']],
}

const headerNames = ['h', 'trace', 'h']

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
}

interface Grouping {
  readonly id: string
  readonly key: string
  readonly value: string
}

/** A function and the type of what it gives. */
type TypedFunction = readonly [spec: string, type: string]

/** The case of that number in the sequence that the seed begins. */
export function generateCase(seed: number, index: number): ConformanceCase {
  // Neighbours differ in one bit; a step through the generator takes them apart.
  const random = seededRandom((seed * 1_000_003 + index) >>> 0)
  random.next()
  return new Generator(random).generate(`seed ${seed}, case ${index}`)
}

class Generator {
  readonly #random: Random
  readonly #steps: Step[] = []
  readonly #open: Open[] = []
  readonly #groupings: Grouping[] = []
  /** Serdes of the topics that the script may write. */
  readonly #inputs = new Map<string, { key: string; value: string }>()
  readonly #names = new Set<string>()
  #nextNumber = 0

  constructor(random: Random) {
    this.#random = random
  }

  generate(name: string): ConformanceCase {
    if (this.#chance(0.06)) this.#writeProcessors()
    else this.#writeSteps()
    return { name, config: this.#config(), topology: this.#steps, script: this.#script() }
  }

  // Chance.

  #chance(probability: number): boolean {
    return this.#random.next() < probability
  }

  #below(bound: number): number {
    return randomInteger(this.#random, bound)
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T
  }

  #number(): number {
    this.#nextNumber += 1
    return this.#nextNumber
  }

  /** Nothing, or a name; very rarely one that is taken or not allowed. */
  #name(probability = 0.2): { name?: string } {
    if (!this.#chance(probability)) return {}
    if (this.#chance(0.01)) return { name: this.#pick(['', 'a b', '..', ...this.#names]) }
    const words = ['count', 'by-user', 'Log', 'trim', 'x', 'KSTREAM-FILTER', 'last.seen', '0']
    const name = `${this.#pick(words)}-${this.#number()}`
    this.#names.add(name)
    return { name }
  }

  // Programs of the language.

  #writeSteps(): void {
    this.#addSource()
    const count = 1 + this.#below(stepsMax)
    while (this.#steps.length < count) this.#addStep()
    for (const open of this.#open) if (this.#chance(0.7)) this.#addSink(open)
  }

  #add(step: Omit<Step, 'id'>): string {
    const id = `s${this.#steps.length}`
    this.#steps.push({ id, ...step })
    return id
  }

  #addSource(): void {
    const reread = [...this.#inputs.keys()]
    if (reread.length > 0 && this.#chance(0.3)) {
      const topic = this.#pick(reread)
      const serdes = this.#inputs.get(topic) as { key: string; value: string }
      this.#addSourceOf([topic], serdes, this.#chance(0.05) ? 'table' : 'stream')
      return
    }
    const serdes = { key: this.#pick(serdeNames), value: this.#pick(serdeNames) }
    const topics = [`in-${this.#number()}`]
    const op = this.#chance(0.25) ? 'table' : 'stream'
    if (op === 'stream' && this.#chance(0.1)) topics.push(`in-${this.#number()}`)
    for (const topic of topics) this.#inputs.set(topic, serdes)
    this.#addSourceOf(topics, serdes, op)
  }

  #addSourceOf(
    topics: readonly string[],
    serdes: { key: string; value: string },
    op: 'stream' | 'table',
  ): void {
    const topic = topics.length === 1 ? topics[0] : topics
    const store = op === 'table' ? this.#store(serdes, 0.5) : {}
    const id = this.#add({ op, topic, ...serdes, ...this.#name(), ...store })
    this.#open.push({
      id,
      kind: op,
      ...serdes,
      javaKnows: { key: true, value: true },
      known: { key: true, value: true },
      changedKey: false,
      listSteps: 0,
    })
  }

  #addStep(): void {
    if (this.#chance(0.1)) {
      this.#addSource()
      return
    }
    if (this.#groupings.length > 0 && this.#chance(0.08)) {
      this.#aggregate(this.#pick(this.#groupings))
      return
    }
    // The newest ones more often: chains, not only bushes.
    const at = Math.max(this.#below(this.#open.length), this.#below(this.#open.length))
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
    ]
    this.#pick(ops)()
  }

  #filter(from: Open): void {
    const op = this.#pick(['filter', 'filterNot'])
    const id = this.#add({ op, from: from.id, with: this.#predicate(), ...this.#name() })
    this.#open.push({ ...from, id })
  }

  #map(from: Open): void {
    const [toKey, key] = this.#function(from)
    const [toValue, value] = this.#function(from)
    this.#addMap(from, { op: 'map', with: [toKey, toValue] }, { key, value })
  }

  #mapValues(from: Open): void {
    const [spec, value] = this.#function(from)
    this.#addMap(from, { op: 'mapValues', with: spec }, { value })
  }

  #selectKey(from: Open): void {
    const [spec, key] = this.#function(from)
    this.#addMap(from, { op: 'selectKey', with: spec }, { key })
  }

  #flat(from: Open): void {
    if (from.listSteps >= listStepsMax) return
    const [list, item] = this.#listFunction(from)
    if (this.#chance(0.5)) {
      this.#addMap(from, { op: 'flatMapValues', with: list }, { value: item }, 1)
      return
    }
    const [toKey, key] = this.#function({ ...from, value: item })
    const [toValue, value] = this.#function({ ...from, value: item })
    this.#addMap(from, { op: 'flatMap', with: [list, toKey, toValue] }, { key, value }, 1)
  }

  /** A step that gives another key or value, and may state the serdes of what it gives. */
  #addMap(
    from: Open,
    step: { op: string; with: string | string[] },
    types: { key?: string; value?: string },
    listSteps = 0,
  ): void {
    const stated = this.#chance(0.5) ? types : {}
    const id = this.#add({ ...step, from: from.id, ...stated, ...this.#name() })
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

  #look(from: Open): void {
    const id = this.#add({
      op: this.#chance(0.7) ? 'peek' : 'forEach',
      from: from.id,
      ...this.#name(),
    })
    if (this.#steps.at(-1)?.op === 'peek') this.#open.push({ ...from, id })
  }

  #merge(from: Open): void {
    const others = this.#open.filter(
      ({ kind, key, value }) => kind === 'stream' && key === from.key && value === from.value,
    )
    const other = this.#pick(others)
    const id = this.#add({ op: 'merge', from: [from.id, other.id], ...this.#name() })
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
    const topic = `mid-${this.#number()}`
    const serdes = { key: from.key, value: from.value }
    this.#add({ op: 'to', from: from.id, topic, ...serdes, ...this.#name() })
    if (this.#chance(0.4)) {
      this.#inputs.set(topic, serdes)
      this.#addSourceOf([topic], serdes, this.#chance(0.3) ? 'table' : 'stream')
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
    const id = this.#add({ op: 'toTable', from: from.id, ...stated, ...this.#name() })
    this.#open.push({ ...from, id, kind: 'table', ...all, changedKey: false })
  }

  #groupBy(from: Open): Grouping {
    const [spec, key] = this.#function(from)
    const { value } = from
    const id = this.#add({
      op: 'groupBy',
      from: from.id,
      with: spec,
      key,
      value,
      ...this.#name(0.3),
    })
    return this.#grouping({ id, key, value })
  }

  #groupByKey(from: Open): Grouping {
    const { key, value } = from
    const isKnown = from.javaKnows.key && from.javaKnows.value
    // Sometimes nobody knows the serdes: both sides must refuse a repartition.
    const isUnknown = !from.known.key && !from.known.value && from.changedKey
    const isBare = (isKnown && this.#chance(0.5)) || (isUnknown && this.#chance(0.05))
    const id = isBare
      ? this.#add({ op: 'groupByKey', from: from.id })
      : this.#add({ op: 'groupByKey', from: from.id, key, value, ...this.#name(0.3) })
    return this.#grouping({ id, key, value })
  }

  #grouping(grouping: Grouping): Grouping {
    this.#groupings.push(grouping)
    return grouping
  }

  #aggregate({ id: from, key, value }: Grouping): void {
    const op = this.#pick(['count', 'reduce', 'aggregate'])
    const step = { op, from, ...this.#name() }
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
      const id = this.#add({ ...step, with: this.#reducer(value), ...store })
      this.#openTable(id, key, value)
      return
    }
    const [initializer, fold, result] = this.#aggregator(value)
    const store = this.#store({ key, value: result }, 0.6, true)
    const stated = store.store === undefined ? { value: result } : store
    const id = this.#add({ ...step, with: [initializer, fold], ...stated })
    this.#openTable(id, key, result)
  }

  #openTable(id: string, key: string, value: string): void {
    this.#open.push({ id, kind: 'table', key, value, ...all, changedKey: false, listSteps: 0 })
  }

  #addTableStep(from: Open): void {
    if (this.#chance(0.4)) {
      this.#open.push({
        ...from,
        id: this.#add({ op: 'toStream', from: from.id, ...this.#name() }),
        kind: 'stream',
        changedKey: false,
      })
      return
    }
    if (this.#chance(0.5)) {
      const { key, value } = from
      const store = this.#store({ key, value }, 0.4, true)
      const op = this.#pick(['filter', 'filterNot'])
      const step = { op, from: from.id, with: this.#predicate(), ...this.#name(), ...store }
      this.#open.push({ ...from, id: this.#add(step), ...(store.store !== undefined && all) })
      return
    }
    const [spec, value] = this.#function(from)
    const store = this.#store({ key: from.key, value }, 0.4, true)
    const step = { op: 'mapValues', from: from.id, with: spec, ...this.#name(), ...store }
    const id = this.#add(step)
    const javaKnows = { key: from.javaKnows.key, value: false }
    const known = { key: from.known.key, value: false }
    const knows = store.store === undefined ? { javaKnows, known } : all
    this.#open.push({ ...from, id, value, ...knows })
  }

  #addSink(from: Open): void {
    let open = from
    if (open.kind === 'table') {
      const id = this.#add({ op: 'toStream', from: open.id })
      open = { ...open, id, kind: 'stream' }
    }
    const { id, key, value } = open
    const topic = this.#chance(0.1) ? 'shared-out' : `out-${this.#number()}`
    this.#add({ op: 'to', from: id, topic, key, value, ...this.#name() })
  }

  /** With that probability a store; `stated`: it must name the serdes. */
  #store(
    serdes: { key: string; value: string },
    probability: number,
    stated = false,
  ): { store?: string | StoreSpec } {
    if (!this.#chance(probability)) return {}
    const name = this.#name(1).name ?? 'store'
    if (!stated && this.#chance(0.4)) return { store: name }
    return {
      store: {
        name,
        ...serdes,
        ...(this.#chance(0.4) && { caching: false }),
        // In memory most of the time: opening files is what takes long.
        ...(this.#chance(0.75) && { persistent: false }),
        ...(this.#chance(0.1) && { changelog: false }),
        ...(this.#chance(0.05) && { changelog: { 'retention.ms': '86400000' } }),
      },
    }
  }

  // Functions by type.

  #function({ key, value }: { key: string; value: string }): TypedFunction {
    const isFraction = value === 'double' || value === 'float'
    const isNumber = isFraction || value === 'long' || value === 'int' || value === 'short'
    return this.#pick<TypedFunction>([
      ['value', value],
      ['value', value],
      ['key', key],
      ['text', 'string'],
      ['show', 'string'],
      ['upper', 'string'],
      [`append:${this.#pick(['x', '!', ' '])}`, 'string'],
      [`prefix:${this.#below(4)}`, 'string'],
      ['constant:c', 'string'],
      ['length', 'long'],
      [`number:${this.#below(3)}`, 'long'],
      ['parse-int', isNumber ? value : 'long'],
      ['add:1', isFraction ? 'double' : 'long'],
      ['mod:3', 'long'],
      ['quarter', 'double'],
      ['null', value],
      [`null-when:${this.#pick(['drop', '1', '', 'true'])}`, value],
      [`null-when:${this.#pick(['to', '0', 'null'])}`, value],
    ])
  }

  #listFunction({ value }: { value: string }): TypedFunction {
    return this.#pick<TypedFunction>([
      ['words', 'string'],
      ['words', 'string'],
      [`repeat:${this.#below(3)}`, value],
      ['and-null', value],
    ])
  }

  #predicate(): string {
    return this.#pick([
      'not-null',
      'is-null',
      'has-key',
      'even',
      'all',
      'none',
      `longer-than:${this.#below(5)}`,
      `starts-with:${this.#pick(['t', '-', '1'])}`,
      `equals:${this.#pick(['to', '1', 'true', 'null'])}`,
    ])
  }

  #reducer(value: string): string {
    const any = ['first', 'last', 'last', 'longest', 'nothing']
    if (value === 'string') {
      return this.#pick([...any, 'concat', 'concat', 'concat-until:9', 'null-on:drop'])
    }
    if (value === 'double') return this.#pick([...any, 'sum', 'sum-until:3'])
    return this.#pick(value === 'long' ? [...any, 'sum-until:4'] : any)
  }

  #aggregator(value: string): readonly [initializer: string, fold: string, type: string] {
    if (value !== 'double' && value !== 'float' && this.#chance(0.4)) {
      return ['number:0', this.#pick(['count', 'sum-until:3', 'nothing']), 'long']
    }
    const folds = ['concat', 'concat-keyed', 'concat-until:9', 'null-on:drop', 'first', 'nothing']
    return [
      this.#pick(['constant:', 'constant:0', 'number:0', 'text']),
      this.#pick(folds),
      'string',
    ]
  }

  // Programs of the Processor API.

  #writeProcessors(): void {
    const strings = { key: 'string', value: 'string' }
    const nodes: string[] = []
    const processors: { name: string; step: Step }[] = []
    for (let i = 0; i <= this.#below(3); i += 1) {
      const topic = `in-${this.#number()}`
      const name = `source-${this.#number()}`
      this.#inputs.set(topic, strings)
      this.#steps.push({ op: 'source', name, topic, ...strings })
      nodes.push(name)
    }
    for (let i = 0; i <= this.#below(4); i += 1) {
      const name = `processor-${this.#number()}`
      const from = [...new Set([this.#pick(nodes), this.#pick(nodes)])]
      const what = this.#pick([
        'pass',
        'remember',
        'remember',
        `punctuate:${5 + this.#below(20)},7`,
      ])
      const step = { op: 'processor', name, from, with: what }
      processors.push({ name, step })
      this.#steps.push(step)
      nodes.push(name)
    }
    this.#addProcessorStores(processors)
    for (let i = 0; i <= this.#below(3); i += 1) {
      const name = `sink-${this.#number()}`
      const from = [...new Set([this.#pick(nodes), this.#pick(nodes)])]
      this.#steps.push({ op: 'sink', name, from, topic: `out-${this.#below(3)}`, ...strings })
    }
  }

  #addProcessorStores(processors: readonly { name: string; step: Step }[]): void {
    const rememberers = processors.filter(({ step }) => step.with === 'remember')
    if (rememberers.length === 0) return
    const storesOf = new Map<string, string[]>()
    for (let i = 0; i <= this.#below(2); i += 1) {
      const name = `store-${this.#number()}`
      const users = new Set([this.#pick(rememberers).name, this.#pick(rememberers).name])
      for (const user of users) storesOf.set(user, [...(storesOf.get(user) ?? []), name])
      this.#steps.push({
        op: 'store',
        name,
        key: 'string',
        value: 'string',
        processors: [...users],
        ...(this.#chance(0.5) && { caching: true }),
        ...(this.#chance(0.7) && { persistent: false }),
        ...(this.#chance(0.2) && { changelog: false }),
      })
    }
    for (const { name, step } of rememberers) {
      const at = this.#steps.indexOf(step)
      this.#steps[at] = { ...step, stores: storesOf.get(name) ?? [] }
    }
  }

  // Scripts.

  #config(): CaseConfig {
    return {
      ...(this.#chance(0.3) && { cacheBytes: 0 }),
      ...(this.#chance(0.2) && { guarantee: 'exactly-once' as const }),
      ...(this.#chance(0.3) && { onDeserializationError: 'continue' as const }),
      ...(this.#chance(0.2) && { wallClock: this.#below(100_000) }),
    }
  }

  #script(): ScriptEntry[] {
    const topics = [...this.#inputs.keys()]
    const keyCount = 1 + this.#below(4)
    const entries: ScriptEntry[] = []
    const count = 2 + this.#below(recordsMax)
    let time = this.#pick([0, 0, 100, 1_700_000_000_000])
    for (let i = 0; i < count; i += 1) {
      if (this.#chance(0.06)) {
        entries.push({ advanceWallClock: this.#pick([1, 7, 30, 1000]) })
        continue
      }
      time += this.#pick([0, 1, 5, 10, 10, 60, 1000])
      const timestamp = Math.max(0, time + this.#pick([0, 0, 0, -1, -5, -30, -2000]))
      entries.push(this.#record(this.#pick(topics), timestamp, keyCount))
    }
    return entries
  }

  #record(topic: string, timestamp: number, keyCount: number): ScriptRecord {
    const serdes = this.#inputs.get(topic) as { key: string; value: string }
    const keys = (valuePools[serdes.key] as readonly ScriptValue[]).slice(0, keyCount)
    return {
      topic,
      key: this.#chance(0.1) ? null : this.#pick(keys),
      value: this.#value(serdes.value),
      timestamp,
      ...(this.#chance(0.12) && { headers: this.#headers() }),
    }
  }

  #value(serde: string): ScriptValue {
    if (this.#chance(0.12)) return null
    if (this.#chance(0.003)) return { hex: '00ff00' }
    return this.#pick(valuePools[serde] as readonly ScriptValue[])
  }

  #headers(): [name: string, value: string | null][] {
    const headers: [name: string, value: string | null][] = []
    for (let i = 0; i <= this.#below(3); i += 1) {
      headers.push([this.#pick(headerNames), this.#pick(['x', 'ü', '', null])])
    }
    return headers
  }
}

const all = { javaKnows: { key: true, value: true }, known: { key: true, value: true } } as const
