import type { SimulationPlan } from './plan.ts'

/**
 * Breaks the engine on purpose, a line or two at a time, to see how many seeds the simulation needs until a run is red:
 * a judge that lets all of them pass judges nothing. `scripts/sim-mutations.ts` runs them.
 */
export interface Mutation {
  readonly name: string
  /** Where it could make a difference: only such seeds are run. Default: anywhere. */
  readonly where?: (plan: SimulationPlan) => boolean
  /** What is replaced, in which file. Each text is there exactly once. */
  readonly edits: readonly { readonly file: string; readonly text: string; readonly by: string }[]
}

const edit = (
  file: string,
  text: string,
  by: string,
): { readonly file: string; readonly text: string; readonly by: string } => ({ file, text, by })

const isExactlyOnce = ({ guarantee }: SimulationPlan): boolean => guarantee === 'exactly-once'
const isClassic = ({ groupProtocol }: SimulationPlan): boolean => groupProtocol === 'classic'
const isStreams = ({ groupProtocol }: SimulationPlan): boolean => groupProtocol === 'streams'
const hasSeveral = ({ instanceCount }: SimulationPlan): boolean => instanceCount > 1
/** Somebody is replaced who lives. */
const mayBeReplaced = (plan: SimulationPlan): boolean =>
  plan.faults.some((fault) => ['pause', 'isolate', 'deafen', 'silence-commit'].includes(fault))
const hasCopies = (plan: SimulationPlan): boolean => hasSeveral(plan) && plan.standbyReplicas > 0
/** Without a broker that forgets its groups, which excuses much. */
const mayBeSilenced = (plan: SimulationPlan): boolean =>
  plan.faults.some((fault) => ['isolate', 'deafen', 'silence-commit'].includes(fault)) &&
  !plan.faults.some((fault) => fault.startsWith('broker'))
const mayKill = (plan: SimulationPlan): boolean =>
  plan.faults.some((fault) => ['kill', 'kill-inside', 'power-off'].includes(fault))

const classicMember = 'src/group/classic-member.ts'
const streamsMember = 'src/group/streams-member.ts'
const worker = 'src/runtime/stream-worker.ts'
const workerCommit = 'src/runtime/worker-commit.ts'

export const mutations: readonly Mutation[] = [
  {
    name: 'a member acknowledges before it has revoked (classic)',
    where: (plan) => isClassic(plan) && hasSeveral(plan),
    edits: [
      edit(classicMember, 'await handlers.onRevoke(revoked)', 'void handlers.onRevoke(revoked)'),
      edit(classicMember, 'await handlers.onAssign(target,', 'void handlers.onAssign(target,'),
    ],
  },
  {
    name: 'a member acknowledges before it has revoked (streams)',
    where: (plan) => isStreams(plan) && hasSeveral(plan),
    edits: [
      edit(streamsMember, 'await handlers.onRevoke(revoked)', 'void handlers.onRevoke(revoked)'),
      edit(streamsMember, 'await handlers.onAssign(tasks,', 'void handlers.onAssign(tasks,'),
    ],
  },
  {
    name: 'a member leaves before it has committed',
    where: isClassic,
    edits: [
      edit(
        classicMember,
        'if (this.identity() !== undefined) await handlers.onRevoke(active)',
        'if (this.identity() !== undefined) void handlers.onRevoke(active)',
      ),
    ],
  },
  {
    name: 'a revocation is lost',
    where: (plan) => isClassic(plan) && hasSeveral(plan),
    edits: [
      edit(
        classicMember,
        'const revoked = new Set([...this.#held.active].filter((id) => !target.active.has(id)))',
        'const revoked = new Set<string>() as ReadonlySet<never>',
      ),
    ],
  },
  {
    name: 'a task is given away while its owner has it',
    where: (plan) => isClassic(plan) && hasSeveral(plan),
    edits: [
      edit(
        'src/group/assignor/tasks-in-transit.ts',
        'isFree(id) && !holders.runsElsewhere(memberId, id)',
        'isFree(id)',
      ),
    ],
  },
  {
    name: 'a lost member keeps its tasks',
    where: mayBeReplaced,
    edits: [
      edit(
        worker,
        'this.#commit.abandon()\n    this.#tasks.abandon()\n    await this.#tasks.startAnew()',
        'this.#commit.abandon()\n    await this.#tasks.startAnew()',
      ),
    ],
  },
  {
    name: 'a transaction goes on after the membership was lost',
    where: (plan) => isExactlyOnce(plan) && mayBeReplaced(plan),
    edits: [
      edit(
        worker,
        'this.#tasks.abandon()\n    await this.#tasks.startAnew()',
        'this.#tasks.abandon()',
      ),
    ],
  },
  {
    name: 'offsets are committed before the records are flushed',
    edits: [
      edit(
        workerCommit,
        'await producer.flush()\n      // Records that',
        'void producer.flush()\n      // Records that',
      ),
      edit(
        workerCommit,
        'if (producer.queuedBytes > 0) await producer.flush()',
        'if (producer.queuedBytes > 0) void producer.flush()',
      ),
    ],
  },
  {
    name: 'offsets are committed beside the transaction',
    where: isExactlyOnce,
    edits: [
      edit(
        workerCommit,
        'else await transactions.commitOffsets(identity, offsets)',
        'else await commitOffsets(client, identity, offsets)',
      ),
    ],
  },
  {
    name: 'stores hear of a commit before it is one',
    where: (plan) => isExactlyOnce(plan) && plan.faults.includes('silence-commit'),
    edits: [
      edit(
        workerCommit,
        "if ((await this.#commitTransaction(transactions)) === 'later') return 'later'\n    this.#prepared = undefined\n    this.#lastAt = clock.monotonic()\n    tasks.committed(ids.filter((id) => tasks.tasks.has(id)))",
        "tasks.committed(ids.filter((id) => tasks.tasks.has(id)))\n    if ((await this.#commitTransaction(transactions)) === 'later') return 'later'\n    this.#prepared = undefined\n    this.#lastAt = clock.monotonic()",
      ),
    ],
  },
  {
    name: 'a restore ends one record early',
    edits: [
      edit(
        'src/runtime/changelog-reader.ts',
        'if (position >= endOffset) return true',
        'if (position >= endOffset - 1) return true',
      ),
    ],
  },
  {
    name: 'a task begins to read anew instead of where it left off',
    edits: [
      edit(
        'src/runtime/worker-tasks.ts',
        'this.#inputs.add(task.inputs, this.#committed.get(task.id) ?? [])',
        'this.#inputs.add(task.inputs, [])',
      ),
    ],
  },
  {
    name: 'what aborted transactions wrote is read',
    where: isExactlyOnce,
    edits: [
      edit(
        'src/client/committed-runs.ts',
        '!== 0 && open.has(producerId)) {',
        '!== 0 && open.has(-1)) {',
      ),
    ],
  },
  {
    name: 'state without its changelog is trusted',
    edits: [
      edit('src/runtime/changelog-reader.ts', 'if (position > endOffset) {', 'if (position < 0) {'),
    ],
  },
  {
    name: 'a member counts as one after its session',
    where: (plan) => hasSeveral(plan) && mayBeReplaced(plan),
    edits: [
      edit(
        'src/group/session-lease.ts',
        'this.#isOver = true\n    this.#options.onChange(true)',
        'this.#isOver = false',
      ),
    ],
  },
  {
    name: 'a copy becomes active without its last records',
    where: hasCopies,
    edits: [
      edit(
        'src/runtime/changelog-reader.ts',
        'const restore = { task, changelog, endOffset: undefined, hasStarted: false, restored: 0 }',
        'const endOffset = changelog.position > 0 ? changelog.position : undefined\n' +
          'const restore = { task, changelog, endOffset, hasStarted: false, restored: 0 }',
      ),
    ],
  },
  {
    name: 'a copy goes on one record too far',
    edits: [
      edit(
        'src/task/state-manager.ts',
        'if (offset < changelog.position ||',
        'if ((offset <= changelog.position && offset > 0) ||',
      ),
    ],
  },
  {
    name: 'a broker takes records of an older epoch',
    where: (plan) => isExactlyOnce(plan) && mayBeReplaced(plan),
    edits: [
      edit(
        'src/broker/producer-states.ts',
        "if (batch.producerEpoch < state.epoch) return refused('INVALID_PRODUCER_EPOCH')",
        'if (batch.producerEpoch < state.epoch) return append',
      ),
    ],
  },
  {
    name: 'a broker takes offsets of an older generation into a transaction',
    where: (plan) => isExactlyOnce(plan) && hasSeveral(plan) && mayBeReplaced(plan),
    edits: [
      edit(
        'src/broker/group-coordinator.ts',
        'return group.memberProblem(by.memberId, by.instanceId, by.generation)\n  }\n\n  #subscribedTopics',
        'return undefined\n  }\n\n  #subscribedTopics',
      ),
    ],
  },
  {
    name: 'a broker gives a task away while its owner has it (streams)',
    where: (plan) => isStreams(plan) && hasSeveral(plan),
    edits: [
      edit(
        'src/broker/streams-reconciliation.ts',
        'other.ownsActive(id) ||\n      (other !== member &&',
        '(other !== member &&',
      ),
    ],
  },
  {
    name: 'a bound on the lag of an answer is not kept',
    edits: [
      edit(
        'src/query/local-query.ts',
        'if (lag > maxLag) throw',
        'if (lag > maxLag + Number.MAX_SAFE_INTEGER) throw',
      ),
    ],
  },
  {
    name: 'a copy says that nothing is missing',
    edits: [
      edit(
        'src/runtime/store-lags.ts',
        'return Math.max(0, lag.endOffset - lag.offset)',
        'return 0',
      ),
    ],
  },
  {
    name: 'a store is marked as further than its rows',
    where: mayKill,
    edits: [
      edit(
        'src/store/write-behind.ts',
        'return writes.length === 0 ? undefined',
        'const early = this.engine.begin()\n' +
          'for (const { table } of writes) if (table.writingOffset !== undefined) ' +
          'this.offsets.put(early, table.name, table.writingOffset)\n' +
          'early.commit()\n' +
          'return writes.length === 0 ? undefined',
      ),
    ],
  },
  {
    name: 'a task moves before its new owner has caught up',
    where: (plan) => isClassic(plan) && hasSeveral(plan),
    edits: [
      edit(
        'src/group/assignor/movements.ts',
        "if (hasSource && task.isLogged && task.nearnessAt(to) !== 'caught-up')",
        "if (hasSource && task.isLogged && task.nearnessAt(to) === 'following' && task.index < 0)",
      ),
    ],
  },
  {
    name: 'a worker loses a wake-up',
    edits: [
      edit(
        'src/runtime/wake-up.ts',
        'if (this.#resolve === undefined) this.#isPending = true\n    else this.#resolve()',
        'this.#resolve?.()',
      ),
    ],
  },
  {
    name: 'a member sleeps when it has to join again',
    where: (plan) => isClassic(plan) && hasSeveral(plan),
    edits: [
      edit(
        classicMember,
        'this.#rejoinReason ??= reason\n    this.#wake()',
        'this.#rejoinReason ??= reason',
      ),
    ],
  },
  {
    name: 'a copy that is cut off keeps bounds',
    where: (plan) => isExactlyOnce(plan) && hasCopies(plan) && mayBeSilenced(plan),
    edits: [edit('src/runtime/local-worker.ts', 'isCutOff: this.#worker.isCutOff,', '')],
  },
]
