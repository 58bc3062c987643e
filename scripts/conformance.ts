/**
 * `npm run conformance`: compares Millpond with Kafka Streams, case by case.
 *
 *     npm run conformance -- --seed 1 --cases 500     random cases, a difference made small
 *     npm run conformance -- --run my-case.jsonl      cases of one's own
 *     npm run conformance -- --record                 what Kafka Streams makes of the committed cases
 */
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../src/errors.ts'
import { caseFiles, readCases, writeCases } from '../test/conformance/case-files.ts'
import type { CaseResult, ConformanceCase } from '../test/conformance/case.ts'
import { firstDifference, type Difference } from '../test/conformance/first-difference.ts'
import { runCase } from '../test/conformance/run-case.ts'
import { generateCase } from './conformance/generator.ts'
import { JavaOracle, oracleUnavailable } from './conformance/java-oracle.ts'
import { isPassedOver } from './conformance/passed-over.ts'
import { shrink } from './conformance/shrink.ts'

const usage = `Usage: npm run conformance -- [--seed S] [--cases N] | --run FILE | --record`
/** Cases that Kafka Streams has at hand while Millpond runs others. */
const casesInFlightMax = 32
/** How often a run tells how far it is. */
const casesPerNews = 200
/** Enough to see what is wrong; making one small takes a while. */
const differencesMax = 3

/** Millpond's result; an error that is not a result is shown as one, since it must be a difference. */
function run(given: ConformanceCase): CaseResult {
  try {
    return runCase(given)
  } catch (error) {
    return { failure: 'the runner', message: messageOf(error) }
  }
}

async function differenceOf(
  oracle: JavaOracle,
  given: ConformanceCase,
): Promise<Difference | undefined> {
  const expected = await oracle.run(given)
  if (isPassedOver(given, expected)) return undefined
  return firstDifference(expected, run(given), given.script)
}

interface Differing {
  readonly given: ConformanceCase
  readonly difference: Difference
}

async function compareRandom(oracle: JavaOracle, seed: number, count: number): Promise<number> {
  const differing: Differing[] = []
  const inFlight: Promise<void>[] = []
  let compared = 0
  let failed = 0
  let passedOver = 0
  const begun = performance.now()
  const compare = async (given: ConformanceCase): Promise<void> => {
    const expected = await oracle.run(given)
    compared += 1
    if (expected.failure !== undefined) failed += 1
    const isOver = isPassedOver(given, expected)
    if (isOver) passedOver += 1
    const difference = isOver ? undefined : firstDifference(expected, run(given), given.script)
    if (difference !== undefined) {
      differing.push({ given, difference })
      // At once: a long run may be ended before its end, and making it small takes a while.
      console.error(`${given.name} differs: ${difference.text}`)
    }
    if (compared % casesPerNews === 0) {
      console.error(`${compared} of ${count} cases, ${differing.length} differ`)
    }
  }
  for (let index = 0; index < count && differing.length < differencesMax; index += 1) {
    inFlight.push(compare(generateCase(seed, index)))
    if (inFlight.length >= casesInFlightMax) await inFlight.shift()
  }
  await Promise.all(inFlight)
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  for (const each of differing.slice(0, differencesMax)) await tell(oracle, each)
  console.log(
    `seed ${seed}: ${compared} cases in ${seconds} s, ${failed} of them fail in Kafka Streams, ${passedOver} passed over, ${differing.length} differ`,
  )
  return differing.length
}

async function tell(oracle: JavaOracle, { given, difference: first }: Differing): Promise<void> {
  const { sort, text } = first
  console.log(`\n${given.name} differs: ${text}`)
  const smallest = await shrink(given, async (candidate) => {
    const difference = await differenceOf(oracle, candidate).catch(() => undefined)
    return difference?.sort === sort
  })
  const difference = await differenceOf(oracle, smallest)
  console.log(`As small as it gets: ${difference?.text}\n${JSON.stringify(smallest)}\n`)
}

/** Cases of a file, live on both sides. */
async function compareFile(oracle: JavaOracle, path: string): Promise<number> {
  let differing = 0
  for (const given of readCases(path)) {
    const expected = await oracle.run(given)
    const difference = firstDifference(expected, run(given), given.script)
    console.log(
      `${given.name}: ${difference === undefined ? 'agrees' : `differs: ${difference.text}`}`,
    )
    console.log(JSON.stringify(expected, undefined, 1))
    if (difference !== undefined) differing += 1
  }
  return differing
}

async function record(oracle: JavaOracle): Promise<number> {
  let differing = 0
  for (const path of caseFiles()) {
    const recorded: ConformanceCase[] = []
    for (const given of readCases(path)) {
      const expected = await oracle.run(given)
      recorded.push({ ...given, expected })
      const difference = firstDifference(expected, run(given), given.script)
      if (difference === undefined) continue
      differing += 1
      console.log(`${given.name} differs: ${difference.text}`)
    }
    writeCases(path, recorded)
    console.log(`${relative(process.cwd(), path)}: ${recorded.length} cases recorded`)
  }
  return differing
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      cases: { type: 'string', default: '500' },
      run: { type: 'string' },
      record: { type: 'boolean', default: false },
    },
  })
  const [seed, cases] = [Number(values.seed), Number(values.cases)]
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(cases) || cases < 1) {
    console.error(usage)
    return 2
  }
  const missing = oracleUnavailable()
  if (missing !== undefined) {
    console.error(missing)
    return 2
  }
  await using oracle = JavaOracle.start()
  let differing: number
  if (values.record) differing = await record(oracle)
  else if (values.run !== undefined) differing = await compareFile(oracle, values.run)
  else differing = await compareRandom(oracle, seed, cases)
  return differing === 0 ? 0 : 1
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    console.error(messageOf(error))
    process.exitCode = 1
  },
)
