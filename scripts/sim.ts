/**
 * Runs whole clusters from seeds, with faults, and stops at the first that goes wrong:
 *
 *     npm run sim -- --seed 1 --runs 500
 *     npm run sim -- --seed 1 --runs 20 --program stream-left-join
 *     npm run sim -- --seed 77 --trace /tmp/77.txt    # one run again, line by line
 *     npm run sim -- --workers 3 --runs 100           # so many workers in each instance
 *     npm run sim -- --seeds 3,19,77                  # just these
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { simulate, SimulationFailure } from '../test/simulation/simulation.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    runs: { type: 'string', default: '1' },
    workers: { type: 'string' },
    trace: { type: 'string' },
    program: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
  },
})

const firstSeed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const runs = Number(values.runs)
const seeds =
  values.seeds?.split(',').map(Number) ?? Array.from({ length: runs }, (_, at) => firstSeed + at)
if (seeds.length === 0 || !seeds.every(Number.isSafeInteger)) {
  console.error('--seed, --seeds and --runs are whole numbers')
  process.exit(2)
}

async function runOne(seed: number): Promise<boolean> {
  const startedAt = performance.now()
  const file = values.trace === undefined ? undefined : openSync(values.trace, 'w')
  const trace = file === undefined ? undefined : (line: string) => void writeSync(file, `${line}\n`)
  try {
    const { plan, digest, eventCount, recordCount, elapsedMs } = await simulate({
      seed,
      trace,
      program: values.program,
      ...(values.workers !== undefined && { workers: Number(values.workers) }),
    })
    const ms = Math.round(performance.now() - startedAt)
    console.log(
      `seed ${seed} ${digest}: ${recordCount} records, ${eventCount} events, ` +
        `${Math.round(elapsedMs / 1000)} s in ${ms} ms; ${plan}`,
    )
    return true
  } catch (error) {
    if (!(error instanceof SimulationFailure)) console.error(`seed ${seed}:`, error)
    else console.error(`FAILED ${error.message}`)
    const again = ['program', 'workers'] as const
    const options = again.flatMap((name) =>
      values[name] === undefined ? [] : [`--${name} ${values[name]} `],
    )
    console.error(`again: npm run sim -- --seed ${seed} ${options.join('')}--trace trace.txt`)
    return false
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

// A promise that nobody looks after is a fault of the engine too.
let unhandled: unknown
process.on('unhandledRejection', (error) => {
  unhandled ??= error
})

const startedAt = performance.now()
const failed: number[] = []
let count = 0
for (const seed of seeds) {
  count += 1
  const isRight = await runOne(seed)
  if (unhandled !== undefined) console.error(`seed ${seed} left a rejection to nobody:`, unhandled)
  if (!isRight || unhandled !== undefined) failed.push(seed)
  unhandled = undefined
  if (failed.length > 0 && !values['keep-going']) break
}
const seconds = Math.round((performance.now() - startedAt) / 1000)
const outcome = failed.length === 0 ? 'all right' : `failed: ${failed.join(', ')}`
console.log(`${count} runs from seed ${seeds[0]} in ${seconds} s, ${outcome}`)
process.exitCode = failed.length === 0 ? 0 : 1
