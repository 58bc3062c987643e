/**
 * Breaks a copy of the engine in one place after the other, and tells how many seeds it took the simulation to see it:
 *
 *     npx tsx scripts/sim-mutations.ts --seed 1 --runs 30
 *     npx tsx scripts/sim-mutations.ts --only 'restore'      # those with this in their name
 *
 * Of the seeds only those are run whose plan the break could make a difference to.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/base/random.ts'
import { mutations, type Mutation } from '../test/simulation/mutations.ts'
import { randomPlan } from '../test/simulation/plan.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '30' },
    program: { type: 'string', default: 'count-by-key' },
    only: { type: 'string', default: '' },
  },
})

/** A copy of what runs, with the engine broken. */
function brokenCopy({ edits }: Mutation): string {
  const copy = mkdtempSync(join(tmpdir(), 'sim-mutation-'))
  for (const name of ['src', 'test', 'scripts', 'package.json', 'tsconfig.json'])
    cpSync(name, join(copy, name), { recursive: true })
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'))
  for (const { file, text, by } of edits) {
    const path = join(copy, file)
    const parts = readFileSync(path, 'utf8').split(text)
    if (parts.length !== 2) throw new Error(`${file} has not exactly one: ${text}`)
    writeFileSync(path, parts.join(by))
  }
  return copy
}

/** The first seeds that the break may show in. */
function seedsFor({ where = () => true }: Mutation): number[] {
  const { program } = values
  const seeds: number[] = []
  for (let seed = Number(values.seed); seeds.length < Number(values.runs); seed += 1) {
    if (where(randomPlan(seededRandom(seed), { program }))) seeds.push(seed)
  }
  return seeds
}

let survivors = 0
for (const mutation of mutations.filter(({ name }) => name.includes(values.only))) {
  const copy = brokenCopy(mutation)
  const seeds = seedsFor(mutation)
  const args = ['scripts/sim.ts', '--seeds', seeds.join(), '--program', values.program]
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--import', 'tsx', ...args], {
    cwd: copy,
    encoding: 'utf8',
  })
  rmSync(copy, { recursive: true })
  const count = stdout.split('\n').filter((line) => line.startsWith('seed ')).length
  if (status === 0) survivors += 1
  const how = stderr.split('\n')[0]?.replace(/^FAILED seed \d+ \(.*?\): /, '') ?? ''
  const isCaught = status !== 0
  const outcome = isCaught
    ? `in ${count + 1} (seed ${seeds[count]}): ${how}`
    : `NOT SEEN in ${count}`
  console.log(`${mutation.name} | ${outcome}`)
}
process.exitCode = survivors === 0 ? 0 : 1
