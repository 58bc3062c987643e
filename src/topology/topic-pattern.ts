import { StreamsError } from '../errors.ts'

/** Matches whole names of topics, as Java's Pattern#matches does. */
export class TopicPattern {
  /** The regular expression as it was written, without its flags: what `describe()` shows. */
  readonly text: string
  /** Equal for patterns that match the same. */
  readonly id: string
  readonly #whole: RegExp

  constructor(pattern: RegExp) {
    // In a literal, a slash is written with a backslash.
    this.text = pattern.source.replaceAll('\\/', '/')
    // With these two, a regular expression would remember where it stopped.
    const flags = pattern.flags.replaceAll(/[gy]/g, '')
    this.id = `/${pattern.source}/${flags}`
    this.#whole = new RegExp(`^(?:${pattern.source})$`, flags)
  }

  matches(topic: string): boolean {
    return this.#whole.test(topic)
  }
}

/** Refuses what a program without types gave in place of a regular expression. */
export function topicPattern(given: unknown, of: string): TopicPattern {
  if (given instanceof RegExp) return new TopicPattern(given)
  throw new StreamsError('TOPOLOGY_INVALID', { detail: `${of} needs a regular expression` })
}
