import { errorCode, type KafkaErrorName } from '../../src/protocol/error-codes.ts'
import { streamsGroupHeartbeat } from '../../src/protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf, ResponseInputOf } from '../../src/protocol/schema.ts'
import type { ScriptedAnswer } from './scripted-broker.ts'
import type { ScriptedCluster } from './scripted-cluster.ts'

export type Heartbeat = RequestOf<typeof streamsGroupHeartbeat>
type Answer = ResponseInputOf<typeof streamsGroupHeartbeat>
type Reply = ScriptedAnswer<Answer> | Promise<ScriptedAnswer<Answer>>

/** What a coordinator says, in short: tasks as ids, the rest as before. */
export interface Told {
  readonly epoch?: number
  readonly active?: readonly string[]
  readonly standby?: readonly string[]
  readonly warmup?: readonly string[]
  readonly status?: readonly (readonly [code: number, detail: string])[]
  readonly error?: KafkaErrorName
  readonly message?: string
  readonly rest?: Partial<Answer>
}

/**
 * The coordinator of a streams group that says what a test wants: each heartbeat takes the next of
 * what was queued, and when there is none, nothing has changed.
 */
export class ScriptedStreamsGroup {
  readonly #queue: (Told | ((request: Heartbeat) => Reply))[] = []
  readonly #cluster: ScriptedCluster
  #epoch = 1
  heartbeatIntervalMs = 1000

  constructor(cluster: ScriptedCluster) {
    this.#cluster = cluster
    for (const broker of cluster.brokers)
      broker.on(streamsGroupHeartbeat, ({ body }) => this.#answer(body))
  }

  /** What the next heartbeats are answered. */
  tell(...answers: readonly (Told | ((request: Heartbeat) => Reply))[]): void {
    this.#queue.push(...answers)
  }

  /** An answer as it goes over the wire. */
  answer(told: Told = {}): Answer {
    const { epoch, active, standby = [], warmup = [], status = [], error = 'NONE' } = told
    if (epoch !== undefined) this.#epoch = epoch
    return {
      errorCode: errorCode[error],
      errorMessage: told.message ?? null,
      memberId: 'm',
      memberEpoch: error === 'NONE' ? this.#epoch : 0,
      heartbeatIntervalMs: this.heartbeatIntervalMs,
      taskOffsetIntervalMs: 0,
      status: status.map(([statusCode, statusDetail]) => ({ statusCode, statusDetail })),
      ...(active !== undefined && {
        activeTasks: wire(active),
        standbyTasks: wire(standby),
        warmupTasks: wire(warmup),
      }),
      endpointInformationEpoch: 0,
      ...told.rest,
    }
  }

  /** All heartbeats so far, of all nodes. */
  get heard(): Heartbeat[] {
    return this.#cluster.brokers.flatMap((broker) => broker.received(streamsGroupHeartbeat))
  }

  #answer(request: Heartbeat): Reply {
    const next = this.#queue.shift()
    if (typeof next === 'function') return next(request)
    if (next !== undefined) return this.answer(next)
    // Whoever joins is told what it holds.
    return this.answer(request.memberEpoch === 0 ? { active: [] } : {})
  }
}

function wire(ids: readonly string[]): { subtopologyId: string; partitions: number[] }[] {
  const partitions = new Map<string, number[]>()
  for (const id of ids) {
    const [subtopology = '', partition] = id.split('_')
    partitions.set(subtopology, [...(partitions.get(subtopology) ?? []), Number(partition)])
  }
  return [...partitions].map(([subtopologyId, numbers]) => ({ subtopologyId, partitions: numbers }))
}
