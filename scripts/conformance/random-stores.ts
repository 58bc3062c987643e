/** Programs of one processor that does with a store of windows, sessions or versions what records say. */
import type { ConformanceCase, ScriptEntry, Step } from '../../test/conformance/case.ts'
import type { Chance } from './chance.ts'

const strings = { key: 'string', value: 'string' }
const keys = ['a', 'aa', 'b', 'b0']
/** Times lie around the edges of segments, which are a minute long at least. */
const times = [0, 1, 59_999, 60_000, 60_001, 119_999, 120_000, 180_000, 240_000, 300_000, 420_000]
const commandsMax = 60

/** Such a program with its script; the commands are at random. */
export function randomStoreCase(chance: Chance, name: string): ConformanceCase {
  const store = randomStore(chance)
  const topology: Step[] = [
    { op: 'source', name: 'source', topic: 'in', ...strings },
    { op: 'processor', name: 'commands', from: 'source', with: 'command', stores: ['store'] },
    store,
    { op: 'sink', name: 'sink', from: 'commands', topic: 'out', ...strings },
  ]
  const record = (value: string): ScriptEntry => ({
    topic: 'in',
    key: chance.pick(keys),
    value,
    timestamp: timeOf(chance),
  })
  const commands = chance.list(5, commandsMax, () => record(commandOf(chance, store)))
  // A cache that never had anything fails when it is read backwards (in 4.4.0).
  const script = [record(firstCommand(store)), ...commands]
  const cacheBytes = chance.is(0.5) ? 0 : 10 << 20
  return { name, config: { cacheBytes }, topology, script }
}

function randomStore(chance: Chance): Step {
  const kind = chance.pick(['window', 'window', 'session', 'versioned'] as const)
  const common = {
    op: 'store',
    name: 'store',
    kind,
    ...strings,
    processors: ['commands'],
    ...(chance.is(0.2) && { changelog: false }),
  }
  if (kind === 'versioned') {
    return { ...common, historyRetention: chance.pick([5_000, 60_000, 130_000, 400_000]) }
  }
  const kept = {
    ...common,
    ...(chance.is(0.5) && { caching: true }),
    ...(chance.is(0.5) && { persistent: false }),
    retention: chance.pick([1_000, 60_000, 119_999, 120_000, 200_000, 300_000]),
  }
  if (kind === 'session') return kept
  return {
    ...kept,
    windowSize: chance.pick([1, 1_000]),
    ...(chance.is(0.3) && { retainDuplicates: true }),
    ...(chance.is(0.5) && { timestamped: true }),
  }
}

function firstCommand({ kind }: Step): string {
  return kind === 'session' ? 'put 0 0 first' : 'put 0 first'
}

function commandOf(chance: Chance, store: Step): string {
  const { kind } = store
  if (kind === 'versioned') return versionCommand(chance)
  return kind === 'session' ? sessionCommand(chance, store) : windowCommand(chance, store)
}

const timeOf = (chance: Chance): number => chance.pick(times) + chance.below(3)
const valueOf = (chance: Chance): string => (chance.is(0.15) ? '-' : `v${chance.number()}`)

/** Two times, the earlier one first. */
function timesOf(chance: Chance): [earlier: number, later: number] {
  const [one, other] = [timeOf(chance), timeOf(chance)]
  return one < other ? [one, other] : [other, one]
}

/** A cache over a store on disk gives rows twice when one end of a range of keys is open (in 4.4.0). */
function keysOf(chance: Chance, { caching, persistent = true }: Step): string {
  const from = chance.pick(keys)
  const isOpen = chance.is(0.5)
  if (caching === true && persistent) return isOpen ? '* *' : `${from} ${chance.pick(keys)}`
  return isOpen ? chance.pick(['* *', `${from} *`, `* ${from}`]) : `${from} ${chance.pick(keys)}`
}

function versionCommand(chance: Chance): string {
  if (chance.is(0.6)) return `put ${timeOf(chance)} ${valueOf(chance)}`
  if (chance.is(0.2)) return `delete ${timeOf(chance)}`
  return chance.is(0.3) ? 'get' : `get ${timeOf(chance)}`
}

function sessionCommand(chance: Chance, store: Step): string {
  const [earlier, end] = timesOf(chance)
  // Sessions that end together come in two orders from a cache and from the store in memory below it,
  // which are then merged as if they were one (in 4.4.0).
  const isOneAnEnd = store.caching === true && store.persistent === false
  const start = isOneAnEnd ? Math.max(0, end - 10) : earlier
  if (chance.is(0.5)) return `put ${start} ${end} ${valueOf(chance)}`
  if (chance.is(0.2)) return `remove ${start} ${end}`
  if (chance.is(0.2)) return `session ${start} ${end}`
  const isBack = chance.is(0.5)
  // A cache goes back from the newest segment, and fails when the latest start is not in it (in 4.4.0).
  const mustBeOpen = isBack && store.caching === true && store.persistent !== false
  const latestStart = mustBeOpen || chance.is(0.3) ? '*' : String(timeOf(chance))
  const earliestEnd = chance.is(0.3) ? '*' : String(timeOf(chance))
  const times = `${earliestEnd} ${latestStart}${isBack ? ' back' : ''}`
  return chance.is(0.5) ? `of ${times}` : `range ${keysOf(chance, store)} ${times}`
}

function windowCommand(chance: Chance, store: Step): string {
  if (chance.is(0.5)) return `put ${timeOf(chance)} ${valueOf(chance)}`
  // What a store with duplicates has for one start depends on its last put anywhere.
  if (chance.is(0.3) && store.retainDuplicates !== true) return `fetch ${timeOf(chance)}`
  const [earlier, later] = timesOf(chance)
  const from = chance.is(0.3) ? '*' : String(earlier)
  const to = chance.is(0.3) ? '*' : String(later)
  const times = `${from} ${to}${chance.is(0.5) ? ' back' : ''}`
  return chance.is(0.5) ? `of ${times}` : `range ${keysOf(chance, store)} ${times}`
}
