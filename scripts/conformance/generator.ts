/** Random conformance cases. The same seed and number give the same case. */
import type { CaseConfig, ConformanceCase, Step } from '../../test/conformance/case.ts'
import { Chance } from './chance.ts'
import { withFailures } from './random-failures.ts'
import { randomProcessors } from './random-processors.ts'
import { RandomProgram } from './random-program.ts'
import { randomStoreCase } from './random-stores.ts'
import { randomConfig, randomScript, type Serdes } from './random-script.ts'

/** Spreads the cases of a seed; any large odd number does. */
const seedStride = 1_000_003
const processorProgramProbability = 0.06
const storeProgramProbability = 0.04

/** The case of that number in the sequence of a seed. */
export function generateCase(seed: number, index: number): ConformanceCase {
  const chance = new Chance((seed * seedStride + index) >>> 0)
  const name = `seed ${seed}, case ${index}`
  if (chance.is(storeProgramProbability)) return randomStoreCase(chance, name)
  const inputs = new Map<string, Serdes>()
  const given = randomConfig(chance)
  const program = chance.is(processorProgramProbability)
    ? randomProcessors(chance, inputs)
    : new RandomProgram(chance, inputs).write()
  const { config, topology } = withFailures(chance, { config: given, topology: program })
  // Kafka Streams' test driver passes over unreadable records of global topics, whatever it is told.
  const isGlobal = topology.some(({ op }) => op === 'globalTable' || op === 'globalStore')
  const onDeserializationError = isGlobal ? 'continue' : config?.onDeserializationError
  return {
    name,
    config: {
      ...config,
      onDeserializationError,
      optimization: optimizationOf(config, topology),
      ...randomIdle(chance, config, topology),
    },
    topology,
    script: randomScript(chance, inputs),
  }
}

/** Kafka Streams merges repartition topics above processors that change the key: those are not compared. */
function optimizationOf(
  config: CaseConfig | undefined,
  program: readonly Step[],
): string | undefined {
  const { optimization } = config ?? {}
  const isMerged = optimization === 'all' || optimization?.includes('merge') === true
  return isMerged && program.some(({ op }) => op === 'process') ? undefined : optimization
}

/**
 * Rarely, topics wait for each other: where each sub-topology has one or two topics that are read
 * alike. In Kafka Streams' test driver, which runs all sub-topologies as one task, it depends on the order of a hash
 * table when the waiting begins; records that are dropped before they wait, and patterns, have more to it.
 */
function randomIdle(
  chance: Chance,
  config: CaseConfig | undefined,
  program: readonly Step[],
): CaseConfig {
  const mayDrop = config?.onDeserializationError === 'continue'
  const isPlain =
    program.every(({ pattern, timestamp }) => pattern === undefined && timestamp === undefined) &&
    program.filter(({ topic, op }) => topic !== undefined && op !== 'to').length < 3
  if (mayDrop || !isPlain || !chance.is(0.1)) return {}
  return { maxTaskIdle: chance.pick([-1, 1000]) }
}
