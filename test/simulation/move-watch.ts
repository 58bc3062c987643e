import { progressRunning } from '../../src/group/membership.ts'
import {
  decodeAssignment,
  decodeSubscription,
  type SubscriptionData,
} from '../../src/group/user-data.ts'
import { parseTaskId, type TaskId } from '../../src/processor/record-metadata.ts'
import { apis } from '../../src/protocol/apis.ts'
import {
  decodeConsumerAssignment,
  decodeConsumerSubscription,
} from '../../src/protocol/consumer-protocol.ts'
import { decodeRequestHeader } from '../../src/protocol/header.ts'
import { joinGroup } from '../../src/protocol/messages/11-join-group.ts'
import { syncGroup } from '../../src/protocol/messages/14-sync-group.ts'
import { Reader } from '../../src/protocol/reader.ts'
import { findStore } from '../../src/topology/topology.ts'
import type { SimulationPlan } from './plan.ts'

/** More than a program has. */
const partitions = [0, 1, 2, 3, 4, 5, 6, 7]

/** A member as it has joined last. */
interface Joined {
  readonly data: SubscriptionData
  /** Where the changelog of a partition ended then. */
  readonly end: (partition: number) => number
}

/**
 * Reads what members tell the leader of their group, and what it gives them: as long as
 * somebody has all of a task but for what is acceptable, nobody runs it who lacks more. Until then that one is a warm-up.
 */
export class MoveWatch {
  readonly #acceptableLag: number
  /** The sub-topology whose changelog is known; undefined: nothing is judged. */
  readonly #subtopology: number | undefined
  readonly #end: (partition: number) => number
  readonly #onBreach: (what: string) => void
  readonly #joined = new Map<string, Joined>()

  /** `end`: where the changelog of a partition of the program's store ends, as far as it is committed. */
  constructor(
    plan: SimulationPlan,
    options: { end: (partition: number) => number; onBreach: (what: string) => void },
  ) {
    const { program, workers, mixesReleases } = plan
    // Members of one process share their state, and older releases do not tell how far it is.
    const isTold = program.copy !== undefined && workers === 1 && !mixesReleases
    const found = isTold ? findStore(program.topology, program.copy.store.name) : undefined
    const isAlone = found?.subtopology.stores.length === 1
    this.#subtopology = isAlone ? found.subtopology.id : undefined
    this.#acceptableLag = plan.acceptableRecoveryLag
    this.#end = options.end
    this.#onBreach = options.onBreach
  }

  heard(frame: Buffer): void {
    const key = frame.readInt16BE(0)
    if (this.#subtopology === undefined || (key !== joinGroup.key && key !== syncGroup.key)) return
    const reader = new Reader(frame, { api: 'a request' })
    const { apiVersion } = decodeRequestHeader(apis, reader)
    if (key === joinGroup.key) {
      const { memberId, protocols } = joinGroup.request.decode(apiVersion, reader)
      const { userData } = decodeConsumerSubscription(protocols[0]?.metadata ?? Buffer.alloc(0))
      if (userData !== null) this.#join(memberId, decodeSubscription(userData))
      return
    }
    const { assignments } = syncGroup.request.decode(apiVersion, reader)
    const others = assignments.map(({ memberId }) => memberId)
    for (const { memberId, assignment } of assignments) {
      const { userData } = decodeConsumerAssignment(assignment)
      if (userData === null) continue
      this.#judge(memberId, { given: decodeAssignment(userData).tasks.active, others })
    }
  }

  #join(memberId: string, data: SubscriptionData): void {
    const ends = new Map(partitions.map((partition) => [partition, this.#end(partition)]))
    this.#joined.set(memberId, { data, end: (partition) => ends.get(partition) ?? 0 })
  }

  #judge(
    memberId: string,
    { given, others }: { given: ReadonlySet<TaskId>; others: readonly string[] },
  ): void {
    const member = this.#joined.get(memberId)
    if (member === undefined) return
    for (const id of given) {
      const { subtopology, partition } = parseTaskId(id)
      if (subtopology !== this.#subtopology || member.data.held.active.has(id)) continue
      // The leader knows of at least what was there when the member joined.
      const lag = lagOf(id, member, member.end(partition))
      if (lag <= this.#acceptableLag) continue
      const end = this.#end(partition)
      const ready = others.find((other) => {
        const joined = other === memberId ? undefined : this.#joined.get(other)
        return joined !== undefined && lagOf(id, joined, end) <= this.#acceptableLag
      })
      if (ready === undefined) continue
      this.#onBreach(`${memberId} gets task ${id} and lacks ${lag} records, which ${ready} has`)
    }
  }
}

function lagOf(id: TaskId, { data }: Joined, end: number): number {
  const progress = data.progress.get(id) ?? 0
  return progress === progressRunning ? 0 : end - progress
}
