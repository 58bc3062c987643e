import { GroupCoordinator, type JoinGroupResult } from '../client/group-coordinator.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass } from '../client/kafka-failure.ts'
import { StreamsError } from '../errors.ts'
import type { OfferedProtocol } from './classic-protocols.ts'
import type { GroupIdentity } from './membership.ts'

/** `consumer`, so that Kafka's own tools can show the group. */
const protocolType = 'consumer'

/**
 * A request that was not granted, and what follows: `again` (the group is in between), `later` (the
 * cluster has a problem that can pass), `lost` (this generation is no longer ours).
 */
export interface Refusal {
  readonly refused: 'again' | 'later' | 'lost'
  readonly error: StreamsError
}

/** What a {@link ClassicSession} is made of. */
export interface ClassicSessionOptions {
  readonly client: KafkaClient
  readonly groupId: string
  readonly instanceId: string | undefined
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
}

/**
 * What the coordinator knows of one member: its id and generation, and the four requests that change
 * them. Errors of the group come back as a {@link Refusal}; what ends the membership is thrown.
 */
export class ClassicSession {
  readonly #options: ClassicSessionOptions
  readonly #coordinator: GroupCoordinator
  #memberId = ''
  #generation = -1
  /** On which the group has agreed. */
  #protocolName = ''

  constructor(options: ClassicSessionOptions) {
    this.#options = options
    this.#coordinator = new GroupCoordinator(options.client, options.groupId)
  }

  /** Undefined before the first join, and after {@link forget}. */
  get identity(): GroupIdentity | undefined {
    if (this.#generation < 0) return undefined
    const { groupId, instanceId = null } = this.#options
    return { groupId, instanceId, memberId: this.#memberId, generation: this.#generation }
  }

  /** The last agreed generation; -1 for none. */
  get generation(): number {
    return this.#generation
  }

  /** The name of the protocol on which the group has agreed; empty before the first join. */
  get protocolName(): string {
    return this.#protocolName
  }

  /** The generation was lost: the next join is that of a newcomer. */
  forget(): void {
    this.#generation = -1
  }

  async join(
    protocols: readonly OfferedProtocol[],
    options: { reason: string; signal: AbortSignal },
  ): Promise<JoinGroupResult | Refusal> {
    const { instanceId = null, sessionTimeoutMs, rebalanceTimeoutMs } = this.#options
    const { reason, signal } = options
    const result = await this.#request(() =>
      this.#coordinator.joinGroup(
        {
          memberId: this.#memberId,
          instanceId,
          sessionTimeoutMs,
          rebalanceTimeoutMs,
          protocolType,
          protocols,
          reason,
        },
        { signal },
      ),
    )
    if ('refused' in result) return result
    if (result.error === 'MEMBER_ID_REQUIRED') {
      this.#memberId = result.memberId
      return { refused: 'again', error: this.#kafkaError('JoinGroup', result.error) }
    }
    if (result.error !== 'NONE') return this.#refusal('JoinGroup', result.error)
    this.#memberId = result.memberId
    this.#generation = result.generation
    this.#protocolName = result.protocolName ?? ''
    return result
  }

  /** The member's assignment, in the leader's bytes; empty when the leader left it out. */
  async sync(
    assignments: ReadonlyMap<string, Uint8Array>,
    signal: AbortSignal,
  ): Promise<Buffer | Refusal> {
    const { instanceId = null } = this.#options
    const result = await this.#request(() =>
      this.#coordinator.syncGroup(
        {
          memberId: this.#memberId,
          instanceId,
          generation: this.#generation,
          protocolType,
          protocolName: this.#protocolName,
          assignments: [...assignments].map(([memberId, assignment]) => ({ memberId, assignment })),
        },
        { signal },
      ),
    )
    if ('refused' in result) return result
    return result.error === 'NONE' ? result.assignment : this.#refusal('SyncGroup', result.error)
  }

  /** Undefined: all is well. */
  async heartbeat(signal: AbortSignal): Promise<Refusal | undefined> {
    const { identity } = this
    if (identity === undefined) return undefined
    const timeoutMs = this.#options.sessionTimeoutMs
    const error = await this.#request(() =>
      this.#coordinator.heartbeat(identity, { signal, timeoutMs }),
    )
    if (typeof error !== 'string') return error
    const { memberId, generation } = identity
    const isStale = memberId !== this.#memberId || generation !== this.#generation
    return error === 'NONE' || isStale ? undefined : this.#refusal('Heartbeat', error)
  }

  /** Tells the group that this member is gone, unless it never was there. */
  async leave(): Promise<Refusal | undefined> {
    if (this.#memberId === '') return undefined
    const { client, groupId, instanceId = null } = this.#options
    const reason = 'the instance closes'
    const memberId = this.#memberId
    // On the connection of a request that was cut short the broker would answer that one first.
    await using coordinator = new GroupCoordinator(client, groupId)
    const error = await this.#request(() =>
      coordinator.leaveGroup({ memberId, instanceId, reason }),
    )
    if (typeof error !== 'string') return error
    return error === 'NONE' ? undefined : this.#refusal('LeaveGroup', error)
  }

  close(): Promise<void> {
    return this.#coordinator.close()
  }

  async #request<T>(request: () => Promise<T>): Promise<T | Refusal> {
    try {
      return await request()
    } catch (error) {
      if (error instanceof StreamsError && canPass(error)) return { refused: 'later', error }
      throw error
    }
  }

  #refusal(api: string, name: string): Refusal {
    const error = this.#kafkaError(api, name)
    switch (name) {
      case 'REBALANCE_IN_PROGRESS':
        return { refused: 'again', error }
      case 'UNKNOWN_MEMBER_ID':
        this.#memberId = ''
        return { refused: 'lost', error }
      case 'ILLEGAL_GENERATION':
        return { refused: 'lost', error }
      case 'FENCED_INSTANCE_ID': {
        const { groupId, instanceId } = this.#options
        // Leaving under this instance id would throw out the one that has it now.
        this.#memberId = ''
        this.#generation = -1
        throw new StreamsError('GROUP_INSTANCE_FENCED', { groupId, instanceId }, { cause: error })
      }
      case 'UNKNOWN_SERVER_ERROR':
      case 'REQUEST_TIMED_OUT':
      case 'COORDINATOR_LOAD_IN_PROGRESS':
      case 'COORDINATOR_NOT_AVAILABLE':
      case 'NOT_COORDINATOR':
        return { refused: 'later', error }
      default:
        throw error
    }
  }

  #kafkaError(api: string, error: string): StreamsError {
    return new StreamsError('KAFKA_ERROR', {
      api,
      subject: `the group ${this.#options.groupId}`,
      error,
      ...(error === 'INCONSISTENT_GROUP_PROTOCOL' && {
        detail:
          'the group has members that are not Millpond, or that have another groupProtocol; each application needs an applicationId of its own, and all its instances the same protocol',
      }),
    })
  }
}
