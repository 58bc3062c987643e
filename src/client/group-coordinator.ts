import { StreamsError } from '../errors.ts'
import { kafkaError } from '../protocol/error-codes.ts'
import { joinGroup } from '../protocol/messages/11-join-group.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { leaveGroup } from '../protocol/messages/13-leave-group.ts'
import { syncGroup } from '../protocol/messages/14-sync-group.ts'
import type { Api } from '../protocol/schema.ts'
import type { RequestBody } from './broker-connection.ts'
import { eitherSignal, lifeController } from './deadline.ts'
import type { ConnectionPurpose, KafkaClient } from './kafka-client.ts'

/** What a JoinGroup may take beyond the time that the members have to join. */
const joinMarginMs = 5000

/** How long a join goes on looking for the coordinator, beyond one whole try. */
const joinRetriesMs = 30_000

const syncTimeoutMs = 60_000
const heartbeatTimeoutMs = 30_000
const leaveTimeoutMs = 5000

/** First version of LeaveGroup that can take out a static member. */
const leaveSeveralVersion = 3

/** Options of one call; the signal ends the wait, not what the broker does. */
export interface GroupRequestOptions {
  signal?: AbortSignal
  /** Tries, rediscovery included, end by then. Each call has its own default. */
  timeoutMs?: number
}

/** JoinGroup. */
export interface JoinGroupRequest {
  /** Empty at first: the answer is MEMBER_ID_REQUIRED with the id to join with (KIP-394). */
  readonly memberId: string
  /** Null: not a static member. */
  readonly instanceId: string | null
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly protocolType: string
  /** In order of preference. */
  readonly protocols: readonly { readonly name: string; readonly metadata: Uint8Array }[]
  /** Why, for the broker's log (KIP-800). */
  readonly reason?: string
}

/** The answer to JoinGroup. */
export interface JoinGroupResult {
  /** Kafka's name of the error, `NONE` when there is none. */
  readonly error: string
  readonly generation: number
  readonly protocolName: string | null
  readonly leader: string
  readonly memberId: string
  /** KIP-814: the leader (a static one that came back) must not compute an assignment. */
  readonly skipAssignment: boolean
  /** For the leader only; empty for the others. */
  readonly members: readonly {
    readonly memberId: string
    readonly instanceId: string | null
    readonly metadata: Buffer
  }[]
}

/** A member in its generation. */
export interface GroupMemberIdentity {
  readonly memberId: string
  readonly instanceId: string | null
  readonly generation: number
}

/** SyncGroup. */
export interface SyncGroupRequest extends GroupMemberIdentity {
  readonly protocolType: string
  readonly protocolName: string
  /** From the leader only; empty from the others. */
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Uint8Array }[]
}

/** The answer to SyncGroup. */
export interface SyncGroupResult {
  /** Kafka's name of the error, `NONE` when there is none. */
  readonly error: string
  readonly assignment: Buffer
}

/**
 * The calls of the classic group protocol, to whichever broker is the coordinator. It is looked for
 * again when it has moved or is not reachable; every other error comes back by its name, for the
 * member to act on. Rejects as `KafkaClient.request` does when no coordinator can be found in time.
 *
 * Each instance has a connection of its own, because the broker holds a JoinGroup until the others
 * have joined, and answers nothing else on that connection meanwhile.
 */
export class GroupCoordinator implements AsyncDisposable {
  readonly groupId: string
  readonly #client: KafkaClient
  readonly #purpose: ConnectionPurpose
  readonly #life = lifeController()

  constructor(client: KafkaClient, groupId: string) {
    this.#client = client
    this.groupId = groupId
    this.#purpose = client.uniquePurpose('group')
  }

  /** Waits as long as the rebalance may take: default `rebalanceTimeoutMs` and 35 s. */
  async joinGroup(
    request: JoinGroupRequest,
    options: GroupRequestOptions = {},
  ): Promise<JoinGroupResult> {
    const tryMs = Math.max(request.rebalanceTimeoutMs + joinMarginMs, this.#client.requestTimeoutMs)
    const response = await this.#request(
      joinGroup,
      {
        groupId: this.groupId,
        sessionTimeoutMs: request.sessionTimeoutMs,
        rebalanceTimeoutMs: request.rebalanceTimeoutMs,
        memberId: request.memberId,
        groupInstanceId: request.instanceId,
        protocolType: request.protocolType,
        protocols: request.protocols,
        reason: request.reason ?? null,
      },
      { ...options, tryMs, deadlineMs: options.timeoutMs ?? tryMs + joinRetriesMs },
    )
    return {
      error: kafkaError(response.errorCode).name,
      generation: response.generationId,
      protocolName: response.protocolName,
      leader: response.leader,
      memberId: response.memberId,
      skipAssignment: response.skipAssignment,
      members: response.members.map(({ memberId, groupInstanceId, metadata }) => ({
        memberId,
        instanceId: groupInstanceId,
        metadata,
      })),
    }
  }

  /** Waits for the leader's assignment. Default 60 s. */
  async syncGroup(
    request: SyncGroupRequest,
    options: GroupRequestOptions = {},
  ): Promise<SyncGroupResult> {
    const deadlineMs = options.timeoutMs ?? syncTimeoutMs
    const response = await this.#request(
      syncGroup,
      {
        groupId: this.groupId,
        generationId: request.generation,
        memberId: request.memberId,
        groupInstanceId: request.instanceId,
        protocolType: request.protocolType,
        protocolName: request.protocolName,
        assignments: request.assignments,
      },
      { ...options, tryMs: deadlineMs, deadlineMs },
    )
    const { errorCode, assignment } = response
    return { error: kafkaError(errorCode).name, assignment }
  }

  /** Kafka's name of the error: `NONE`, or for example `REBALANCE_IN_PROGRESS`. Default 30 s. */
  async heartbeat(member: GroupMemberIdentity, options: GroupRequestOptions = {}): Promise<string> {
    const deadlineMs = options.timeoutMs ?? heartbeatTimeoutMs
    const response = await this.#request(
      heartbeat,
      {
        groupId: this.groupId,
        generationId: member.generation,
        memberId: member.memberId,
        groupInstanceId: member.instanceId,
      },
      { ...options, tryMs: deadlineMs, deadlineMs },
    )
    return kafkaError(response.errorCode).name
  }

  /** Kafka's name of the error. Default 5 s: a coordinator that is away notices by the session. */
  async leaveGroup(
    member: { memberId: string; instanceId: string | null; reason?: string },
    options: GroupRequestOptions = {},
  ): Promise<string> {
    const deadlineMs = options.timeoutMs ?? leaveTimeoutMs
    const { groupId } = this
    const { memberId, instanceId, reason = null } = member
    const response = await this.#request(
      leaveGroup,
      (version) =>
        version < leaveSeveralVersion
          ? { groupId, memberId }
          : { groupId, members: [{ memberId, groupInstanceId: instanceId, reason }] },
      { ...options, tryMs: deadlineMs, deadlineMs },
    )
    const code = response.errorCode || (response.members[0]?.errorCode ?? 0)
    return kafkaError(code).name
  }

  /** Closes its connection; calls that wait reject with `CLIENT_CLOSED`. Idempotent. */
  async close(): Promise<void> {
    this.#life.abort()
    await this.#client.release(this.#purpose)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #request<In, Response>(
    api: Api<In, unknown, unknown, Response>,
    body: RequestBody<In>,
    options: GroupRequestOptions & { tryMs: number; deadlineMs: number },
  ): Promise<Response> {
    using either = eitherSignal(this.#life.signal, options.signal)
    try {
      return await this.#client.request(
        api,
        body,
        { coordinatorOf: this.groupId },
        {
          purpose: this.#purpose,
          timeoutMs: options.tryMs,
          deadlineMs: options.deadlineMs,
          signal: either.signal,
        },
      )
    } catch (error) {
      if (!this.#life.signal.aborted) throw error
      throw new StreamsError('CLIENT_CLOSED', { what: 'group member' }, { cause: error })
    }
  }
}
