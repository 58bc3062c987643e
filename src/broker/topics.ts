/**
 * The topics of the broker. Names, ids, partition counts and settings are in one file that is
 * replaced as a whole, `topics.json`; the records are in `topics/<name>-<partition>/`. The file
 * decides: what it does not name is the rest of a deletion, or of a creation that was never
 * acknowledged.
 */
import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { StreamsError, messageOf } from '../errors.ts'
import { PartitionLog } from './partition-log.ts'
import { Refusal, refusalOf } from './refusal.ts'
import {
  configProblem,
  topicSettings,
  type ConfigValues,
  type TopicSettings,
} from './topic-configs.ts'

const partitionsPerTopicMax = 10_000
const topicsMax = 10_000
const nameLengthMax = 249

export interface Topic {
  readonly name: string
  /** Kafka's text form of a uuid: 22 characters of base64url. */
  readonly id: string
  readonly partitions: readonly PartitionLog[]
  /** What was set for this topic. */
  readonly configs: ConfigValues
  /** What the topic obeys, the broker's defaults included. */
  readonly settings: TopicSettings
}

/** A topic that is to be created. */
export interface TopicSpecification {
  readonly name: string
  readonly partitionCount: number
  readonly configs: ReadonlyMap<string, string | null>
}

export interface TopicsOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly dataDir: string
  /** Of the broker, for settings that a topic does not have. */
  readonly defaults: ConfigValues
  readonly leaderEpoch: number
}

interface StoredTopic {
  readonly name: string
  readonly id: string
  readonly partitions: number
  readonly configs: Readonly<Record<string, string>>
}

class LiveTopic implements Topic {
  readonly name: string
  readonly id: string
  readonly partitions: PartitionLog[] = []
  configs: ConfigValues
  settings: TopicSettings

  constructor(
    identity: { name: string; id: string },
    configs: ConfigValues,
    defaults: ConfigValues,
  ) {
    this.name = identity.name
    this.id = identity.id
    this.configs = configs
    this.settings = topicSettings(configs, defaults)
  }
}

/** All topics; changes are on the medium when a method returns. */
export class Topics {
  readonly #options: TopicsOptions
  readonly #file: string
  readonly #directory: string
  readonly #byName = new Map<string, LiveTopic>()
  readonly #byId = new Map<string, LiveTopic>()

  /** Opens the logs of all topics, which reads them from start to end. */
  constructor(options: TopicsOptions) {
    this.#options = options
    this.#file = `${options.dataDir}/topics.json`
    this.#directory = `${options.dataDir}/topics`
    const stored = this.#load()
    this.#removeStrangers(stored)
    for (const { name, id, partitions, configs } of stored) {
      const topic = new LiveTopic({ name, id }, new Map(Object.entries(configs)), options.defaults)
      this.#open(topic, partitions)
      this.#add(topic)
    }
    if (stored.length === 0) this.#store()
  }

  get(name: string): Topic | undefined {
    return this.#byName.get(name)
  }

  getById(id: string): Topic | undefined {
    return this.#byId.get(id)
  }

  /** In the order in which they were created. */
  all(): Topic[] {
    return [...this.#byName.values()]
  }

  /** The log of a partition. */
  partition(name: string, partition: number): PartitionLog | undefined {
    return this.#byName.get(name)?.partitions[partition]
  }

  /** Why a topic cannot be created; undefined when it can. */
  problem(specification: TopicSpecification): Refusal | undefined {
    const { name, partitionCount, configs } = specification
    const nameProblem = topicNameProblem(name)
    if (nameProblem !== undefined) return new Refusal('INVALID_TOPIC_EXCEPTION', nameProblem)
    if (this.#byName.has(name))
      return new Refusal('TOPIC_ALREADY_EXISTS', `Topic '${name}' already exists.`)
    const twin = this.all().find((topic) => metricName(topic.name) === metricName(name))
    if (twin !== undefined)
      return new Refusal(
        'INVALID_TOPIC_EXCEPTION',
        `Topic '${name}' collides with existing topic: ${twin.name}`,
      )
    if (this.#byName.size >= topicsMax)
      return new Refusal('POLICY_VIOLATION', `The broker has ${topicsMax} topics, its limit.`)
    return partitionCountProblem(partitionCount) ?? configsProblem(configs)
  }

  /** Creates topics together: one that is refused does not keep the others from being created. */
  create(specifications: readonly TopicSpecification[]): (Topic | Refusal)[] {
    const results = specifications.map((specification) => this.#make(specification))
    const made = results.filter((result): result is LiveTopic => result instanceof LiveTopic)
    if (made.length === 0) return results
    try {
      this.#store()
      return results
    } catch (error) {
      const refusal = refusalOf(error)
      for (const topic of made) this.#discard(topic)
      return results.map((result) => (result instanceof LiveTopic ? refusal : result))
    }
  }

  /** Deletes a topic with its records. @throws StreamsError `DISK_FAILED` */
  delete(topic: Topic): void {
    const live = this.#live(topic)
    this.#remove(live)
    try {
      this.#store()
    } catch (error) {
      this.#add(live)
      throw error
    }
    for (const log of live.partitions) log.remove()
  }

  /** Why the topic cannot have this many partitions; undefined when it can. */
  partitionsProblem(topic: Topic, count: number): Refusal | undefined {
    const present = topic.partitions.length
    if (count <= present)
      return new Refusal(
        'INVALID_PARTITIONS',
        `The topic ${topic.name} currently has ${present} partition(s); ${count} would not be an increase.`,
      )
    return partitionCountProblem(count)
  }

  /** Raises the number of partitions. @throws Refusal, StreamsError `DISK_FAILED` */
  addPartitions(topic: Topic, count: number): void {
    const problem = this.partitionsProblem(topic, count)
    if (problem !== undefined) throw problem
    const live = this.#live(topic)
    const before = live.partitions.length
    try {
      this.#open(live, count)
      this.#store()
    } catch (error) {
      for (const log of live.partitions.splice(before)) log.remove()
      throw error
    }
  }

  /**
   * Replaces what was set for a topic; the values have been checked. @throws StreamsError
   * `DISK_FAILED`
   */
  setConfigs(topic: Topic, configs: ConfigValues): void {
    const live = this.#live(topic)
    const before = live.configs
    try {
      live.configs = configs
      this.#store()
    } catch (error) {
      live.configs = before
      throw error
    }
    live.settings = topicSettings(configs, this.#options.defaults)
  }

  /** Syncs and closes all logs. A disk that fails does not keep the others from being closed. */
  close(): void {
    let failure: unknown
    for (const { partitions } of this.#byName.values()) {
      for (const log of partitions) {
        try {
          log.close()
        } catch (error) {
          failure ??= error
        }
      }
    }
    if (failure !== undefined) throw failure
  }

  #make(specification: TopicSpecification): LiveTopic | Refusal {
    const problem = this.problem(specification)
    if (problem !== undefined) return problem
    const configs = new Map<string, string>()
    for (const [name, value] of specification.configs) if (value !== null) configs.set(name, value)
    const id = this.#options.random.bytes(16).toString('base64url')
    const topic = new LiveTopic({ name: specification.name, id }, configs, this.#options.defaults)
    try {
      this.#open(topic, specification.partitionCount)
    } catch (error) {
      this.#discard(topic)
      return refusalOf(error)
    }
    this.#add(topic)
    return topic
  }

  #open(topic: LiveTopic, count: number): void {
    const { disk, clock, log, leaderEpoch } = this.#options
    for (let partition = topic.partitions.length; partition < count; partition += 1) {
      const directory = `${this.#directory}/${topic.name}-${partition}`
      const settings = (): TopicSettings => topic.settings
      topic.partitions.push(
        new PartitionLog({ disk, clock, log, directory, settings, leaderEpoch }),
      )
    }
  }

  #discard(topic: LiveTopic): void {
    this.#remove(topic)
    for (const log of topic.partitions) log.remove()
  }

  #add(topic: LiveTopic): void {
    this.#byName.set(topic.name, topic)
    this.#byId.set(topic.id, topic)
  }

  #remove(topic: LiveTopic): void {
    if (this.#byName.get(topic.name) === topic) this.#byName.delete(topic.name)
    this.#byId.delete(topic.id)
  }

  #live(topic: Topic): LiveTopic {
    const live = this.#byId.get(topic.id)
    if (live === undefined)
      throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no topic ${topic.name}.`)
    return live
  }

  #store(): void {
    const topics = this.all().map(({ name, id, partitions, configs }): StoredTopic => ({
      name,
      id,
      partitions: partitions.length,
      configs: Object.fromEntries(configs),
    }))
    const text = JSON.stringify({ version: 1, topics }, null, 2)
    this.#options.disk.writeFileAtomic(this.#file, Buffer.from(text))
  }

  #load(): StoredTopic[] {
    const { disk, dataDir } = this.#options
    const bytes = disk.readFile(this.#file)
    if (bytes === undefined) {
      if (disk.list(this.#directory).length === 0) return []
      const detail = 'topics.json is missing, but there are logs of topics'
      throw new StreamsError('STATE_DIRECTORY_FAILED', { directory: dataDir, detail })
    }
    try {
      return (JSON.parse(bytes.toString('utf8')) as { topics: StoredTopic[] }).topics
    } catch (error) {
      const detail = `topics.json is damaged: ${messageOf(error)}`
      throw new StreamsError(
        'STATE_DIRECTORY_FAILED',
        { directory: dataDir, detail },
        { cause: error },
      )
    }
  }

  #removeStrangers(stored: readonly StoredTopic[]): void {
    const { disk } = this.#options
    const partitions = new Map(stored.map((topic) => [topic.name, topic.partitions]))
    for (const entry of disk.list(this.#directory)) {
      const match = /^(.+)-(\d+)$/.exec(entry)
      if (match === null) continue
      const [, name = '', partition] = match
      if (Number(partition) >= (partitions.get(name) ?? 0))
        disk.remove(`${this.#directory}/${entry}`)
    }
  }
}

/** Kafka keeps these for itself; here their records are in logs that are no topics. */
const internalTopics: readonly string[] = ['__consumer_offsets', '__transaction_state']

/** Kafka's rule for names; undefined when the name is good. */
export function topicNameProblem(name: string): string | undefined {
  if (internalTopics.includes(name)) return `The topic name "${name}" is the broker's own.`
  if (name === '') return 'The topic name is empty.'
  if (name === '.' || name === '..') return `The topic name cannot be "${name}".`
  if (name.length > nameLengthMax)
    return `The topic name has ${name.length} characters, at most ${nameLengthMax} are allowed.`
  if (!/^[a-zA-Z0-9._-]+$/.test(name))
    return `The topic name "${name}" has a character other than ASCII letters, digits, '.', '_' and '-'.`
  return undefined
}

/**
 * Kafka writes both characters as '_' in the names of metrics, and keeps topics apart there too.
 */
function metricName(name: string): string {
  return name.replaceAll('.', '_')
}

function partitionCountProblem(count: number): Refusal | undefined {
  if (count >= 1 && count <= partitionsPerTopicMax) return undefined
  return new Refusal(
    'INVALID_PARTITIONS',
    `The number of partitions must be from 1 to ${partitionsPerTopicMax}, not ${count}.`,
  )
}

function configsProblem(configs: ReadonlyMap<string, string | null>): Refusal | undefined {
  for (const [name, value] of configs) {
    const problem = configProblem(name, value)
    if (problem !== undefined) return new Refusal('INVALID_CONFIG', problem)
  }
  return undefined
}
