import type { KafkaClient } from './kafka-client.ts'

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
 * member to act on. Each instance has a connection of its own, because the broker holds a JoinGroup
 * until the others have joined, and answers nothing else on that connection meanwhile.
 */
export class GroupCoordinator implements AsyncDisposable {
  readonly groupId: string

  constructor(client: KafkaClient, groupId: string) {
    throw new Error('to come')
  }

  /** Waits as long as the rebalance may take: default `rebalanceTimeoutMs` and some seconds. */
  joinGroup(request: JoinGroupRequest, options?: GroupRequestOptions): Promise<JoinGroupResult> {
    throw new Error('to come')
  }

  /** Waits for the leader's assignment. Default 60 s. */
  syncGroup(request: SyncGroupRequest, options?: GroupRequestOptions): Promise<SyncGroupResult> {
    throw new Error('to come')
  }

  /** Kafka's name of the error: `NONE`, or for example `REBALANCE_IN_PROGRESS`. Default 30 s. */
  heartbeat(member: GroupMemberIdentity, options?: GroupRequestOptions): Promise<string> {
    throw new Error('to come')
  }

  /** Kafka's name of the error. Default 5 s: a coordinator that is away notices by the session. */
  leaveGroup(
    member: { memberId: string; instanceId: string | null; reason?: string },
    options?: GroupRequestOptions,
  ): Promise<string> {
    throw new Error('to come')
  }

  /** Closes its connection; calls that wait reject with `CLIENT_CLOSED`. Idempotent. */
  close(): Promise<void> {
    throw new Error('to come')
  }

  [Symbol.asyncDispose](): Promise<void> {
    throw new Error('to come')
  }
}
