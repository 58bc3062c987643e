/** Programs of the Processor API: sources, processors with and without stores, sinks. */
import type { Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import { randomGlobalStore } from './random-global.ts'
import type { Serdes } from './random-script.ts'

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
  const sources = chance.list(1, 3, (): Step => {
    const topic = `in-${chance.number()}`
    inputs.set(topic, strings)
    return { op: 'source', name: `source-${chance.number()}`, topic, ...strings }
  })
  const global = randomGlobalStore(chance, inputs)
  const readers = global === undefined ? [] : [global.reader, global.reader]
  const nodes = sources.map(({ name = '' }) => name)
  const twoNodes = (): string[] => [...new Set([chance.pick(nodes), chance.pick(nodes)])]
  const processors = chance.list(1, 5, (): Processor => {
    const punctuate = `punctuate:${5 + chance.below(20)},7`
    const processor = {
      name: `processor-${chance.number()}`,
      from: twoNodes(),
      with: chance.pick(['pass', 'remember', 'remember', 'index-words', punctuate, ...readers]),
    }
    nodes.push(processor.name)
    return processor
  })
  const stores = randomStores(chance, processors)
  const sinks = chance.list(1, 3, (): Step => {
    const name = `sink-${chance.number()}`
    return { op: 'sink', name, from: twoNodes(), topic: `out-${chance.below(3)}`, ...strings }
  })
  const connected = processors.map((processor): Step => {
    const mine = stores.filter(({ users }) => users.has(processor.name))
    return { op: 'processor', ...processor, stores: mine.map(({ step }) => step.name ?? '') }
  })
  const globals = global === undefined ? [] : [global.store]
  const first = chance.is(0.5) ? [...globals, ...sources] : [...sources, ...globals]
  return [...first, ...connected, ...stores.map(({ step }) => step), ...sinks]
}

function randomStores(chance: Chance, processors: readonly Processor[]): Store[] {
  const rememberers = processors.filter((processor) => processor.with === 'remember')
  const indexers = processors.filter((processor) => processor.with === 'index-words')
  if (rememberers.length + indexers.length === 0) return []
  return chance.list(1, 4, () => {
    // Only the one kind of processor knows what to do with timestamps.
    const timestamped = rememberers.length === 0 || (indexers.length > 0 && chance.is(0.5))
    const able = timestamped ? indexers : [...rememberers, ...indexers]
    const users = new Set([chance.pick(able).name, chance.pick(able).name])
    const step = {
      op: 'store',
      name: `store-${chance.number()}`,
      ...strings,
      processors: [...users],
      ...(timestamped && { timestamped }),
      ...(chance.is(0.5) && { caching: true }),
      ...(chance.is(0.7) && { persistent: false }),
      ...(chance.is(0.2) && { changelog: false }),
    }
    return { step, users }
  })
}
