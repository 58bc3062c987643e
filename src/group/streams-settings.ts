import type { Log } from '../base/log.ts'
import { alterConfigs, describeConfigs, type ConfigEntry } from '../client/config-admin.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { messageOf } from '../errors.ts'

/** A setting that brokers keep for a streams group, and the option of this program that it is. */
export interface StreamsSetting {
  /** Kafka's name of it. */
  readonly name: string
  readonly option: string
  readonly value: string
  /** True: the program states the option. False: it has a default that others may change. */
  readonly isStated: boolean
}

const sessionTimeoutName = 'streams.session.timeout.ms'

/** What a {@link prepareStreamsGroup} needs. */
export interface StreamsSettingsOptions {
  readonly client: KafkaClient
  readonly groupId: string
  readonly settings: readonly StreamsSetting[]
  readonly log: Log
}

/**
 * Has the brokers keep for the group what in this protocol is theirs to decide. What the program states
 * is set, what it does not state only where nobody has set anything. Never rejects: a program that must
 * not change settings of groups runs with those that are there. Java ignores these options instead.
 *
 * Returns the session timeout that holds then, in milliseconds; undefined: it may not be seen.
 */
export async function prepareStreamsGroup(
  options: StreamsSettingsOptions,
  signal: AbortSignal,
): Promise<number | undefined> {
  const present = await presentSettings(options, signal)
  const accepted = await setMissing(options, present, signal)
  const timeout = accepted.get(sessionTimeoutName) ?? present?.get(sessionTimeoutName)?.value
  return timeout === undefined || timeout === null ? undefined : Number(timeout)
}

/** What the brokers have taken, by name. */
async function setMissing(
  options: StreamsSettingsOptions,
  present: ReadonlyMap<string, ConfigEntry> | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const { settings, log } = options
  const accepted = new Map<string, string>()
  const wanted = settings.filter(({ name, value, isStated }) => {
    const found = present?.get(name)
    if (found?.value === value) return false
    return isStated || (found !== undefined && !found.isOwn)
  })
  if (wanted.length === 0) return accepted
  // Together, because some of them bound each other; one by one, when the brokers do not like all.
  const refusal = await set(options, wanted, signal)
  for (const setting of wanted) {
    if (signal.aborted) break
    const isTriedAlone = refusal !== undefined && wanted.length > 1
    const error = isTriedAlone ? await set(options, [setting], signal) : refusal
    if (error === undefined) {
      accepted.set(setting.name, setting.value)
      continue
    }
    const facts = { option: setting.option, value: setting.value, error: messageOf(error) }
    if (setting.isStated) {
      log.warn('the group does not take an option, its own setting holds', facts)
    } else log.debug('the group does not take a default', facts)
  }
  return accepted
}

/** What keeps them from being set; undefined when they are. */
async function set(
  { client, groupId, log }: StreamsSettingsOptions,
  settings: readonly StreamsSetting[],
  signal: AbortSignal,
): Promise<unknown> {
  const configs = Object.fromEntries(settings.map(({ name, value }) => [name, value]))
  try {
    await alterConfigs(client, { type: 'group', name: groupId }, configs, { signal })
    log.info('set options of the group', configs)
    return undefined
  } catch (error) {
    return error
  }
}

/** Undefined: they may not be seen. */
async function presentSettings(
  { client, groupId, log }: StreamsSettingsOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ConfigEntry> | undefined> {
  try {
    const [entries = []] = await describeConfigs(client, [{ type: 'group', name: groupId }], {
      signal,
    })
    return new Map(entries.map((entry) => [entry.name, entry]))
  } catch (error) {
    if (!signal.aborted) {
      log.debug('the settings of the group cannot be read', { error: messageOf(error) })
    }
    return undefined
  }
}
