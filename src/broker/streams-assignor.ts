/**
 * Gives out the tasks of a streams group (org.apache.kafka.coordinator.group.streams.assignor
 * .StickyTaskAssignor): evenly, and where they were before.
 */
import { assert } from '../base/assert.ts'
import { parseStreamsTaskId, type RoleTasks, type StreamsTaskId } from './streams-tasks.ts'

/** A member, as the assignor sees it. */
export interface AssignableMember {
  readonly memberId: string
  readonly processId: string
  /** What it was to hold before. */
  readonly before: RoleTasks
  /** Offsets that it has told of tasks whose state it has. */
  readonly offsets: ReadonlyMap<StreamsTaskId, number>
}

/** A task that is to be given out. */
export interface AssignableTask {
  readonly id: StreamsTaskId
  /** Only these have copies. */
  readonly isStateful: boolean
}

class Load {
  readonly member: AssignableMember
  readonly process: ProcessLoad
  readonly active = new Set<StreamsTaskId>()
  readonly standby = new Set<StreamsTaskId>()

  constructor(member: AssignableMember, process: ProcessLoad) {
    this.member = member
    this.process = process
  }

  get count(): number {
    return this.active.size + this.standby.size
  }

  take(id: StreamsTaskId, role: 'active' | 'standby'): void {
    this[role].add(id)
    this.process.tasks.add(id)
  }
}

class ProcessLoad {
  readonly members: Load[] = []
  readonly tasks = new Set<StreamsTaskId>()

  /** Tasks for each of its members. */
  get load(): number {
    return this.tasks.size / this.members.length
  }
}

/** What each member is to hold. There is at least one. */
export function assignStreamsTasks(
  tasks: readonly AssignableTask[],
  members: readonly AssignableMember[],
  standbyReplicas: number,
): Map<string, RoleTasks> {
  const loads = loadsOf(members)
  assert(loads.length > 0, 'tasks are given to somebody')
  const quota = Math.ceil(tasks.length / loads.length)
  // Same partitions of different sub-topologies stay together, so that everybody keeps its share of each.
  const left = tasks.toSorted(byPartition).filter(({ id }) => {
    const owner = loads.find(({ member }) => member.before.active.has(id))
    if (owner === undefined || owner.active.size >= quota) return true
    owner.take(id, 'active')
    return false
  })
  for (const { id } of left.toSorted(bySubtopology)) {
    const followers = byProgress(id, loads).filter(({ active }) => active.size < quota)
    const load = followers[0] ?? leastLoaded(loads)
    load.take(id, 'active')
  }
  assignStandbys(tasks, loads, standbyReplicas)
  return new Map(loads.map(({ member, active, standby }) => [member.memberId, { active, standby }]))
}

/**
 * Who followed a task goes on, as long as it has no more than its share of all that is given out: the
 * rest goes to whoever has least, a new member for example.
 */
function assignStandbys(
  tasks: readonly AssignableTask[],
  loads: readonly Load[],
  standbyReplicas: number,
): void {
  const stateful = tasks.filter(({ isStateful }) => isStateful).toSorted(byPartition)
  const share = Math.ceil((tasks.length + stateful.length * standbyReplicas) / loads.length)
  const isFree = (id: StreamsTaskId, { process }: Load): boolean => !process.tasks.has(id)
  const missing: StreamsTaskId[] = []
  for (const { id } of stateful) {
    for (let copy = 0; copy < standbyReplicas; copy += 1) {
      const followers = byProgress(id, loads).filter((load) => isFree(id, load))
      const follower = followers.find(({ count }) => count < share)
      if (follower === undefined) missing.push(id)
      else follower.take(id, 'standby')
    }
  }
  for (const id of missing) {
    const free = loads.filter((load) => isFree(id, load))
    if (free.length > 0) leastLoaded(free).take(id, 'standby')
  }
}

function byPartition(a: AssignableTask, b: AssignableTask): number {
  const partitions = parseStreamsTaskId(a.id).partition - parseStreamsTaskId(b.id).partition
  return partitions === 0 ? compareIds(a, b) : partitions
}

function bySubtopology(a: AssignableTask, b: AssignableTask): number {
  const subtopologies = compareIds(a, b)
  if (subtopologies !== 0) return subtopologies
  return parseStreamsTaskId(a.id).partition - parseStreamsTaskId(b.id).partition
}

function compareIds(a: AssignableTask, b: AssignableTask): number {
  const left = parseStreamsTaskId(a.id).subtopologyId
  const right = parseStreamsTaskId(b.id).subtopologyId
  return left < right ? -1 : left > right ? 1 : 0
}

function loadsOf(members: readonly AssignableMember[]): Load[] {
  const processes = new Map<string, ProcessLoad>()
  const sorted = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
  return sorted.map((member) => {
    const process = processes.get(member.processId) ?? new ProcessLoad()
    processes.set(member.processId, process)
    const load = new Load(member, process)
    process.members.push(load)
    return load
  })
}

/** Who has state of a task: first who held it, then who followed it, then who tells offsets. */
function byProgress(id: StreamsTaskId, loads: readonly Load[]): Load[] {
  const rank = ({ member: { before, offsets } }: Load): number => {
    if (before.active.has(id)) return Number.POSITIVE_INFINITY
    if (before.standby.has(id)) return Number.MAX_SAFE_INTEGER
    return offsets.get(id) ?? -1
  }
  return loads
    .filter((load) => rank(load) >= 0)
    .sort((a, b) => rank(b) - rank(a) || a.count - b.count)
}

function leastLoaded(loads: readonly Load[]): Load {
  const [first, ...others] = loads
  assert(first !== undefined, 'there is a member')
  return others.reduce(
    (best, load) =>
      load.process.load < best.process.load ||
      (load.process.load === best.process.load && load.count < best.count)
        ? load
        : best,
    first,
  )
}
