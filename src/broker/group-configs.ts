/**
 * The settings that groups can have (org.apache.kafka.coordinator.group.GroupConfig): those of streams
 * groups, whose members leave them to the brokers. They outlive the groups, in one file that is
 * replaced as a whole.
 */
import type { Disk } from '../base/disk.ts'
import { StreamsError, messageOf } from '../errors.ts'
import { Refusal } from './refusal.ts'
import type { StreamsGroupSettings } from './streams-group.ts'
import { definitionProblem, type ConfigDefinition, type ConfigValues } from './topic-configs.ts'

const definitions = {
  'streams.acceptable.recovery.lag': {
    kind: 'long',
    default: '10000',
    min: 0,
    documentation: 'Told to members. Has no effect on who gets which task.',
  },
  'streams.heartbeat.interval.ms': {
    kind: 'int',
    default: '5000',
    min: 1,
    documentation: 'How often members are to say that they are alive.',
  },
  'streams.initial.rebalance.delay.ms': {
    kind: 'int',
    default: '3000',
    min: 0,
    documentation: 'How long the first members of an empty group wait for more.',
  },
  'streams.num.standby.replicas': {
    kind: 'int',
    default: '0',
    min: 0,
    max: 2,
    documentation: 'Copies of each task with state, on other processes.',
  },
  'streams.session.timeout.ms': {
    kind: 'int',
    default: '45000',
    min: 1,
    documentation: 'The silence after which a member is taken out of the group.',
  },
  'streams.task.offset.interval.ms': {
    kind: 'int',
    default: '60000',
    min: 1,
    documentation: 'How often members are to tell how far their state is.',
  },
} as const satisfies Record<string, ConfigDefinition>

type GroupConfigName = keyof typeof definitions

/** All settings of a group, by name, sorted. */
export const groupConfigs: ReadonlyMap<string, ConfigDefinition> = new Map(
  Object.entries(definitions),
)

export interface GroupConfigsOptions {
  readonly disk: Disk
  readonly dataDir: string
  /** Of the broker, for settings that a group does not have. */
  readonly defaults: ConfigValues
}

/** What was set for which group; changes are on the medium when a method returns. */
export class GroupConfigs {
  readonly #disk: Disk
  readonly #file: string
  readonly #directory: string
  readonly #defaults: ConfigValues
  #byGroup = new Map<string, ConfigValues>()

  /** @throws StreamsError `STATE_DIRECTORY_FAILED` */
  constructor({ disk, dataDir, defaults }: GroupConfigsOptions) {
    this.#disk = disk
    this.#directory = dataDir
    this.#file = `${dataDir}/group-configs.json`
    this.#defaults = defaults
    this.#load()
  }

  /** Of the broker. */
  get defaults(): ConfigValues {
    return this.#defaults
  }

  get(groupId: string): ConfigValues {
    return this.#byGroup.get(groupId) ?? new Map()
  }

  /**
   * Replaces what was set for a group, or (`validateOnly`) only looks whether it could be. @throws
   * Refusal, StreamsError `DISK_FAILED`
   */
  set(groupId: string, values: ConfigValues, { validateOnly = false } = {}): void {
    for (const [name, value] of values) {
      const definition = groupConfigs.get(name)
      if (definition === undefined)
        throw new Refusal('INVALID_CONFIG', `Unknown group config name: ${name}`)
      const problem = definitionProblem(definition, name, value)
      if (problem !== undefined) throw new Refusal('INVALID_CONFIG', problem)
    }
    const number = (name: GroupConfigName): number => this.#number(name, values)
    if (number('streams.heartbeat.interval.ms') >= number('streams.session.timeout.ms')) {
      throw new Refusal(
        'INVALID_CONFIG',
        'streams.session.timeout.ms must be greater than streams.heartbeat.interval.ms',
      )
    }
    if (validateOnly) return
    const before = this.#byGroup
    this.#byGroup = new Map([...before, [groupId, values]])
    if (values.size === 0) this.#byGroup.delete(groupId)
    try {
      this.#store()
    } catch (error) {
      this.#byGroup = before
      throw error
    }
  }

  /** What a streams group obeys. */
  streams(groupId: string): StreamsGroupSettings {
    const values = this.get(groupId)
    const number = (name: GroupConfigName): number => this.#number(name, values)
    return {
      sessionTimeoutMs: number('streams.session.timeout.ms'),
      heartbeatIntervalMs: number('streams.heartbeat.interval.ms'),
      standbyReplicas: number('streams.num.standby.replicas'),
      initialRebalanceDelayMs: number('streams.initial.rebalance.delay.ms'),
      taskOffsetIntervalMs: number('streams.task.offset.interval.ms'),
      acceptableRecoveryLag: number('streams.acceptable.recovery.lag'),
    }
  }

  #number(name: GroupConfigName, values: ConfigValues): number {
    return Number(values.get(name) ?? this.#defaults.get(name) ?? definitions[name].default)
  }

  #store(): void {
    const groups = [...this.#byGroup].map(([id, values]) => [id, Object.fromEntries(values)])
    const text = JSON.stringify({ version: 1, groups: Object.fromEntries(groups) }, null, 2)
    this.#disk.writeFileAtomic(this.#file, Buffer.from(text))
  }

  #load(): void {
    const bytes = this.#disk.readFile(this.#file)
    if (bytes === undefined) return
    try {
      const { groups } = JSON.parse(bytes.toString('utf8')) as {
        groups: Record<string, Record<string, string>>
      }
      for (const [id, values] of Object.entries(groups))
        this.#byGroup.set(id, new Map(Object.entries(values)))
    } catch (error) {
      const detail = `group-configs.json is damaged: ${messageOf(error)}`
      const context = { directory: this.#directory, detail }
      throw new StreamsError('STATE_DIRECTORY_FAILED', context, { cause: error })
    }
  }
}
