import { decodeSubscription } from '../../src/group/user-data.ts'
import { apis } from '../../src/protocol/apis.ts'
import { decodeConsumerSubscription } from '../../src/protocol/consumer-protocol.ts'
import { decodeRequestHeader } from '../../src/protocol/header.ts'
import { joinGroup } from '../../src/protocol/messages/11-join-group.ts'
import { leaveGroup } from '../../src/protocol/messages/13-leave-group.ts'
import { streamsGroupHeartbeat } from '../../src/protocol/messages/88-streams-group-heartbeat.ts'
import { Reader } from '../../src/protocol/reader.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'

/** What a member tells the group of itself. */
interface Word {
  readonly memberId: string
  /** The tasks that it runs. */
  readonly active: ReadonlySet<string>
  /** `all`: what it does not name is not open. `released`: what it does not name any more. */
  readonly of: 'all' | 'released'
}

/**
 * Reads what members tell the group that they run. A group that hears that a task was given up gives it to somebody
 * else: so by the moment in which a member says so, or leaves, nothing of the task may be open in its process. This
 * holds for those who were cut off as well, where a process has one member.
 */
export class ReleaseWatch {
  /** Each instance has one worker: all that is open there is the member's. */
  readonly #areAlone: boolean
  readonly #isWitness: (instance: SimulatedInstance) => boolean
  readonly #onBreach: (what: string) => void
  /** What members named last, by machine and member id. */
  readonly #named = new Map<string, ReadonlySet<string>>()

  constructor(options: {
    areAlone: boolean
    isWitness: (instance: SimulatedInstance) => boolean
    onBreach: (what: string) => void
  }) {
    this.#areAlone = options.areAlone
    this.#isWitness = options.isWitness
    this.#onBreach = options.onBreach
  }

  heard(instance: SimulatedInstance, frame: Buffer): void {
    const word = wordOf(frame)
    if (word !== undefined) this.#judge(instance, word)
  }

  #judge(instance: SimulatedInstance, { memberId, active, of }: Word): void {
    const member = `${instance.name} ${memberId}`
    const before = this.#named.get(member)
    this.#named.set(member, active)
    // Another worker of the process may have been thrown out, and have the task until it hears of it.
    if (!this.#areAlone && !this.#isWitness(instance)) return
    for (const { id, role } of instance.streams.localTasks()) {
      if (role !== 'active' || active.has(id)) continue
      const mayBeOfOther = of === 'released' || !this.#areAlone
      if (mayBeOfOther && before?.has(id) !== true) continue
      this.#onBreach(`${instance.name} tells the group that it has no task ${id}, which is open`)
    }
  }
}

/** Undefined: it is about something else. */
function wordOf(frame: Buffer): Word | undefined {
  const key = frame.readInt16BE(0)
  if (key !== joinGroup.key && key !== leaveGroup.key && key !== streamsGroupHeartbeat.key)
    return undefined
  const reader = new Reader(frame, { api: 'a request' })
  const { apiVersion } = decodeRequestHeader(apis, reader)
  if (key === joinGroup.key) {
    const { memberId, protocols } = joinGroup.request.decode(apiVersion, reader)
    const { userData } = decodeConsumerSubscription(protocols[0]?.metadata ?? Buffer.alloc(0))
    if (userData === null) return undefined
    return { memberId, active: decodeSubscription(userData).held.active, of: 'all' }
  }
  if (key === leaveGroup.key) {
    const { members } = leaveGroup.request.decode(apiVersion, reader)
    return { memberId: members[0]?.memberId ?? '', active: new Set(), of: 'all' }
  }
  const { memberId, memberEpoch, activeTasks } = streamsGroupHeartbeat.request.decode(
    apiVersion,
    reader,
  )
  if (memberEpoch < 0) return { memberId, active: new Set(), of: 'all' }
  if (activeTasks === null) return undefined
  const active = activeTasks.flatMap(({ subtopologyId, partitions }) =>
    partitions.map((partition) => `${subtopologyId}_${partition}`),
  )
  // A task is named when it is open, no sooner.
  return { memberId, active: new Set(active), of: 'released' }
}
