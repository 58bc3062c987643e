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
