/** Programs of the Processor API: sources, processors with and without stores, sinks. */
import type { Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { randomGlobalStore } from './random-global.ts'
import type { Serdes } from './random-script.ts'
import { randomTopicStore, type TopicStore } from './random-topic-store.ts'

const strings = { key: 'string', value: 'string' }

interface Processor {
  readonly name: string
  readonly from: readonly string[]
  readonly with: string
}

interface Store {
  readonly step: Step
  readonly users: ReadonlySet<string>
}

/** The steps of such a program; notes the topics that it reads in `inputs`. */
export function randomProcessors(chance: Chance, inputs: Map<string, Serdes>): Step[] {
  const sources = chance.list(1, 3, () => randomSource(chance, inputs))
  const global = randomGlobalStore(chance, inputs)
  const readOnly = randomReadOnlyStore(chance, inputs)
  const readers = [global, readOnly].flatMap((store) =>
    store === undefined ? [] : [store.reader, store.reader],
  )
  const nodes = sources.map(({ name = '' }) => name)
  const twoNodes = (): string[] => [...new Set([chance.pick(nodes), chance.pick(nodes)])]
  const pickProcessor = (): string =>
    chance.pick([
      'remember',
      'remember',
      'remember',
      'index-words',
      ...statelessProcessors(chance),
      ...readers,
    ])
  const addProcessor = (spec: string): Processor => {
    const processor = {
      name: `processor-${chance.number()}`,
      from: twoNodes(),
      with: spec,
    }
    nodes.push(processor.name)
    return processor
  }
  const processors = chance.list(1, 5, () => addProcessor(pickProcessor()))
  // At the end: nobody below may change the rows that it goes through.
  const last = chance.pick([undefined, undefined, 'scan:a,z', `empty-at:${5 + chance.below(20)}`])
  if (last !== undefined) processors.push(addProcessor(last))
  const stores = randomStores(chance, processors)
  const sinks = chance.list(1, 3, (): Step => {
    const name = `sink-${chance.number()}`
    const target = chance.is(0.2)
      ? { with: `constant:out-${chance.below(3)}` }
      : { topic: `out-${chance.below(3)}` }
    return { op: 'sink', name, from: twoNodes(), ...target, ...strings }
  })
  const connected = processors.map((processor): Step => {
    const mine = stores.filter(({ users }) => users.has(processor.name))
    const isReader = processor.with === readOnly?.reader
    const names = mine.map(({ step }) => step.name ?? '')
    if (isReader) names.push(readOnly?.store.name ?? '')
    return { op: 'processor', ...processor, stores: names }
  })
  const kept = [global, readOnly].flatMap((one) => one?.store ?? [])
  const first = chance.is(0.5) ? [...kept, ...sources] : [...sources, ...kept]
  const connections = processors
    .filter((processor) => processor.with === readOnly?.reader)
    .map(({ name }): Step => {
      return { op: 'connect', processors: [name], stores: [readOnly?.store.name ?? ''] }
    })
  return [...first, ...connected, ...stores.map(({ step }) => step), ...connections, ...sinks]
}

function randomSource(chance: Chance, inputs: Map<string, Serdes>): Step {
  const name = `source-${chance.number()}`
  const topic = `in-${chance.number()}`
  inputs.set(topic, strings)
  const timestamp = chance.is(0.1) ? { timestamp: 'length' } : {}
  // All numbers that begin with this one: there is no other.
  const read = chance.is(0.15) ? { pattern: `${topic}[a-z]*` } : { topic }
  return { op: 'source', name, ...read, ...strings, ...timestamp }
}

function statelessProcessors(chance: Chance): string[] {
  const interval = 5 + chance.below(20)
  const start = chance.pick([0, 5, 1000, 1_700_000_000_000])
  return [
    `punctuate:${interval},7`,
    `punctuate-from:${start},${interval}`,
    `punctuate-twice:${interval}`,
    chance.pick(['pass', 'append:1', 'append:2']),
    chance.pick(['where', 'commit', 'no-headers', 'header:h', 'shift:7']),
  ]
}

/** A store that a topic keeps, and a processor that reads it; or neither. */
function randomReadOnlyStore(chance: Chance, inputs: Map<string, Serdes>): TopicStore | undefined {
  if (!chance.is(0.3)) return undefined
  const names = { topics: 'kept', stores: 'read-only' }
  return randomTopicStore(chance, inputs, { op: 'readOnlyStore', ...names })
}

function randomStores(chance: Chance, processors: readonly Processor[]): Store[] {
  const rememberers = processors.filter(({ with: spec }) => /^(?:remember|empty-at)/.test(spec))
  const indexers = processors.filter(({ with: spec }) => /^(?:index-words|scan)/.test(spec))
  if (rememberers.length + indexers.length === 0) return []
  return chance.list(1, 4, () => {
    // Only the one kind of processor knows what to do with timestamps.
    const timestamped = rememberers.length === 0 || (indexers.length > 0 && chance.is(0.5))
    const able = timestamped ? indexers : [...rememberers, ...indexers]
    const chosen = [chance.pick(able), chance.pick(able)]
    const users = new Set(chosen.map(({ name }) => name))
    // Backwards, Kafka Streams shows rows of caches that are not there.
    const mayCache = !chosen.some(({ with: spec }) => spec.startsWith('scan'))
    const step = {
      op: 'store',
      name: `store-${chance.number()}`,
      ...strings,
      processors: [...users],
      ...(timestamped && { timestamped }),
      ...(mayCache && chance.is(0.5) && { caching: true }),
      ...(chance.is(0.7) && { persistent: false }),
      ...(chance.is(0.2) && { changelog: false }),
    }
    return { step, users }
  })
}
