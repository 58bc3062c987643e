import { sleep, type Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { messageOf } from '../errors.ts'
import type { Leader, LedRound } from './assignor/leader.ts'

const checkIntervalMsDefault = 300_000

/** What {@link LedTopics} needs. */
export interface LedTopicsOptions {
  readonly client: KafkaClient
  readonly leader: Leader
  /** The topics that the application reads, but for those of patterns. */
  readonly topics: readonly string[]
  /** Between two looks whether other topics match a pattern. Default 300 s. */
  readonly topicCheckIntervalMs?: number
  readonly clock: Clock
  readonly log: Log
}

/** What was there when tasks were given out. */
interface Seen {
  readonly matchedTopics: readonly string[]
  readonly partitions: ReadonlyMap<string, number | undefined>
}

/**
 * Whoever leads watches what has changed since it gave out tasks: partitions that were added have no
 * task yet, and topics that match a pattern come and go.
 */
export class LedTopics {
  readonly #options: LedTopicsOptions
  readonly #onChange: (reason: string) => void
  /** Undefined: another member leads, or the change was told. */
  #seen: Seen | undefined
  /** What was there when tasks were given out before this instance was started again. */
  #before: { readonly matchedTopics: readonly string[]; readonly fingerprint: number } | undefined

  /** `onChange` is called once for each round. */
  constructor(options: LedTopicsOptions, onChange: (reason: string) => void) {
    this.#options = options
    this.#onChange = onChange
  }

  /**
   * Tasks were given out: for the partitions that the leader saw, and not for those that were added
   * while it asked for the rest of what it has to know.
   */
  note({ matchedTopics, partitionCounts }: Omit<LedRound, 'assignments'>): void {
    this.#before = undefined
    this.#seen = { matchedTopics, partitions: partitionCounts }
  }

  /**
   * A static member leads again after a restart, without a round: tasks are as they were given out when
   * the topics were these. A fingerprint of 0 was not told.
   */
  resume(matchedTopics: readonly string[], fingerprint: number): void {
    if (fingerprint === 0) return this.#noteKnown(matchedTopics)
    this.#seen = undefined
    this.#before = { matchedTopics, fingerprint }
  }

  /** Another member leads. */
  forget(): void {
    this.#seen = undefined
    this.#before = undefined
  }

  /** Looks for partitions, as far as the client has heard of them. */
  checkPartitions(): void {
    this.#compareWithBefore()
    for (const [topic, count] of this.#seen?.partitions ?? []) {
      const now = this.#options.client.partitionCount(topic)
      // Internal topics may have been made a moment ago; how many partitions they have is ours to say.
      if (count === undefined || now === undefined || now === count) continue
      return this.#changed(`the topic ${topic} has ${now} partitions now`)
    }
  }

  /** Looks for topics at intervals until the signal aborts. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    const { leader, clock, log, topicCheckIntervalMs = checkIntervalMsDefault } = this.#options
    while (leader.hasPatterns && !signal.aborted) {
      await sleep(clock, topicCheckIntervalMs, signal)
      const seen = this.#seen
      if (seen === undefined || signal.aborted) continue
      try {
        const now = await leader.matchedTopics(signal)
        const isSame = now.join() === seen.matchedTopics.join()
        if (!isSame && this.#seen === seen) this.#changed('other topics match a pattern now')
      } catch (error) {
        // The next look is not far; a cluster that is gone is noticed by the heartbeats.
        if (!signal.aborted) log.warn('the topics could not be listed', { error: messageOf(error) })
      }
    }
  }

  #compareWithBefore(): void {
    if (this.#before === undefined) return
    const { matchedTopics, fingerprint } = this.#before
    const known = this.#options.leader.knownFingerprint(matchedTopics)
    // The tasks ask for their topics when they are opened: what is not known yet will be.
    if (known === undefined) return
    if (known === fingerprint) this.#noteKnown(matchedTopics)
    else this.#changed('the topics have other partitions than before the restart')
  }

  /** The topics are as they were, as far as can be known. */
  #noteKnown(matchedTopics: readonly string[]): void {
    const { client, topics } = this.#options
    const partitions = [...topics, ...matchedTopics].map(
      (topic) => [topic, client.partitionCount(topic)] as const,
    )
    this.#before = undefined
    this.#seen = { matchedTopics, partitions: new Map(partitions) }
  }

  #changed(reason: string): void {
    this.#seen = undefined
    this.#before = undefined
    this.#onChange(reason)
  }
}
