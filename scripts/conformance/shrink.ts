/** Makes a case that differs as small as it will go, while it still differs in the same way. */
import { isRecord, listOf, type ConformanceCase, type Step } from '../../test/conformance/case.ts'

/** Cases that are tried at most; each is a run on both sides. */
const attemptsMax = 600

/** Whether a case still shows what is looked for. */
export type StillDiffers = (candidate: ConformanceCase) => Promise<boolean>

/** Tries ever smaller cases until none of them differs any more. */
export async function shrink(
  given: ConformanceCase,
  stillDiffers: StillDiffers,
): Promise<ConformanceCase> {
  let smallest = given
  let attempts = 0
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false
    for (const candidate of smallerCases(smallest)) {
      if (attempts === attemptsMax) return tidy(smallest)
      attempts += 1
      if (!(await stillDiffers(candidate))) continue
      smallest = candidate
      isSmaller = true
      break
    }
  }
  return tidy(smallest)
}

/** Large cuts first. */
function* smallerCases(given: ConformanceCase): Generator<ConformanceCase> {
  const { script, topology } = given
  for (let size = script.length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = script.length - size; at >= 0; at -= size) {
      yield { ...given, script: script.filter((_, index) => index < at || index >= at + size) }
    }
  }
  for (let at = topology.length - 1; at >= 0; at -= 1) {
    for (const smaller of [withoutBranch(topology, at), withoutStep(topology, at)]) {
      if (smaller.length > 0)
        yield { ...given, topology: smaller, script: reachable(given, smaller) }
    }
  }
  if (given.config !== undefined) {
    for (const option of Object.keys(given.config)) {
      yield { ...given, config: without(given.config, option) }
    }
  }
  for (const [at, step] of topology.entries()) {
    for (const simpler of simplerSteps(step))
      yield { ...given, topology: replaced(topology, at, simpler) }
  }
  for (const [at, entry] of script.entries()) {
    if (!isRecord(entry)) continue
    if (entry.headers !== undefined) {
      yield { ...given, script: replaced(script, at, without(entry, 'headers')) }
    }
    if (entry.timestamp > at) {
      yield { ...given, script: replaced(script, at, { ...entry, timestamp: at }) }
    }
  }
}

/** Without a step and all that is below it. */
function withoutBranch(steps: readonly Step[], at: number): Step[] {
  const gone = new Set([steps[at] as Step])
  for (const step of steps) {
    const parents = steps.filter(({ id, name }) =>
      names(step).some((it) => it === id || it === name),
    )
    if (parents.some((parent) => gone.has(parent))) gone.add(step)
  }
  return steps.filter((step) => !gone.has(step))
}

/** Without a step: those below it read what it read. */
function withoutStep(steps: readonly Step[], at: number): Step[] {
  const { id, name, from } = steps[at] as Step
  const [parent] = listOf(from)
  const redirect = (it: string): string => (it === id || it === name ? (parent ?? it) : it)
  return steps.flatMap((step, index) => {
    if (index === at) return []
    if (step.from === undefined) return [step]
    const redirected = listOf(step.from).map(redirect)
    return [{ ...step, from: typeof step.from === 'string' ? redirected[0] : redirected }]
  })
}

function names({ from }: Step): readonly string[] {
  return listOf(from)
}

/** The script without records of topics that no step reads any more. */
function reachable({ script }: ConformanceCase, steps: readonly Step[]): ConformanceCase['script'] {
  const read = new Set(
    steps.flatMap(({ op, topic }) =>
      ['stream', 'table', 'source'].includes(op) ? listOf(topic) : [],
    ),
  )
  return script.filter((entry) => !isRecord(entry) || read.has(entry.topic))
}

function* simplerSteps(step: Step): Generator<Step> {
  // Nodes of the Processor API are known by their names.
  if (step.name !== undefined && step.id !== undefined) {
    yield without(step, 'name')
  }
  if (step.store === undefined) return
  yield without(step, 'store')
  if (typeof step.store === 'string') return
  yield { ...step, store: step.store.name }
  for (const option of ['caching', 'persistent', 'changelog'] as const) {
    if (option in step.store) yield { ...step, store: without(step.store, option) }
  }
}

function without<T extends object>(given: T, field: string): T {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name !== field)) as T
}

function replaced<T>(items: readonly T[], at: number, item: T): T[] {
  return items.map((each, index) => (index === at ? item : each))
}

/** Leaves out what a person would not write: ids that nobody names, and `from` where it is the step before. */
export function tidy(given: ConformanceCase): ConformanceCase {
  const isPrevious = (step: Step, index: number): boolean =>
    index > 0 &&
    typeof step.from === 'string' &&
    step.id !== undefined &&
    step.from === given.topology[index - 1]?.id
  const steps = given.topology.map((step, index) =>
    isPrevious(step, index) ? without(step, 'from') : step,
  )
  const named = new Set(steps.flatMap(({ from }) => listOf(from)))
  const topology = steps.map((step) => {
    const isShown = step.op === 'peek' || step.op === 'forEach'
    return isShown || step.id === undefined || named.has(step.id) ? step : without(step, 'id')
  })
  const { config = {} } = given
  const bare = Object.keys(config).length === 0 ? without(given, 'config') : given
  return { ...bare, topology }
}
