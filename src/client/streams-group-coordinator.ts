import { StreamsError, isStreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import { streamsGroupDescribe } from '../protocol/messages/89-streams-group-describe.ts'
import type { Api, RequestInputOf, ResponseOf } from '../protocol/schema.ts'
import type { RequestBody } from './broker-connection.ts'
import { eitherSignal, lifeController } from './deadline.ts'
import type { ConnectionPurpose, KafkaClient } from './kafka-client.ts'
import { kafkaFailure } from './kafka-failure.ts'

/** What a member sends, but for the group. The version decides what it may say. */
export type StreamsHeartbeatRequest = Omit<RequestInputOf<typeof streamsGroupHeartbeat>, 'groupId'>

/** The answer, with Kafka's name of its error, `NONE` when there is none. */
export interface StreamsHeartbeatResponse extends ResponseOf<typeof streamsGroupHeartbeat> {
  readonly error: string
}

/** A streams group in detail. */
export type StreamsGroupDescription = ResponseOf<typeof streamsGroupDescribe>['groups'][number]

/** Options of one call; the signal ends the wait, not what the broker does. */
export interface StreamsRequestOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/**
 * The calls of KIP-1071, to whichever broker is the coordinator. Each is one try, because the next one
 * says other things: whoever calls tries again, and finds the coordinator where it is by then.
 *
 * Each instance has a connection of its own, so that nothing else holds a heartbeat up.
 */
export class StreamsGroupCoordinator implements AsyncDisposable {
  readonly groupId: string
  readonly #client: KafkaClient
  readonly #purpose: ConnectionPurpose
  readonly #life = lifeController()

  constructor(client: KafkaClient, groupId: string) {
    this.#client = client
    this.groupId = groupId
    this.#purpose = client.uniquePurpose('group')
  }

  /** Rejects with what `KafkaClient.request` rejects with; errors of the group are in the answer. */
  async heartbeat(
    request: (version: number) => StreamsHeartbeatRequest,
    options: StreamsRequestOptions,
  ): Promise<StreamsHeartbeatResponse> {
    const { groupId } = this
    const response = await this.#request(
      streamsGroupHeartbeat,
      (version) => ({ groupId, ...request(version) }),
      options,
    )
    return { ...response, error: kafkaError(response.errorCode).name }
  }

  /** Rejects with `KAFKA_ERROR` when there is no such group. */
  async describe(options: StreamsRequestOptions): Promise<StreamsGroupDescription> {
    const { groupId } = this
    const response = await this.#request(
      streamsGroupDescribe,
      { groupIds: [groupId], includeAuthorizedOperations: false },
      options,
    )
    const [group] = response.groups
    if (group !== undefined && group.errorCode === errorCode.NONE) return group
    throw kafkaFailure(
      streamsGroupDescribe.name,
      group?.errorCode ?? errorCode.GROUP_ID_NOT_FOUND,
      {
        subject: `group ${groupId}`,
        detail: group?.errorMessage,
      },
    )
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
    { timeoutMs, signal }: StreamsRequestOptions,
  ): Promise<Response> {
    using either = eitherSignal(this.#life.signal, signal)
    try {
      return await this.#client.request(
        api,
        body,
        { coordinatorOf: this.groupId },
        { purpose: this.#purpose, retry: 'none', timeoutMs, signal: either.signal },
      )
    } catch (error) {
      // A connection on which nothing comes would hold up the next heartbeat as well.
      if (isStreamsError(error, 'REQUEST_TIMEOUT')) await this.#client.release(this.#purpose)
      if (!this.#life.signal.aborted) throw error
      throw new StreamsError('CLIENT_CLOSED', { what: 'group member' }, { cause: error })
    }
  }
}
