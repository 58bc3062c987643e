/** Processors of one's own among the steps of a random program, and sources by pattern. */
import type { ProcessorStore, Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import type { RandomSide } from './random-joins.ts'
import { serdeNames, type Serdes } from './random-script.ts'

type Add = (step: Omit<Step, 'id'>) => string

/** A processor, the serdes of what it forwards (undefined: it forwards nothing), and its stores. */
interface RandomProcessor {
  readonly spec: string
  readonly gives: Serdes | undefined
  /** The serdes of the stores that it needs. */
  readonly stores?: Serdes
}

const strings = { key: 'string', value: 'string' }
const neither = { key: false, value: false }
const both = { key: true, value: true }

/** Adds such steps. */
export class RandomUserProcessors {
  readonly #chance: Chance
  readonly #inputs: Map<string, Serdes>
  readonly #add: Add
  /** Those that another processor may share. */
  readonly #stores = new Set<ProcessorStore & Serdes>()

  /** The topics that it reads are noted in `inputs`. */
  constructor(chance: Chance, inputs: Map<string, Serdes>, add: Add) {
    this.#chance = chance
    this.#inputs = inputs
    this.#add = add
  }

  /** A stream of all topics of a pattern. */
  source(): RandomSide {
    const serdes = { key: this.#chance.pick(serdeNames), value: this.#chance.pick(serdeNames) }
    const prefix = `matching-${this.#chance.number()}`
    // One topic: Kafka Streams' test driver numbers the records of all topics of a pattern together.
    this.#inputs.set(`${prefix}-${this.#chance.number()}`, serdes)
    const pattern = `${prefix}-[0-9]+`
    const id = this.#add({ op: 'streamPattern', pattern, ...serdes, ...this.#chance.name() })
    const knows = { javaKnows: both, known: both }
    return { id, kind: 'stream', ...serdes, ...knows, changedKey: false, listSteps: 0 }
  }

  /** Adds a processor below a stream; gives what comes out, if anything does. */
  step<S extends RandomSide>(from: S): S | undefined {
    return this.#chance.is(0.5) ? this.#process(from) : this.#processValues(from)
  }

  #process<S extends RandomSide>(from: S): S | undefined {
    const rekeyed = { key: from.value, value: from.key }
    const processors: RandomProcessor[] = [
      ...this.#ofAnyKind(from),
      { spec: 'rekey', gives: rekeyed },
      { spec: `empty-at:${5 + this.#chance.below(20)}`, gives: from, stores: from },
      ...(from.key === 'string' ? this.#punctuating(from) : []),
    ]
    const processor = this.#chance.pick(processors)
    const { gives } = processor
    const stated: Partial<Serdes> =
      gives !== undefined && this.#chance.is(0.5) ? serdesOf(gives) : {}
    const id = this.#added('process', from, processor, stated)
    if (gives === undefined) return undefined
    const known = stated.key === undefined ? neither : both
    return { ...from, ...serdesOf(gives), id, javaKnows: neither, known, changedKey: true }
  }

  #processValues<S extends RandomSide>(from: S): S | undefined {
    // What it forwards has the key of the last record: punctuations may be of any stream.
    const processors = [...this.#ofAnyKind(from), ...this.#punctuating(from)]
    const processor = this.#chance.pick(processors)
    const { gives } = processor
    const stated: Partial<Serdes> =
      gives !== undefined && this.#chance.is(0.5) ? { value: gives.value } : {}
    const id = this.#added('processValues', from, processor, stated)
    if (gives === undefined) return undefined
    const javaKnows = { key: from.javaKnows.key, value: false }
    const known = { key: from.known.key, value: stated.value !== undefined }
    return { ...from, value: gives.value, id, javaKnows, known }
  }

  #ofAnyKind(from: Serdes): RandomProcessor[] {
    const text = { key: from.key, value: 'string' }
    return [
      { spec: this.#chance.pick(['pass', 'commit', 'no-headers', 'header:h']), gives: from },
      { spec: `shift:${this.#chance.pick([0, 1, 7, 1000])}`, gives: from },
      { spec: this.#chance.pick(['append:x', 'twice', 'where']), gives: text },
      { spec: 'remember', gives: text, stores: from },
      { spec: 'remember', gives: text, stores: from },
      { spec: 'tally', gives: text, stores: { key: from.key, value: 'long' } },
      { spec: 'index-words', gives: undefined, stores: strings },
      { spec: 'scan:a,z', gives: text, stores: strings },
    ]
  }

  #punctuating({ value }: Serdes): RandomProcessor[] {
    const start = this.#chance.pick([0, 5, 1000, 1_700_000_000_000])
    const interval = 5 + this.#chance.below(40)
    return [
      { spec: `punctuate:${interval},7`, gives: strings },
      { spec: `punctuate-from:${start},${interval}`, gives: strings },
      // Besides its texts it forwards each record as it is.
      {
        spec: `${value === 'string' ? 'punctuate-twice:' : 'punctuate:7,'}${interval}`,
        gives: strings,
      },
    ]
  }

  #added(
    op: 'process' | 'processValues',
    from: { readonly id: string },
    { spec, stores }: RandomProcessor,
    stated: Partial<Serdes>,
  ): string {
    const reads = /^(?:scan|empty-at)/.test(spec)
    const uses =
      stores === undefined
        ? []
        : this.#chance.list(1, 2, () => this.#store(serdesOf(stores), !reads))
    const used = new Map(uses.map((store) => [store.name, store]))
    // Nobody below it may change the rows that it goes through.
    if (reads) for (const store of uses) this.#stores.delete(store)
    return this.#add({
      op,
      from: from.id,
      processor: spec,
      ...(uses.length > 0 && { uses: [...used.values()] }),
      ...stated,
      ...this.#chance.name(),
    })
  }

  /**
   * A store of those serdes: a new one, or one that another processor has too. Backwards, Kafka Streams
   * shows rows of caches that are not there.
   */
  #store(serdes: Serdes, mayCache: boolean): ProcessorStore & Serdes {
    const known = [...this.#stores].filter(
      ({ key, value, caching }) =>
        key === serdes.key && value === serdes.value && (mayCache || caching !== true),
    )
    if (known.length > 0 && this.#chance.is(0.4)) return this.#chance.pick(known)
    const store = {
      name: `rows-${this.#chance.number()}`,
      ...serdes,
      ...(mayCache && this.#chance.is(0.5) && { caching: true }),
      ...(this.#chance.is(0.75) && { persistent: false }),
      ...(this.#chance.is(0.1) && { changelog: false }),
    }
    this.#stores.add(store)
    return store
  }
}

const serdesOf = ({ key, value }: Serdes): Serdes => ({ key, value })
