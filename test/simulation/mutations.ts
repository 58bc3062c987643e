/**
 * Breaks the engine on purpose, a line or two at a time, to see how many seeds the simulation needs until a run is red:
 * a judge that lets all of them pass judges nothing. `scripts/sim-mutations.ts` runs them.
 */
export interface Mutation {
  readonly name: string
  /** What is replaced, in which file. Each text is there exactly once. */
  readonly edits: readonly { readonly file: string; readonly text: string; readonly by: string }[]
}

const edit = (
  file: string,
  text: string,
  by: string,
): { readonly file: string; readonly text: string; readonly by: string } => ({ file, text, by })

const classicMember = 'src/group/classic-member.ts'
const streamsMember = 'src/group/streams-member.ts'
const worker = 'src/runtime/stream-worker.ts'
const workerCommit = 'src/runtime/worker-commit.ts'

export const mutations: readonly Mutation[] = [
  {
    name: 'a member acknowledges before it has revoked (classic)',
    edits: [
      edit(classicMember, 'await handlers.onRevoke(revoked)', 'void handlers.onRevoke(revoked)'),
      edit(classicMember, 'await handlers.onAssign(target,', 'void handlers.onAssign(target,'),
    ],
  },
  {
    name: 'a member acknowledges before it has revoked (streams)',
    edits: [
      edit(streamsMember, 'await handlers.onRevoke(revoked)', 'void handlers.onRevoke(revoked)'),
      edit(streamsMember, 'await handlers.onAssign(tasks,', 'void handlers.onAssign(tasks,'),
    ],
  },
  {
    name: 'a member leaves before it has committed',
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
    edits: [
      edit(
        'src/group/session-lease.ts',
        'this.#isOver = true\n    this.#options.onChange(true)',
        'this.#isOver = false',
      ),
    ],
  },
]
