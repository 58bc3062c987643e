import { InvalidArgumentError } from 'commander'
import { assertName } from '../base/legal-name.ts'
import { messageOf } from '../errors.ts'

/** Partitions of a topic; each is a few files. */
const partitionsMax = 10_000

/** A topic that is to be there. */
export interface TopicOption {
  readonly topic: string
  readonly partitions: number
  readonly configs: Readonly<Record<string, string>>
}

/** One more `name[:partitions[:config=value…]]`. */
export function parseTopic(
  text: string,
  before: readonly TopicOption[] | undefined,
): readonly TopicOption[] {
  const [topic = '', partitions = '1', ...configs] = text.split(':')
  try {
    assertName(topic, 'a topic')
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error))
  }
  if (before?.some((other) => other.topic === topic) === true) {
    throw new InvalidArgumentError(`The topic ${topic} is given twice.`)
  }
  const option = {
    topic,
    partitions: parsePartitions(topic, partitions),
    configs: parseConfigs(topic, configs),
  }
  return [...(before ?? []), option]
}

function parsePartitions(topic: string, text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= partitionsMax) return count
  throw new InvalidArgumentError(
    `The partitions of ${topic} are a whole number from 1 to ${partitionsMax}, not ${JSON.stringify(text)}.`,
  )
}

function parseConfigs(topic: string, texts: readonly string[]): Record<string, string> {
  const configs = new Map<string, string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    const name = text.slice(0, at)
    if (at < 1) {
      throw new InvalidArgumentError(
        `The configs of ${topic} are name=value, not ${JSON.stringify(text)}.`,
      )
    }
    if (configs.has(name)) {
      throw new InvalidArgumentError(`The config ${name} of ${topic} is given twice.`)
    }
    configs.set(name, text.slice(at + 1))
  }
  return Object.fromEntries(configs)
}
