import { randomInteger, type Random } from '../../src/base/random.ts'
import { isStreamsError } from '../../src/errors.ts'
import type { SimulatedCluster } from '../../src/testing/simulated-cluster.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'
import type { Answered } from './answered-requests.ts'
import { ChangelogWatch } from './changelog-watch.ts'
import type { CommitWatch } from './commit-watch.ts'
import type { JoinWatch } from './join-watch.ts'
import type { OwnershipWatch } from './ownership-watch.ts'
import { isExact, type SimulationPlan } from './plan.ts'
import type { Consistency, Rows } from './program.ts'
import type { SentRecords } from './sent-records.ts'

/** After so many events somebody is asked something. */
const lookEvery = 8

/** How true answers are asked to be. */
const consistencies: readonly Consistency[] = [
  {},
  {},
  { consistency: 'any' },
  { maxLag: 0 },
  { maxLag: 3 },
  { maxLag: 30 },
]

/** A copy that rests asks each second how far others are, and waits for two at most. */
const hearsWithinMs = 3_500
/** Where the network may be slow. */
const hearsSlowlyWithinMs = 8_000
/** A process that stood still finds out at once, when it goes on, what it has missed. */
const wakesWithinMs = 1_000

/**
 * Asks owners and copies all the time, and judges each answer: it must be possible with what was sent, and as true as
 * was asked for.
 *
 * - Whoever answers as the owner has all that was committed; also one that is cut off, which gives up before others
 *   can have its tasks.
 * - A copy that may lack so many records has all others that were committed before it could have heard of them.
 */
export class ReadWatch {
  readonly #plan: SimulationPlan
  readonly #cluster: SimulatedCluster
  readonly #instances: readonly SimulatedInstance[]
  readonly #sent: SentRecords
  readonly #commits: CommitWatch
  readonly #ownership: OwnershipWatch
  readonly #joins: JoinWatch
  readonly #random: Random
  readonly #onBreach: (what: string) => void
  /** Undefined: the values of a key have no order. */
  readonly #changelog: ChangelogWatch | undefined
  readonly #pausedAt = new Map<SimulatedInstance, number>()
  #events = 0
  #answerCount = 0

  constructor(options: {
    plan: SimulationPlan
    cluster: SimulatedCluster
    instances: readonly SimulatedInstance[]
    sent: SentRecords
    commits: CommitWatch
    ownership: OwnershipWatch
    joins: JoinWatch
    applicationId: string
    random: Random
    onBreach: (what: string) => void
  }) {
    const { plan, cluster, applicationId } = options
    this.#plan = plan
    this.#cluster = cluster
    this.#instances = options.instances
    this.#sent = options.sent
    this.#commits = options.commits
    this.#ownership = options.ownership
    this.#joins = options.joins
    this.#random = options.random
    this.#onBreach = options.onBreach
    const { copy } = plan.program
    this.#changelog =
      copy &&
      new ChangelogWatch({
        topic: `${applicationId}-${copy.store.name}-changelog`,
        store: copy.store,
        now: () => cluster.time.now,
      })
  }

  /** Questions that were answered. */
  get answerCount(): number {
    return this.#answerCount
  }

  /** Where the changelog of a partition ends, as far as it is committed. */
  end(partition: number): number {
    return this.#changelog?.end(partition) ?? 0
  }

  heard(answered: Answered): void {
    this.#changelog?.heard(answered)
  }

  /** After each event. */
  look(): void {
    for (const instance of this.#instances) {
      if (instance.isPaused) this.#pausedAt.set(instance, this.#cluster.time.now)
    }
    this.#events += 1
    if (this.#events % lookEvery !== 0) return
    const random = this.#random
    const instance = this.#instances[randomInteger(random, this.#instances.length)]
    const key = this.#plan.program.someKey(random)
    const how = consistencies[randomInteger(random, consistencies.length)] ?? {}
    if (instance !== undefined) this.ask(instance, key, how)
  }

  /** Asks an instance, if it is there, about a key. */
  ask(instance: SimulatedInstance, key: string, how: Consistency = {}): void {
    if (instance.state === 'gone' || instance.isPaused) return
    const { program } = this.#plan
    const floor = this.#floor(instance, key, how)
    const lag = this.#lagOf(instance, key)
    const isOwner = how.maxLag === undefined && how.consistency !== 'any'
    const isWitness = this.#ownership.isWitness(instance, this.#cluster.time.now)
    const least = isOwner && isWitness ? program.least?.(key, this.#sent, this.#commits) : undefined
    program.ask(instance.streams, key, how).then(
      (answer) => {
        this.#answerCount += 1
        const said = `${instance.name}, asked with ${JSON.stringify(how)}, says of ${key} ${answer}`
        if (!this.#isPossible(key, answer)) this.#onBreach(`${said}, which cannot be`)
        if (least !== undefined && Number(answer ?? 0) < least)
          this.#onBreach(`${said}, and ${least} are committed`)
        if (lag !== undefined && lag > (how.maxLag ?? Infinity))
          this.#onBreach(`${said}, and lacks ${lag} records, as it says itself`)
        if (floor !== undefined && this.#order(answer) < floor.order)
          this.#onBreach(`${said}, and ${floor.value} was committed before`)
      },
      (error: unknown) => {
        if (!isStreamsError(error)) this.#onBreach(`a question failed with ${String(error)}`)
      },
    )
  }

  /** All is at rest: whoever says that nothing is missing has what all have together. */
  async judgeCopies(expected: Rows): Promise<void> {
    const { program } = this.#plan
    if (program.copy === undefined || !isExact(this.#plan)) return
    for (const { name, streams } of this.#instances) {
      for (const [key, value] of expected) {
        const answer = await program.ask(streams, key, { maxLag: 0 }).catch((error: unknown) => {
          if (isStreamsError(error)) return value
          throw error
        })
        if (answer !== value)
          this.#onBreach(`the copy at ${name} says of ${key} ${answer}, not ${value}`)
      }
    }
  }

  #isPossible(key: string, answer: string | undefined): boolean {
    if (answer === undefined) return true
    const judgement = this.#plan.program.judge(key, answer, this.#sent)
    return judgement === 'possible' || (judgement === 'too-high' && !isExact(this.#plan))
  }

  /** What an instance says that its store lacks; undefined: it does not know. */
  #lagOf({ streams }: SimulatedInstance, key: string): number | undefined {
    const { copy } = this.#plan.program
    const partition = this.#changelog?.partitionOf(key)
    if (copy === undefined || partition === undefined) return undefined
    return streams.allLocalStorePartitionLags().get(copy.store.name)?.get(partition)?.offsetLag
  }

  /** The oldest value that may be answered; undefined: any may. */
  #floor(
    instance: SimulatedInstance,
    key: string,
    { consistency, maxLag }: Consistency,
  ): { order: number; value: string | undefined } | undefined {
    const { now } = this.#cluster.time
    const wokeAt = this.#pausedAt.get(instance) ?? -Infinity
    if (this.#changelog === undefined || consistency === 'any' || now < wokeAt + wakesWithinMs)
      return undefined
    const isWitness = this.#ownership.isWitness(instance, now)
    if (!isWitness && !this.#givesUpInTime(instance)) return undefined
    const isSlow = this.#plan.faults.includes('slow-network')
    const hearsMs = isSlow ? hearsSlowlyWithinMs : hearsWithinMs
    const staleMs = isWitness ? hearsMs : this.#plan.sessionTimeout + hearsMs
    const known = maxLag === undefined ? { by: now, lag: 0 } : { by: now - staleMs, lag: maxLag }
    let floor: { order: number; value: string | undefined } | undefined
    for (const value of this.#changelog.known(key, known)) {
      // Of those that were deleted it is only known that they came later.
      const order = value === undefined ? (floor?.order ?? 0) + 0.5 : this.#order(value)
      if (floor === undefined || order > floor.order) floor = { order, value }
    }
    return floor
  }

  /**
   * Whoever is cut off stops to answer before the group gives its tasks to others: but for a member that waits for a
   * rebalance, and where the broker forgets its groups, which lets others begin at once.
   */
  #givesUpInTime(instance: SimulatedInstance): boolean {
    const mayForget = this.#plan.faults.some((fault) => fault.startsWith('broker'))
    return !mayForget && !this.#joins.isJoining(instance)
  }

  #order(answer: string | undefined): number {
    return this.#plan.program.copy?.order(answer) ?? Infinity
  }
}
