import { randomInteger, type Random } from '../../src/base/random.ts'
import { programs, type SimulatedProgram } from './programs.ts'

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
  | 'slow-network'
  | 'broker-kill'
  | 'broker-restart'
  | 'disk-write'
  | 'disk-full'
  | 'scale'

/** Of these nothing is processed twice. */
const gentle: readonly Fault[] = ['stop', 'slow-network', 'scale']

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
  'disk-write',
  'disk-full',
]

/**
 * The dev broker forgets its groups when it ends, and members learn of it one after the other: for a
 * moment there are two owners. At least once, what the old one sends late may then come between the records
 * of the new one, in a changelog too, as in Java: so only an instance that is alone sees this.
 */
const ofBroker: readonly Fault[] = ['broker-kill', 'broker-restart']

/** Everything about a run that is decided before it begins. */
export interface SimulationPlan {
  readonly program: SimulatedProgram
  readonly instanceCount: number
  /** Of each instance. */
  readonly workers: number
  readonly guarantee: 'at-least-once' | 'exactly-once'
  readonly groupProtocol: 'classic' | 'streams'
  readonly standbyReplicas: number
  /** So small that tasks move with warm-ups. */
  readonly acceptableRecoveryLag: number
  readonly isStatic: boolean
  readonly hasCache: boolean
  readonly commitInterval: number
  readonly sessionTimeout: number
  /** Kinds that may happen in this run; one that is there twice is twice as likely. */
  readonly faults: readonly Fault[]
  /** How long things happen, in simulated milliseconds. */
  readonly durationMs: number
  /** Between two faults, at most. */
  readonly faultEveryMs: number
  /** Between two records, at most. */
  readonly recordEveryMs: number
}

/** A plan from a seed. */
export function randomPlan(random: Random): Omit<SimulationPlan, 'workers'> {
  const make = pick(random, [...programs.values()])
  const program = make({
    partitions: 1 + randomInteger(random, 4),
    keys: pick(random, [3, 8, 30]),
    persistent: random.next() < 0.8,
  })
  const instanceCount = 1 + randomInteger(random, 3)
  const guarantee = random.next() < 0.6 ? 'exactly-once' : 'at-least-once'
  const fromBroker = instanceCount === 1 || guarantee === 'exactly-once' ? ofBroker : []
  const kinds = random.next() < 0.2 ? gentle : [...gentle, ...harsh, ...fromBroker]
  // A few kinds at a time find more than all at once: one does not hide what the other does.
  const faults = Array.from({ length: 1 + randomInteger(random, 5) }, () => pick(random, kinds))
  return {
    program,
    instanceCount,
    guarantee,
    groupProtocol: pick(random, ['classic', 'classic', 'streams']),
    standbyReplicas: pick(random, [0, 0, 1, 1, 2]),
    acceptableRecoveryLag: pick(random, [0, 50, 10_000]),
    isStatic: random.next() < 0.25,
    hasCache: random.next() < 0.6 && program.mayCache,
    commitInterval: pick(random, [50, 200, 1000, 5000]),
    sessionTimeout: pick(random, [6_000, 10_000]),
    faults,
    durationMs: 20_000 + randomInteger(random, 40_000),
    faultEveryMs: pick(random, [2_000, 5_000, 12_000]),
    recordEveryMs: pick(random, [50, 200, 600]),
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

/** True: nothing may be processed twice. */
export function isExact({ guarantee, faults, program }: SimulationPlan): boolean {
  if (guarantee === 'exactly-once' || program.result === 'latest') return true
  return faults.every((fault) => gentle.includes(fault))
}
