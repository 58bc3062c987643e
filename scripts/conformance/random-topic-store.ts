import type { Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'
import type { Serdes } from './random-script.ts'

const strings: Serdes = { key: 'string', value: 'string' }

/** A store that a topic keeps, and what a processor needs to read it. */
export interface TopicStore {
  readonly store: Step
  readonly reader: string
}

/** A store that a topic keeps. The prefixes are of the names of its topic and of itself. */
export function randomTopicStore(
  chance: Chance,
  inputs: Map<string, Serdes>,
  { op, topics, stores }: { op: string; topics: string; stores: string },
): TopicStore {
  const topic = `${topics}-${chance.number()}`
  inputs.set(topic, strings)
  const timestamped = chance.is(0.3)
  const name = `${stores}-${chance.number()}`
  const store = {
    op,
    name,
    topic,
    ...strings,
    source: `source-${chance.number()}`,
    processors: [`keep-${chance.number()}`],
    with: timestamped ? 'index-words' : chance.pick(['remember', 'index-words']),
    ...(timestamped && { timestamped }),
    ...(chance.is(0.5) && { caching: true }),
    ...(chance.is(0.7) && { persistent: false }),
  }
  return { store, reader: `look-up:${name}` }
}
