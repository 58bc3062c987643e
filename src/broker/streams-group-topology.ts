import { isDeepStrictEqual } from 'node:util'
import { streamsStatus } from '../protocol/messages/88-streams-group-heartbeat.ts'
import {
  configureTopology,
  type ConfiguredTopology,
  type InternalTopic,
  type TopologyProblem,
  type WireSubtopology,
  type WireTopology,
} from './configured-topology.ts'
import { Refusal } from './refusal.ts'
import type { AssignableTask } from './streams-assignor.ts'
import { streamsTaskId, type RoleTasks } from './streams-tasks.ts'

export interface StreamsGroupTopologyOptions {
  readonly partitionCount: (topic: string) => number | undefined
  /** Makes those that are missing; why not, if it fails. */
  readonly createTopics: (topics: readonly InternalTopic[]) => string | undefined
}

/** The topology of a streams group: what its first member sent, and what the topics make of it. */
export class StreamsGroupTopology {
  readonly #options: StreamsGroupTopologyOptions
  #wire: WireTopology | undefined
  #configured: ConfiguredTopology | TopologyProblem | undefined
  /** The topics as they were last seen, as text. */
  #seen = ''

  constructor(options: StreamsGroupTopologyOptions) {
    this.#options = options
  }

  get wire(): WireTopology | undefined {
    return this.#wire
  }

  /** Undefined while the topics do not fit. */
  get configured(): ConfiguredTopology | undefined {
    const configured = this.#configured
    return configured !== undefined && 'subtopologies' in configured ? configured : undefined
  }

  /** Why the topics do not fit; undefined when they do. */
  get problem(): TopologyProblem | undefined {
    const configured = this.#configured
    return configured !== undefined && 'statusCode' in configured ? configured : undefined
  }

  /** Partitions of the topics that tasks read. */
  readonly partitionCount = (topic: string): number | undefined =>
    this.#options.partitionCount(topic)

  /** The one of the first member stays; null tells nothing. @throws Refusal for another one. */
  take(wire: WireTopology | null): void {
    if (wire === null) return
    if (this.#wire === undefined) this.#wire = wire
    else if (wire.epoch < this.#wire.epoch) return
    else if (!isDeepStrictEqual(wire, this.#wire))
      throw new Refusal('INVALID_REQUEST', 'Topology updates are not supported yet.')
  }

  /** Looks at the topics, and makes those that the group needs. True: tasks depend on what has changed. */
  configure(): boolean {
    if (this.#wire === undefined) return false
    this.#configured = this.#withInternalTopics(
      configureTopology(this.#wire, this.#options.partitionCount),
    )
    const counts = [...this.sourceTopics].map((topic) => [topic, this.partitionCount(topic)])
    const seen = JSON.stringify([counts, this.problem === undefined])
    const hasChanged = seen !== this.#seen
    this.#seen = seen
    return hasChanged
  }

  /** Topics that the tasks read. */
  get sourceTopics(): ReadonlySet<string> {
    return new Set(this.#subtopologies.flatMap((subtopology) => topicsReadBy(subtopology)))
  }

  /** The sub-topology whose tasks read a topic. */
  readerOf(topic: string): WireSubtopology | undefined {
    return this.#subtopologies.find((subtopology) => topicsReadBy(subtopology).includes(topic))
  }

  /** None while the topics do not fit. */
  tasks(): AssignableTask[] {
    return (this.configured?.subtopologies ?? []).flatMap(({ id, taskCount, isStateful }) =>
      Array.from({ length: taskCount }, (_, partition) => ({
        id: streamsTaskId(id, partition),
        isStateful,
      })),
    )
  }

  /** @throws Refusal */
  assertHas({ active, standby }: RoleTasks): void {
    if (this.configured === undefined) return
    const ids = new Set(this.tasks().map(({ id }) => id))
    for (const id of [...active, ...standby]) {
      if (!ids.has(id)) throw new Refusal('INVALID_REQUEST', `There is no task ${id}.`)
    }
  }

  get #subtopologies(): readonly WireSubtopology[] {
    return this.#wire?.subtopologies ?? []
  }

  #withInternalTopics(
    configured: ConfiguredTopology | TopologyProblem,
  ): ConfiguredTopology | TopologyProblem {
    if ('statusCode' in configured) return configured
    const topics = [...configured.internalTopics.values()]
    const missing = topics.filter(({ name }) => this.partitionCount(name) === undefined)
    const problem = missing.length === 0 ? undefined : this.#options.createTopics(missing)
    if (problem === undefined) return configured
    const names = missing.map(({ name }) => name).join(', ')
    return {
      statusCode: streamsStatus.missingInternalTopics,
      statusDetail: `Internal topics are missing: ${names}; Creation failed: ${problem}.`,
    }
  }
}

function topicsReadBy({ sourceTopics, repartitionSourceTopics }: WireSubtopology): string[] {
  return [...sourceTopics, ...repartitionSourceTopics.map(({ name }) => name)]
}
