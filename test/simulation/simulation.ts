/**
 * A run of a whole cluster from a seed: instances of a random program, a load, faults, and judges that look
 * at every step. It ends when the faults have ended, the group runs, and all that was sent is processed.
 */
import { randomInteger, seededRandom, type Random } from '../../src/base/random.ts'
import { fetchCommittedOffsets, listOffsets } from '../../src/client/offsets.ts'
import { Producer } from '../../src/client/producer.ts'
import { createPartitions } from '../../src/client/topic-admin.ts'
import { isStreamsError } from '../../src/errors.ts'
import { endTxn } from '../../src/protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../../src/protocol/messages/28-txn-offset-commit.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { days, serdes, topic } from '../../src/index.ts'
import { simulatedCluster, type SimulatedCluster } from '../../src/testing/simulated-cluster.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'
import { readTopic } from '../../src/testing/topic-reader.ts'
import { Admin } from '../../src/client/admin.ts'
import { AnsweredRequests } from './answered-requests.ts'
import { CommitWatch } from './commit-watch.ts'
import { FaultInjector } from './fault-injector.ts'
import { InstanceRequests } from './instance-requests.ts'
import { JoinWatch } from './join-watch.ts'
import { MoveWatch } from './move-watch.ts'
import { OwnershipWatch } from './ownership-watch.ts'
import { describePlan, isExact, isOnce, randomPlan, type SimulationPlan } from './plan.ts'
import { rowsOrNone, type NextRecord, type Rows } from './program.ts'
import { ReadWatch } from './read-watch.ts'
import { ReleaseWatch } from './release-watch.ts'
import { SentRecords } from './sent-records.ts'

const applicationId = 'simulated'

/** When faults have ended, all must be well again within this time, in simulated milliseconds. */
const recoveryMsMax = 240_000
/** Between two looks at whether all is well. */
const lookEveryMs = 1500
/** An instance that has ended by itself is found within this time. */
const superviseEveryMs = 1000
/** An input that grows has at most so many partitions. */
const partitionsMax = 6
/** How often stream time is moved in the end: a join tells of what is over once a second at most. */
const closingRounds = 3

export interface SimulationOptions {
  readonly seed: number
  /** Workers of each instance. Default: as the seed says. */
  readonly workers?: number
  /** How long faults go on, in simulated milliseconds. Default: as the seed says. */
  readonly durationMs?: number
  /** Default: as the seed says. */
  readonly program?: string | undefined
  /** Hears all that happens, line by line. */
  readonly trace?: ((line: string) => void) | undefined
}

/** How a run went that found nothing wrong. */
export interface SimulationResult {
  readonly seed: number
  readonly plan: string
  readonly digest: string
  readonly eventCount: number
  readonly recordCount: number
  /** Questions that were answered. */
  readonly answerCount: number
  /** Simulated milliseconds. */
  readonly elapsedMs: number
}

/** Something was wrong. */
export class SimulationFailure extends Error {
  readonly seed: number

  constructor(seed: number, plan: string, what: string) {
    super(`seed ${seed} (${plan}): ${what}`)
    this.name = 'SimulationFailure'
    this.seed = seed
  }
}

/** Runs one seed. Rejects with a {@link SimulationFailure}. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, trace, durationMs, program, workers } = options
  const random = seededRandom(seed)
  const plan = {
    ...randomPlan(random, { ...(program !== undefined && { program }) }),
    ...(durationMs !== undefined && { durationMs }),
    ...(workers !== undefined && { workers }),
  }
  const cluster = await simulatedCluster({
    seed: Math.floor(random.next() * 2 ** 32),
    broker: {
      // Records that let windows close are of the future.
      topicDefaults: { 'retention.ms': '-1', 'message.timestamp.after.max.ms': String(days(1)) },
      initialRebalanceDelayMs: plan.initialRebalanceDelayMs,
    },
    ...(trace && { trace }),
  })
  const simulation = new Simulation({ seed, plan, cluster, random })
  try {
    return await simulation.run()
  } finally {
    await cluster.close()
  }
}

class Simulation {
  readonly #seed: number
  readonly #plan: SimulationPlan
  readonly #cluster: SimulatedCluster
  readonly #random: Random
  readonly #sent: SentRecords
  readonly #producer: Producer
  readonly #commits: CommitWatch
  readonly #instances: SimulatedInstance[] = []
  readonly #ownership: OwnershipWatch
  readonly #releases: ReleaseWatch
  readonly #joins: JoinWatch
  readonly #reads: ReadWatch
  readonly #moves: MoveWatch
  #breach: string | undefined
  #isGrowing = false
  #injector: FaultInjector | undefined

  constructor(options: {
    seed: number
    plan: SimulationPlan
    cluster: SimulatedCluster
    random: Random
  }) {
    const { cluster, plan } = options
    this.#seed = options.seed
    this.#plan = plan
    this.#cluster = cluster
    this.#random = options.random
    this.#sent = new SentRecords(plan.program.inputs)
    this.#producer = new Producer(cluster.client, { deliveryTimeoutMs: 600_000 })
    this.#commits = new CommitWatch((what) => this.#fail(what))
    this.#ownership = new OwnershipWatch(this.#instances, (what) => this.#fail(what))
    this.#releases = new ReleaseWatch({
      areAlone: plan.workers === 1,
      isWitness: (instance) => this.#ownership.isWitness(instance, cluster.time.now),
      onBreach: (what) => this.#fail(what),
    })
    this.#joins = new JoinWatch({ areAlone: plan.workers === 1 })
    this.#reads = new ReadWatch({
      plan,
      cluster,
      applicationId,
      instances: this.#instances,
      sent: this.#sent,
      commits: this.#commits,
      ownership: this.#ownership,
      joins: this.#joins,
      random: seededRandom(options.seed),
      onBreach: (what) => this.#fail(what),
    })
    this.#moves = new MoveWatch(plan, {
      end: (partition) => this.#reads.end(partition),
      onBreach: (what) => this.#fail(what),
    })
  }

  async run(): Promise<SimulationResult> {
    const { program } = this.#plan
    const cluster = this.#cluster
    const startedAt = cluster.time.now
    cluster.time.note('simulation', describePlan(this.#plan))
    const answers = new AnsweredRequests((answered) => {
      this.#commits.heard(answered)
      this.#reads.heard(answered)
    })
    const requests = new InstanceRequests(this.#instances, (instance, frame, connection) => {
      this.#joins.heard(instance, frame, connection)
      if (commits.includes(frame.readInt16BE(0))) this.#injector?.commits(instance)
      this.#releases.heard(instance, frame)
      this.#moves.heard(frame)
    })
    cluster.network.taps.push(answers, requests, this.#joins)
    for (const [name, partitions] of program.inputs) {
      await cluster.createTopic({ name }, { partitions })
    }
    if (program.output !== undefined) await cluster.createTopic(program.output, { partitions: 2 })
    await cluster.run(cluster.client.topicMetadata([...program.inputs.keys()]))
    for (let index = 0; index < this.#plan.instanceCount; index += 1) this.#addInstance(index)
    cluster.time.watch = () => {
      this.#ownership.look(cluster.time.now)
      this.#reads.look()
    }
    await this.#beUnderFaults()
    if (program.closing !== undefined) await this.#close()
    await this.#recover('in the end')
    if (this.#random.next() < 0.4) await this.#restoreAnew()
    this.#throwBreach()
    return {
      seed: this.#seed,
      plan: describePlan(this.#plan),
      digest: cluster.digest,
      eventCount: cluster.time.eventCount,
      recordCount: this.#sent.all.length,
      answerCount: this.#reads.answerCount,
      elapsedMs: Math.round(cluster.time.now - startedAt),
    }
  }

  #addInstance(index: number): void {
    const plan = this.#plan
    const name = `instance-${index}`
    const instance = this.#cluster.instance(name, plan.program.topology, {
      applicationId,
      workers: plan.workers,
      commitInterval: plan.commitInterval,
      sessionTimeout: plan.sessionTimeout,
      heartbeatInterval: Math.floor(plan.sessionTimeout / 5),
      rebalanceTimeout: 30_000,
      processingGuarantee: plan.guarantee,
      groupProtocol: plan.groupProtocol,
      standbyReplicas: plan.standbyReplicas,
      acceptableRecoveryLag: plan.acceptableRecoveryLag,
      probingRebalanceInterval: 60_000,
      // Soon enough to find partitions that were added.
      metadataMaxAge: 5_000,
      ...(plan.hasCache ? {} : { cacheBytes: 0 }),
      ...(plan.isStatic ? { groupInstanceId: name } : {}),
    })
    this.#instances.push(instance)
    if (plan.mixesReleases && index !== 0) instance.release = 'older'
    instance.start()
  }

  /** The load goes on, questions are asked, and one thing after the other goes wrong. */
  async #beUnderFaults(): Promise<void> {
    const { durationMs, recordEveryMs, faultEveryMs, faults, sessionTimeout, guarantee } =
      this.#plan
    const cluster = this.#cluster
    const director = cluster.time.process('simulation')
    const injector = new FaultInjector({
      director,
      cluster,
      instances: this.#instances,
      random: this.#random,
      sessionTimeout,
      hasWorkers: this.#plan.workers > 1,
      mixesReleases: this.#plan.mixesReleases,
      guarantee,
      onDisturbed: (instance, until) => this.#ownership.disturbed(instance, until),
      onFailure: (instance, failure) => this.#judgeFailure(instance, failure),
      onGrowth: () => this.#grow(),
    })
    this.#injector = injector
    const each = (msMax: number, act: () => void): void => {
      director.later(this.#random.next() * msMax, () => {
        act()
        each(msMax, act)
      })
    }
    each(recordEveryMs, () => this.#send())
    each(faultEveryMs, () => {
      injector.inject(faults[randomInteger(this.#random, faults.length)] ?? 'stop')
    })
    each(superviseEveryMs, () => injector.supervise())
    const until = cluster.time.now + durationMs
    await cluster.until(() => this.#breach !== undefined || cluster.time.now >= until)
    this.#throwBreach()
    director.kill()
    injector.end()
  }

  #send(): void {
    const count = this.#random.next() < 0.03 ? 20 : 1
    for (let index = 0; index < count; index += 1) {
      this.#sendOne(this.#plan.program.next(this.#random))
    }
  }

  #sendOne({ ageMs = 0, isDistinct = false, ...record }: NextRecord): void {
    const time = this.#cluster.now - ageMs
    const mustDiffer = isDistinct && !isOnce(this.#plan)
    const timestamp = mustDiffer ? this.#sent.freeTime({ ...record, timestamp: time }) : time
    const sent = this.#sent.add({ ...record, timestamp })
    const value = sent.value === null ? null : Buffer.from(sent.value)
    this.#producer.send(sent.topic, sent.partition, Buffer.from(sent.key), value, timestamp, [])
  }

  /** The input that may grow gets one more partition, and the load goes there as well from then on. */
  #grow(): void {
    const { growing } = this.#plan.program
    if (growing === undefined || this.#isGrowing) return
    const count = this.#sent.partitionCount(growing) + 1
    if (count > partitionsMax) return
    this.#isGrowing = true
    const { client } = this.#cluster
    const grow = async (): Promise<void> => {
      await createPartitions(client, growing, count)
      await client.topicMetadata([growing], { fresh: true })
      this.#sent.setPartitionCount(growing, count)
      this.#isGrowing = false
    }
    grow().catch((error: unknown) => this.#fail(`partitions could not be added: ${String(error)}`))
  }

  /** All windows close: what waits for that is told at the records that follow, now and then. */
  async #close(): Promise<void> {
    const cluster = this.#cluster
    const { program } = this.#plan
    await this.#settle('before windows close')
    for (let round = 0; round < closingRounds; round += 1) {
      for (const record of program.closing?.(this.#sent) ?? []) this.#sendOne(record)
      await cluster.run(this.#producer.flush())
      await cluster.advance(lookEveryMs)
    }
  }

  /** Faults have ended: soon the group runs, and has processed all. Then stores are what they should be. */
  async #recover(when: string): Promise<void> {
    const rows = await this.#settle(when)
    this.#judgeRows(rows, when)
    if (this.#plan.program.output === undefined)
      await this.#cluster.run(this.#reads.judgeCopies(rows))
    this.#throwBreach()
  }

  /** Lets time pass until the group runs and has processed all; gives the rows of all stores. */
  async #settle(when: string): Promise<Rows> {
    const cluster = this.#cluster
    await cluster.run(this.#producer.flush())
    const deadline = cluster.time.now + recoveryMsMax
    for (;;) {
      await cluster.advance(lookEveryMs)
      this.#injector?.supervise('now')
      this.#throwBreach()
      const missing = this.#notRunning() ?? (await cluster.run(this.#notProcessed()))
      const rows = missing === undefined ? await this.#allRows() : undefined
      if (rows !== undefined) return rows
      if (cluster.time.now >= deadline) {
        this.#fail(`${when}, ${recoveryMsMax} ms after the last fault, ${missing ?? 'tasks move'}`)
      }
    }
  }

  /** The rows of all instances; undefined when tasks have moved meanwhile. */
  async #allRows(): Promise<Rows | undefined> {
    const owners = this.#owners().join()
    const { program } = this.#plan
    const sent = this.#sent
    const all = this.#instances.map(({ streams }) => rowsOrNone(program, { streams, sent }))
    const parts = await this.#cluster.run(Promise.all(all))
    if (this.#notRunning() !== undefined || this.#owners().join() !== owners) return undefined
    const rows: Rows = new Map()
    for (const [key, value] of parts.flatMap((part) => [...part])) {
      if (rows.has(key)) this.#fail(`${key} is at two instances`)
      rows.set(key, value)
    }
    if (program.output === undefined) return rows
    const output = topic(program.output.name, { key: serdes.string, value: serdes.string })
    return program.output.rows(await this.#cluster.read(output))
  }

  /** Only a disk that fails may end an instance. */
  #judgeFailure({ name }: SimulatedInstance, failure: Error): void {
    this.#cluster.time.note(name, `has ended: ${failure.message}`)
    const mayDiskFail = this.#plan.faults.some((fault) => fault.startsWith('disk'))
    if (!mayDiskFail || !isOfDisk(failure)) this.#fail(`${name} has ended: ${failure.message}`)
  }

  #notRunning(): string | undefined {
    const found = this.#instances.find(({ state }) => state !== 'running')
    if (found !== undefined) return `${found.name} is ${found.state}`
    const owners = this.#owners()
    const taskCount = this.#plan.program.taskCount(this.#sent)
    return owners.length === taskCount ? undefined : `only these tasks run: ${owners.join(', ')}`
  }

  /** The tasks that run, with where they do. */
  #owners(): string[] {
    return this.#instances.flatMap(({ name, streams }) =>
      streams
        .localTasks()
        .filter(({ role, state }) => role === 'active' && state === 'running')
        .map(({ id }) => `${id} at ${name}`),
    )
  }

  /** What is not processed: no commit covers it, or an instance does not know it yet. */
  async #notProcessed(): Promise<string | undefined> {
    const { program } = this.#plan
    const inputs = [...program.inputs.keys()].filter((name) => name !== program.global)
    for (const name of inputs) {
      const behind = await this.#behind(name, this.#sent.ends(name))
      if (behind !== undefined) return behind
    }
    const { client } = this.#cluster
    const topics = [...(await new Admin(client).listTopics()).keys()].sort()
    for (const name of topics.filter(
      (one) => one.endsWith('-repartition') || one.endsWith('-topic'),
    )) {
      if (await this.#isUndecided(name)) return `${name} has records of an open transaction`
      const records = await readTopic(client, topic(name, rawSerdes))
      const ends = new Map(records.map(({ partition, offset }) => [partition, offset + 1]))
      const behind = await this.#behind(name, ends)
      if (behind !== undefined) return behind
    }
    for (const { name, streams } of this.#instances) {
      const missing = await program.missing?.(streams, this.#sent)
      if (missing !== undefined) return `at ${name} ${missing}`
    }
    return undefined
  }

  /**
   * True: a transaction is open that has written there. The offsets of one that ends may be committed before its
   * records are: then all seems to be processed, and they are still to come.
   */
  async #isUndecided(name: string): Promise<boolean> {
    const { client } = this.#cluster
    const count = (await client.topicMetadata([name])).get(name)?.partitions.length ?? 0
    const all = Array.from({ length: count }, (_, partition) => ({ topic: name, partition }))
    const ends = await listOffsets(client, all, 'latest', { isolation: 'read_uncommitted' })
    const decided = await listOffsets(client, all, 'latest', { isolation: 'read_committed' })
    return [...ends].some(([partition, end]) => decided.get(partition) !== end)
  }

  /** Which partition has records up to `ends` that no commit covers. */
  async #behind(name: string, ends: ReadonlyMap<number, number>): Promise<string | undefined> {
    const asked = [...ends.keys()].map((partition) => ({ topic: name, partition }))
    const committed = await fetchCommittedOffsets(this.#cluster.client, applicationId, asked)
    for (const [partition, end] of ends) {
      const offset = committed.get(`${name}-${partition}`)?.offset ?? 0
      if (offset < end) return `${name}-${partition} is processed to ${offset} of ${end}`
    }
    return undefined
  }

  #judgeRows(rows: Rows, when: string): void {
    const { program } = this.#plan
    const expected = program.expected(this.#sent)
    for (const [key, value] of expected) {
      const got = rows.get(key)
      const isRight = isExact(this.#plan) ? got === value : mostOf(got) >= Number(value)
      if (!isRight) this.#fail(`${when}, ${key} is ${got}, not ${value}`)
    }
    for (const [key, value] of rows) {
      if (expected.has(key) || program.mayHave?.(key, value, this.#sent) === true) continue
      this.#fail(`${when}, ${key} is there, and never was sent`)
    }
    this.#throwBreach()
  }

  /** All instances stop, lose their disks and come back: what is in the changelogs must be the same. */
  async #restoreAnew(): Promise<void> {
    const cluster = this.#cluster
    cluster.time.note('simulation', 'all state is lost and restored')
    cluster.time.watch = () => this.#reads.look()
    for (const instance of this.#instances) await instance.stop()
    for (const instance of this.#instances) {
      instance.loseDisk()
      instance.start()
    }
    await this.#recover('after all state was restored')
  }

  #fail(what: string): void {
    if (this.#breach !== undefined) return
    this.#cluster.time.note('simulation', `WRONG: ${what}`)
    this.#breach = what
  }

  #throwBreach(): void {
    if (this.#breach === undefined) return
    throw new SimulationFailure(this.#seed, describePlan(this.#plan), this.#breach)
  }
}

/** The disk has failed, or what followed from it. */
function isOfDisk(failure: unknown): boolean {
  if (isStreamsError(failure, 'DISK_FAILED')) return true
  return failure instanceof Error && failure.cause !== undefined && isOfDisk(failure.cause)
}

/** The highest of what was told of a key, one after the other. */
const mostOf = (told = '0'): number => Math.max(...told.split('+').map(Number))

const commits: readonly number[] = [endTxn.key, offsetCommit.key, txnOffsetCommit.key]

const rawSerdes = { key: serdes.bytes, value: serdes.bytes }
