import { assert } from '../../src/base/assert.ts'
import { randomInteger, type Random } from '../../src/base/random.ts'
import type { SimulatedProgram } from './program.ts'
import { programs } from './programs.ts'

/** What can happen to a cluster. */
export type Fault =
  | 'kill'
  | 'kill-inside'
  | 'stop'
  | 'stop-silently'
  | 'power-off'
  | 'pause'
  | 'cut'
  | 'isolate'
  | 'deafen'
  | 'silence-commit'
  | 'slow-network'
  | 'broker-kill'
  | 'broker-restart'
  | 'disk-write'
  | 'disk-full'
  | 'scale'
  | 'add-partitions'
  | 'add-worker'
  | 'remove-worker'

/** Of these nothing is processed twice. */
const gentle: readonly Fault[] = [
  'stop',
  'slow-network',
  'scale',
  'add-partitions',
  'add-worker',
  'remove-worker',
]

const harsh: readonly Fault[] = [
  'kill',
  'kill',
  'kill-inside',
  'stop-silently',
  'power-off',
  'pause',
  'cut',
  'isolate',
  'deafen',
  'silence-commit',
  'disk-write',
  'disk-full',
]

/**
 * The dev broker forgets its groups when it ends, and members learn of it one after the other: for a moment there
 * would be two owners. At least once, what the old one sends late may then come between the records of the new one,
 * in a changelog too, as in Java. So the new group waits there, for longer than it takes until all have heard of it.
 */
const ofBroker: readonly Fault[] = ['broker-kill', 'broker-restart']
const gatheringMs = 6_000

/** Who does not hear of the new group in time: these do not go with it. */
const silencing: readonly Fault[] = ['pause', 'isolate', 'deafen', 'silence-commit', 'slow-network']

/** Everything about a run that is decided before it begins. */
export interface SimulationPlan {
  readonly program: SimulatedProgram
  readonly instanceCount: number
  /** Of each instance, at its start. */
  readonly workers: number
  readonly guarantee: 'at-least-once' | 'exactly-once'
  readonly groupProtocol: 'classic' | 'streams'
  readonly standbyReplicas: number
  /** So small that tasks move with warm-ups. */
  readonly acceptableRecoveryLag: number
  readonly isStatic: boolean
  /** An upgrade is under way: some tell the others less than others do. */
  readonly mixesReleases: boolean
  readonly hasCache: boolean
  readonly commitInterval: number
  readonly sessionTimeout: number
  /** How long a new group waits for more members. */
  readonly initialRebalanceDelayMs: number
  /** Kinds that may happen in this run; one that is there twice is twice as likely. */
  readonly faults: readonly Fault[]
  /** How long things happen, in simulated milliseconds. */
  readonly durationMs: number
  /** Between two faults, at most. */
  readonly faultEveryMs: number
  /** Between two records, at most. */
  readonly recordEveryMs: number
}

/** A plan from a seed; `program`: for this one. */
export function randomPlan(random: Random, options: { program?: string } = {}): SimulationPlan {
  const drawn = pick(random, [...programs.values()])
  const make = options.program === undefined ? drawn : programs.get(options.program)
  assert(make !== undefined, `a program is one of ${[...programs.keys()].join(', ')}`)
  const program = make({
    partitions: 1 + randomInteger(random, 4),
    keys: pick(random, [3, 8, 30]),
    persistent: random.next() < 0.8,
  })
  const instanceCount = 1 + randomInteger(random, 3)
  const workers = pick(random, [1, 1, 1, 2, 3])
  const guarantee = random.next() < 0.6 ? 'exactly-once' : 'at-least-once'
  const mayOverlap = guarantee === 'at-least-once' && instanceCount * workers > 1
  const hasBrokerFaults = !mayOverlap || random.next() < 0.3
  const all = hasBrokerFaults ? [...gentle, ...harsh, ...ofBroker] : [...gentle, ...harsh]
  const possible =
    mayOverlap && hasBrokerFaults ? all.filter((fault) => !silencing.includes(fault)) : all
  const kinds = random.next() < 0.2 ? gentle : possible
  // A few kinds at a time find more than all at once: one does not hide what the other does.
  const faults = Array.from({ length: 1 + randomInteger(random, 5) }, () => pick(random, kinds))
  const groupProtocol = pick(random, ['classic', 'classic', 'streams'] as const)
  return {
    program,
    instanceCount,
    workers,
    guarantee,
    groupProtocol,
    mixesReleases: random.next() < 0.3 && groupProtocol === 'classic' && instanceCount > 1,
    standbyReplicas: pick(random, [0, 0, 1, 1, 2]),
    acceptableRecoveryLag: pick(random, [0, 50, 10_000]),
    isStatic: random.next() < 0.25,
    hasCache: random.next() < 0.6 && program.mayCache,
    commitInterval: pick(random, [50, 200, 1000, 5000]),
    sessionTimeout: pick(random, [6_000, 10_000]),
    faults,
    initialRebalanceDelayMs:
      mayOverlap && faults.some((fault) => ofBroker.includes(fault)) ? gatheringMs : 0,
    durationMs: 12_000 + randomInteger(random, 20_000),
    faultEveryMs: pick(random, [1_500, 3_000, 8_000]),
    recordEveryMs: pick(random, [100, 300, 800]),
  }
}

/** One line about a plan. */
export function describePlan(plan: SimulationPlan): string {
  const { program, instanceCount, workers, isStatic, hasCache, commitInterval, sessionTimeout } =
    plan
  const partitions = [...program.inputs.values()].join('+')
  return [
    program.name,
    plan.guarantee,
    `${partitions} partitions`,
    `${instanceCount} instances${isStatic ? ' (static)' : ''}`,
    ...(workers === 1 ? [] : [`${workers} workers each`]),
    `${plan.groupProtocol} protocol`,
    ...(plan.mixesReleases ? ['of two releases'] : []),
    `${plan.standbyReplicas} standbys`,
    hasCache ? 'cached' : 'not cached',
    `commits each ${commitInterval} ms`,
    `session ${sessionTimeout} ms`,
    `faults: ${[...new Set(plan.faults)].sort().join(', ')}`,
  ].join('; ')
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[randomInteger(random, items.length)] as T
}

/** True: nothing is processed twice. */
export function isOnce({ guarantee, faults }: SimulationPlan): boolean {
  return guarantee === 'exactly-once' || faults.every((fault) => gentle.includes(fault))
}

/** True: the result must be that of processing everything once. */
export function isExact(plan: SimulationPlan): boolean {
  return plan.program.result === 'latest' || isOnce(plan)
}
