import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { StreamsError } from '../errors.ts'
import { streamsStatus } from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { StreamsStatus } from './streams-session.ts'
import type { WireTopology } from './streams-topology.ts'

/** A coordinator may hear later of topics and rights than who made them. Counted in heartbeats. */
const patienceBeats = 2

/** So long internal topics may take to be made, when nothing keeps the coordinator from it. */
const internalTopicsPatienceMs = 60_000

/** Word of a coordinator that must not make the internal topics. */
const notAllowed = 'Unauthorized'

/** While one of these is told, the group gives out nothing, or not yet what it will. */
const notReady: ReadonlySet<number> = new Set([
  streamsStatus.missingSourceTopics,
  streamsStatus.incorrectlyPartitionedTopics,
  streamsStatus.missingInternalTopics,
  streamsStatus.assignmentDelayed,
])

/** What every group goes through. */
const passing: ReadonlySet<number> = new Set([
  streamsStatus.missingInternalTopics,
  streamsStatus.assignmentDelayed,
])

/**
 * What the coordinator says about the group in each answer: whether it is ready to work, and what it
 * cannot work with. Codes that are not known here are for information only.
 */
export class GroupReadiness {
  readonly #wireTopology: WireTopology
  readonly #clock: Clock
  readonly #log: Log
  #isReady = false
  #logged = ''
  #sourcesMissingSince: number | undefined
  #internalsMissingSince: number | undefined

  constructor(options: { wireTopology: WireTopology; clock: Clock; log: Log }) {
    this.#wireTopology = options.wireTopology
    this.#clock = options.clock
    this.#log = options.log
  }

  /** True: what the members hold now is what the group wants. */
  get isReady(): boolean {
    return this.#isReady
  }

  /**
   * Takes the statuses of an answer, all of them. Returns what the membership must end with, if
   * anything: `APPLICATION_STOPPED`, `SOURCE_TOPIC_MISSING`, `INTERNAL_TOPIC_INVALID`,
   * `TOPOLOGY_INVALID`, `ASSIGNMENT_FAILED`.
   */
  note(statuses: readonly StreamsStatus[], heartbeatIntervalMs: number): StreamsError | undefined {
    this.#isReady = !statuses.some(({ statusCode }) => notReady.has(statusCode))
    this.#tell(statuses)
    const find = (code: number): StreamsStatus | undefined =>
      statuses.find(({ statusCode }) => statusCode === code)
    const stop = find(streamsStatus.shutdownApplication)
    if (stop !== undefined) return stopped(stop.statusDetail)
    const uneven = find(streamsStatus.incorrectlyPartitionedTopics)
    if (uneven !== undefined) return unevenTopics(uneven.statusDetail)
    return (
      this.#missingSources(find(streamsStatus.missingSourceTopics), heartbeatIntervalMs) ??
      this.#missingInternals(find(streamsStatus.missingInternalTopics), heartbeatIntervalMs)
    )
  }

  #missingSources(
    status: StreamsStatus | undefined,
    heartbeatIntervalMs: number,
  ): StreamsError | undefined {
    if (status === undefined) {
      this.#sourcesMissingSince = undefined
      return undefined
    }
    const now = this.#clock.monotonic()
    this.#sourcesMissingSince ??= now
    if (now - this.#sourcesMissingSince < heartbeatIntervalMs * patienceBeats) return undefined
    return new StreamsError('SOURCE_TOPIC_MISSING', { topic: this.#named(status.statusDetail) })
  }

  #missingInternals(
    status: StreamsStatus | undefined,
    heartbeatIntervalMs: number,
  ): StreamsError | undefined {
    if (status === undefined) {
      this.#internalsMissingSince = undefined
      return undefined
    }
    const now = this.#clock.monotonic()
    this.#internalsMissingSince ??= now
    const { statusDetail: detail } = status
    const isRefused = detail.includes(notAllowed)
    const patienceMs = isRefused ? heartbeatIntervalMs * patienceBeats : internalTopicsPatienceMs
    if (now - this.#internalsMissingSince < patienceMs) return undefined
    return new StreamsError('ASSIGNMENT_FAILED', { detail })
  }

  /** Source topics that a text names. The text is for people: without a name in it, all of it. */
  #named(text: string): string {
    const words = new Set(text.split(/[^a-zA-Z0-9._-]+/).map((word) => word.replace(/\.$/, '')))
    const topics = this.#wireTopology.subtopologies.flatMap(({ sourceTopics }) => sourceTopics)
    const named = [...new Set(topics)].filter((topic) => words.has(topic))
    return named.length === 0 ? text : named.join(', ')
  }

  /** Each time that something else is told. */
  #tell(statuses: readonly StreamsStatus[]): void {
    const text = statuses.map((one) => `${one.statusDetail} (${one.statusCode})`).join(', ')
    if (text === this.#logged) return
    this.#logged = text
    if (text === '') return
    const isUsual = statuses.every(({ statusCode }) => passing.has(statusCode))
    if (isUsual) this.#log.info('the group is not ready yet', { status: text })
    else this.#log.warn('the group has a problem', { status: text })
  }
}

/** The coordinator names the member that asked for it; ours begin with the id of their process. */
function stopped(detail: string): StreamsError {
  const member = /member ([^\s_]+)/.exec(detail)?.[1]
  return new StreamsError('APPLICATION_STOPPED', {
    processId: member ?? 'of another instance',
    detail: 'it has met an error that its program answers so',
  })
}

/** One kind of them has an error of its own, if it is told in the words of Kafka. */
function unevenTopics(detail: string): StreamsError {
  const words = /Existing topic (\S+) has .*: expected (\d+), found (\d+)/.exec(detail)
  if (words === null) return new StreamsError('TOPOLOGY_INVALID', { detail })
  const [, topic, expected, actual] = words
  const counts = { expected: Number(expected), actual: Number(actual) }
  return new StreamsError('INTERNAL_TOPIC_INVALID', { topic, ...counts })
}
