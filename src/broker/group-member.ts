import type { Timer } from '../base/clock.ts'
import type { KafkaErrorName } from '../protocol/error-codes.ts'

/** A way of assigning partitions that a member offers, with what it tells the others. */
export interface GroupProtocol {
  readonly name: string
  readonly metadata: Buffer
}

/** What a member says of itself when it joins. */
export interface MemberFacts {
  readonly clientId: string
  readonly clientHost: string
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  /** In the order of its preference. */
  readonly protocols: readonly GroupProtocol[]
}

/** A JoinGroup request. */
export interface JoinRequest extends MemberFacts {
  /** Empty: the member is new. */
  readonly memberId: string
  readonly instanceId: string | null
  readonly protocolType: string
  /** A new member must come back with the id that it is given (JoinGroup v4). */
  readonly requiresKnownId: boolean
  /** The leader can be told to keep the assignment (JoinGroup v9). */
  readonly supportsSkip: boolean
}

/** A SyncGroup request. */
export interface SyncRequest {
  readonly memberId: string
  readonly instanceId: string | null
  readonly generation: number
  /** Null: not told. */
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Buffer }[]
}

/** Answer to a member that joined, or the error. */
export interface JoinResult {
  readonly error: KafkaErrorName
  readonly memberId: string
  readonly generation: number
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly leader: string
  /** The leader must not compute an assignment: the present one holds (KIP-814). */
  readonly skipAssignment: boolean
  /** For the leader; empty for the others. */
  readonly members: readonly {
    readonly memberId: string
    readonly instanceId: string | null
    readonly metadata: Buffer
  }[]
}

/** Answer to a member that asked for its assignment, or the error. */
export interface SyncResult {
  readonly error: KafkaErrorName
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly assignment: Buffer
}

const noBytes = Buffer.alloc(0)

/** The answer to a join that fails. */
export function joinFailure(error: KafkaErrorName, memberId: string): JoinResult {
  return {
    error,
    memberId,
    generation: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    members: [],
  }
}

/** The answer to a sync that fails. */
export function syncFailure(error: KafkaErrorName): SyncResult {
  return { error, protocolType: null, protocolName: null, assignment: noBytes }
}

/** A member of a group, and what it waits for. */
export class GroupMember {
  id: string
  readonly instanceId: string | null
  facts: MemberFacts
  assignment: Buffer = noBytes
  /** True until it has been in a generation. */
  isNew = true
  /** Set while the answer to its JoinGroup is due. */
  #join: ((result: JoinResult) => void) | undefined
  /** Set while the answer to its SyncGroup is due. */
  #sync: ((result: SyncResult) => void) | undefined
  #sessionTimer: Timer | undefined

  constructor(id: string, instanceId: string | null, facts: MemberFacts) {
    this.id = id
    this.instanceId = instanceId
    this.facts = facts
  }

  get awaitsJoin(): boolean {
    return this.#join !== undefined
  }

  get awaitsSync(): boolean {
    return this.#sync !== undefined
  }

  /** A member that asks again gives up the answer to what it asked before. */
  awaitJoin(answer: (result: JoinResult) => void): void {
    this.answerJoin(joinFailure('REBALANCE_IN_PROGRESS', this.id))
    this.#join = answer
  }

  awaitSync(answer: (result: SyncResult) => void): void {
    this.answerSync(syncFailure('REBALANCE_IN_PROGRESS'))
    this.#sync = answer
  }

  /** Nothing happens when no answer is due. */
  answerJoin(result: JoinResult): void {
    const answer = this.#join
    this.#join = undefined
    answer?.(result)
  }

  /** Nothing happens when no answer is due. */
  answerSync(result: SyncResult): void {
    const answer = this.#sync
    this.#sync = undefined
    answer?.(result)
  }

  /** The timer that ends the member's session; the one before it is cancelled. */
  setSessionTimer(timer: Timer | undefined): void {
    this.#sessionTimer?.cancel()
    this.#sessionTimer = timer
  }

  supports(protocolName: string): boolean {
    return this.facts.protocols.some((protocol) => protocol.name === protocolName)
  }

  metadataOf(protocolName: string): Buffer {
    const found = this.facts.protocols.find((protocol) => protocol.name === protocolName)
    return found?.metadata ?? noBytes
  }

  /** Whether the member offers the same as before, so that the assignment still holds. */
  offersSame(protocols: readonly GroupProtocol[]): boolean {
    const own = this.facts.protocols
    return (
      own.length === protocols.length &&
      protocols.every(
        ({ name, metadata }, index) =>
          own[index]?.name === name && own[index].metadata.equals(metadata),
      )
    )
  }
}
