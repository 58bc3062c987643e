/**
 * How long the leader of a group computes who has what: tasks with stores, one standby each, three zones.
 * `fresh`: a group that has nothing; `same`: nothing changes; `newcomer`: one more member comes, whose
 * state is empty; `lost`: one is gone. These are the time of one plan, of which a change takes two. `write`
 * is what it takes to write the assignments of all members afterwards. Prints one JSON line, in
 * milliseconds of the processor; the best of several rounds.
 *
 *     npx tsx bench/assignor.ts
 */
import { assignTasks, type AssignorOptions } from '../src/group/assignor/assign-tasks.ts'
import type { AssignableTask, AssignorMember } from '../src/group/assignor/process-state.ts'
import { progressRunning, type TaskSet } from '../src/group/membership.ts'
import { encodeAssignment, encodeHosts } from '../src/group/user-data.ts'
import { taskId } from '../src/processor/record-metadata.ts'

const sizes = [
  { members: 100, tasks: 1000 },
  { members: 100, tasks: 10_000 },
  { members: 100, tasks: 100_000 },
]
const rounds = 3
const endSum = 1_000_000
const options: AssignorOptions = {
  standbyReplicas: 1,
  acceptableRecoveryLag: 10_000,
  maxWarmupReplicas: 2,
  rackAwareAssignmentTags: ['zone'],
  moves: 'caught-up',
}
const nothing: TaskSet = { active: new Set(), standby: new Set() }

/** A member of its own process that runs and follows this, and has caught up with all of it. */
function memberWith(index: number, held: TaskSet): AssignorMember {
  const memberId = `member-${String(index).padStart(3, '0')}`
  return {
    memberId,
    processId: memberId,
    generation: 1,
    held,
    progress: new Map([
      ...[...held.active].map((id) => [id, progressRunning] as const),
      ...[...held.standby].map((id) => [id, endSum] as const),
    ]),
    tags: new Map([['zone', `zone-${index % 3}`]]),
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function bestOf(run: () => unknown): number {
  let best = Infinity
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = processorMs()
    run()
    best = Math.min(best, processorMs() - startedAt)
  }
  return Math.round(best)
}

/** As the leader does. */
function writeAll(targets: ReadonlyMap<string, TaskSet>): void {
  const hosts = new Map(
    [...targets].map(([host, tasks]) => [host, { endpoint: { host, port: 8080 }, tasks }]),
  )
  const encodedHosts = encodeHosts(hosts)
  for (const tasks of targets.values()) {
    const told = {
      error: undefined,
      matchedTopics: [],
      rejoinInMs: undefined,
      topicsFingerprint: 1,
    }
    encodeAssignment({ ...told, tasks, hosts }, 2, encodedHosts)
  }
}

const results: Record<string, Record<string, number>> = {}
for (const size of sizes) {
  const tasks: AssignableTask[] = Array.from({ length: size.tasks }, (_, index) => ({
    id: taskId(index % 10, Math.floor(index / 10)),
    stateful: true,
    logged: true,
    endSum,
  }))
  const members = Array.from({ length: size.members }, (_, index) => memberWith(index, nothing))
  const { targets } = assignTasks(tasks, members, options)
  const busy = members.map(({ memberId }, index) =>
    memberWith(index, targets.get(memberId) ?? nothing),
  )
  const grown = [...busy, memberWith(size.members, nothing)]
  results[`${size.members} members, ${size.tasks} tasks`] = {
    fresh: bestOf(() => assignTasks(tasks, members, options)),
    same: bestOf(() => assignTasks(tasks, busy, options)),
    newcomer: bestOf(() => assignTasks(tasks, grown, options)),
    lost: bestOf(() => assignTasks(tasks, busy.slice(1), options)),
    write: bestOf(() => writeAll(targets)),
  }
}
console.log(JSON.stringify({ bench: 'assignor', unit: 'ms', ...results }))
