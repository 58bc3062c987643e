/** Lets steps of a random program fail, and handlers that pass over that. */
import {
  listOf,
  type CaseConfig,
  type ConformanceCase,
  type Step,
} from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'

/** Texts that scripts and functions give. */
const texts = ['to', 'be', 'or not', 'drop', '5', '0', '1', 'c', 'to!', 'true', 'null', '']

const writingOps: ReadonlySet<string> = new Set(['to', 'toChosen', 'repartition', 'sink'])

type Failing = Pick<ConformanceCase, 'config' | 'topology'>

/** The program as it is, or with failures in it. */
export function withFailures(chance: Chance, { config, topology }: Failing): Failing {
  if (!chance.is(0.2)) return { config, topology }
  return {
    // In a transaction, Kafka Streams' test driver shows what unreadable records left with the next record.
    config: { ...config, ...randomHandlers(chance), guarantee: 'at-least-once' },
    topology: topology.map((step) => failing(chance, step)),
  }
}

function randomHandlers(chance: Chance): CaseConfig {
  return {
    ...(chance.is(0.8) && { onDeserializationError: 'continue' as const }),
    ...(chance.is(0.8) && { onProcessingError: 'continue' as const }),
    ...(chance.is(0.8) && { onProductionError: 'continue' as const }),
    ...(chance.is(0.7) && { deadLetterQueueTopic: chance.pick(['dead', 'dead', 'out-1']) }),
  }
}

/** Functions and processors fail on a text, sinks refuse texts. */
function failing(chance: Chance, step: Step): Step {
  const { op, with: specs, processor, value } = step
  const isPicky = writingOps.has(op) && value === 'string' && chance.is(0.3)
  // Kafka Streams looks up also for records without a value, and drops them then.
  const failures = op.endsWith('GlobalTable') ? texts.filter((text) => text !== 'null') : texts
  const spoiled = listOf(specs).map((spec) => failOn(chance, spec, failures))
  return {
    ...step,
    ...(specs !== undefined && { with: typeof specs === 'string' ? spoiled[0] : spoiled }),
    ...(processor !== undefined && { processor: failOn(chance, processor, texts) }),
    ...(isPicky && { value: `picky:${chance.pick(texts)}` }),
  }
}

function failOn(chance: Chance, spec: string, failures: readonly string[]): string {
  return chance.is(0.3) ? `fail-on:${chance.pick(failures)},${spec}` : spec
}
