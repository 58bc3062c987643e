import type { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf } from '../protocol/schema.ts'
import { Refusal } from './refusal.ts'
import type { StreamsGroupMember } from './streams-group-member.ts'
import type { RoleTasks } from './streams-tasks.ts'

type Request = RequestOf<typeof streamsGroupHeartbeat>

const membersMax = 1000

/** The members of a streams group, and who of them is meant by a heartbeat. */
export class StreamsMembers {
  readonly #byId = new Map<string, StreamsGroupMember>()
  readonly #byInstanceId = new Map<string, StreamsGroupMember>()

  get size(): number {
    return this.#byId.size
  }

  all(): StreamsGroupMember[] {
    return [...this.#byId.values()]
  }

  /** A member by its ids. @throws Refusal */
  get(memberId: string, instanceId: string | null): StreamsGroupMember {
    const member =
      instanceId === null ? this.#byId.get(memberId) : this.#byInstanceId.get(instanceId)
    if (member === undefined) {
      throw new Refusal('UNKNOWN_MEMBER_ID', `Member ${memberId} is not a member of the group.`)
    }
    if (instanceId !== null && member.id !== memberId) {
      throw new Refusal(
        'FENCED_INSTANCE_ID',
        `Static member ${memberId} with instance id ${instanceId} was fenced by member ${member.id}.`,
      )
    }
    return member
  }

  /** The member that sends this; one that joins and is not there yet is made. @throws Refusal */
  find(
    { memberId, instanceId, memberEpoch }: Request,
    owned: RoleTasks | undefined,
    make: (id: string, instanceId: string | null) => StreamsGroupMember,
  ): StreamsGroupMember {
    if (memberEpoch > 0) {
      const member = this.get(memberId, instanceId)
      assertEpoch(member, memberEpoch, owned)
      return member
    }
    const known =
      instanceId === null ? this.#byId.get(memberId) : this.#byInstanceId.get(instanceId)
    if (known !== undefined) return this.#rejoin(known, memberId)
    if (this.size >= membersMax)
      throw new Refusal('GROUP_MAX_SIZE_REACHED', `The group has ${membersMax} members, its limit.`)
    const member = make(memberId, instanceId)
    this.#byId.set(memberId, member)
    if (instanceId !== null) this.#byInstanceId.set(instanceId, member)
    return member
  }

  delete(member: StreamsGroupMember): void {
    this.#byId.delete(member.id)
    if (member.instanceId !== null) this.#byInstanceId.delete(member.instanceId)
  }

  /** A static member comes back under another id, and only after it has said that it will. */
  #rejoin(member: StreamsGroupMember, memberId: string): StreamsGroupMember {
    if (member.instanceId === null) return member
    if (!member.isAway) {
      throw new Refusal(
        'UNRELEASED_INSTANCE_ID',
        `Static member ${memberId} with instance id ${member.instanceId} cannot join the group because the instance id is owned by ${member.id} member.`,
      )
    }
    this.#byId.delete(member.id)
    member.id = memberId
    member.isAway = false
    this.#byId.set(memberId, member)
    return member
  }
}

/**
 * A member that is one epoch behind has not got the last answer. It may go on as long as it holds
 * nothing that was given to others since.
 */
function assertEpoch(
  member: StreamsGroupMember,
  epoch: number,
  owned: RoleTasks | undefined,
): void {
  if (epoch === member.epoch) return
  const { active, standby } = member.assigned
  const isLate =
    epoch === member.previousEpoch &&
    owned !== undefined &&
    [...owned.active].every((id) => active.has(id)) &&
    [...owned.standby].every((id) => standby.has(id))
  if (isLate) return
  const relation = epoch > member.epoch ? 'greater' : 'smaller'
  throw new Refusal(
    'FENCED_MEMBER_EPOCH',
    `The streams group member has a ${relation} member epoch (${epoch}) than the one known by the group coordinator (${member.epoch}). The member must abandon all its partitions and rejoin.`,
  )
}
