/**
 * A run of a whole cluster from a seed: instances of a random program, a load, faults, and judges that look
 * at every step. It ends when the faults have ended, the group runs, and all that was sent is processed.
 */
import { randomInteger, seededRandom, type Random } from '../../src/base/random.ts'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import { Producer } from '../../src/client/producer.ts'
import { isStreamsError } from '../../src/errors.ts'
import { serdes, topic } from '../../src/index.ts'
import { simulatedCluster, type SimulatedCluster } from '../../src/testing/simulated-cluster.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'
import { readTopic } from '../../src/testing/topic-reader.ts'
import { Admin } from '../../src/client/admin.ts'
import { CommitWatch } from './commit-watch.ts'
import { FaultInjector } from './fault-injector.ts'
import { OwnershipWatch } from './ownership-watch.ts'
import { describePlan, isExact, randomPlan, type SimulationPlan } from './plan.ts'
import { rowsOrNone, type Rows } from './programs.ts'
import { SentRecords } from './sent-records.ts'

const applicationId = 'simulated'

/** When faults have ended, all must be well again within this time, in simulated milliseconds. */
const recoveryMsMax = 240_000
/** Between two looks at whether all is well. */
const lookEveryMs = 1500
/** An instance that has ended by itself is found within this time. */
const superviseEveryMs = 1000
/** Between two questions, at most. */
const askEveryMsMax = 400

export interface SimulationOptions {
  readonly seed: number
  /** Workers of each instance. Default 1, whatever the seed. */
  readonly workers?: number
  /** How long faults go on, in simulated milliseconds. Default: as the seed says. */
  readonly durationMs?: number
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
  const { seed, trace, durationMs, workers = 1 } = options
  const random = seededRandom(seed)
  const plan = { ...randomPlan(random), workers, ...(durationMs !== undefined && { durationMs }) }
  const cluster = await simulatedCluster({
    seed: Math.floor(random.next() * 2 ** 32),
    broker: { topicDefaults: { 'retention.ms': '-1' } },
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
  #breach: string | undefined
  #answerCount = 0
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
  }

  async run(): Promise<SimulationResult> {
    const { program } = this.#plan
    const cluster = this.#cluster
    const startedAt = cluster.time.now
    cluster.time.note('simulation', describePlan(this.#plan))
    cluster.network.tap = this.#commits
    for (const [name, partitions] of program.inputs) {
      await cluster.createTopic({ name }, { partitions })
    }
    if (program.output !== undefined) await cluster.createTopic(program.output, { partitions: 2 })
    await cluster.run(cluster.client.topicMetadata([...program.inputs.keys()]))
    for (let index = 0; index < this.#plan.instanceCount; index += 1) this.#addInstance(index)
    cluster.time.watch = () => this.#ownership.look(cluster.time.now)
    await this.#beUnderFaults()
    await this.#recover('in the end')
    if (this.#random.next() < 0.4) await this.#restoreAnew()
    this.#throwBreach()
    return {
      seed: this.#seed,
      plan: describePlan(this.#plan),
      digest: cluster.digest,
      eventCount: cluster.time.eventCount,
      recordCount: this.#sent.all.length,
      answerCount: this.#answerCount,
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
      ...(plan.hasCache ? {} : { cacheBytes: 0 }),
      ...(plan.isStatic ? { groupInstanceId: name } : {}),
    })
    this.#instances.push(instance)
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
      guarantee,
      onDisturbed: (instance, until) => this.#ownership.disturbed(instance, until),
      onFailure: (instance, failure) => this.#judgeFailure(instance, failure),
    })
    this.#injector = injector
    const each = (msMax: number, act: () => void): void => {
      director.later(this.#random.next() * msMax, () => {
        act()
        each(msMax, act)
      })
    }
    each(recordEveryMs, () => this.#send())
    each(askEveryMsMax, () => this.#ask())
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
    const count = this.#random.next() < 0.03 ? 30 : 1
    for (let index = 0; index < count; index += 1) {
      const timestamp = this.#cluster.now
      const sent = this.#sent.add({ ...this.#plan.program.next(this.#random), timestamp })
      const value = sent.value === null ? null : Buffer.from(sent.value)
      this.#producer.send(sent.topic, sent.partition, Buffer.from(sent.key), value, timestamp, [])
    }
  }

  /** Asks an instance that is there about a key; what it answers must be possible by then. */
  #ask(): void {
    const { program } = this.#plan
    const instance = this.#instances[randomInteger(this.#random, this.#instances.length)]
    const key = program.someKey(this.#random)
    if (instance === undefined || instance.state === 'gone' || instance.isPaused) return
    const isWitness = this.#ownership.isWitness(instance, this.#cluster.time.now)
    const least = isWitness ? program.least?.(key, this.#sent, this.#commits) : undefined
    program.ask(instance.streams, key).then(
      (answer) => {
        this.#judgeAnswer(instance.name, key, answer)
        if (least !== undefined && Number(answer ?? 0) < least) {
          this.#fail(`${instance.name} says of ${key} ${answer}, and ${least} are committed`)
        }
      },
      (error: unknown) => {
        if (!isStreamsError(error)) this.#fail(`a question failed with ${String(error)}`)
      },
    )
  }

  #judgeAnswer(name: string, key: string, answer: string | undefined): void {
    this.#answerCount += 1
    this.#cluster.time.note(name, `${key} is ${answer}`)
    if (answer === undefined) return
    const judgement = this.#plan.program.judge(key, answer, this.#sent)
    if (judgement === 'impossible' || (judgement === 'too-high' && isExact(this.#plan))) {
      this.#fail(`${name} says of ${key} ${answer}, which cannot be`)
    }
  }

  /** Faults have ended: soon the group runs, and has processed all. Then stores are what they should be. */
  async #recover(when: string): Promise<void> {
    const cluster = this.#cluster
    await cluster.run(this.#producer.flush())
    const deadline = cluster.time.now + recoveryMsMax
    for (;;) {
      await cluster.advance(lookEveryMs)
      this.#injector?.supervise('now')
      this.#throwBreach()
      const missing = this.#notRunning() ?? (await cluster.run(this.#notProcessed()))
      const rows = missing === undefined ? await this.#allRows() : undefined
      if (rows !== undefined) return this.#judgeRows(rows, when)
      if (cluster.time.now >= deadline) {
        this.#fail(`${when}, ${recoveryMsMax} ms after the last fault, ${missing ?? 'tasks move'}`)
      }
    }
  }

  /** The rows of all instances; undefined when tasks have moved meanwhile. */
  async #allRows(): Promise<Rows | undefined> {
    const owners = this.#owners().join()
    const { program } = this.#plan
    const all = this.#instances.map(({ streams }) => rowsOrNone(program, streams))
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
    const { taskCount } = this.#plan.program
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

  /** Which topic has records that no commit covers; changelogs are for nobody to process. */
  async #notProcessed(): Promise<string | undefined> {
    const { client } = this.#cluster
    const { output } = this.#plan.program
    const topics = [...(await new Admin(client).listTopics()).keys()].sort()
    const read = topics.filter((one) => one !== output?.name && !one.endsWith('-changelog'))
    for (const name of read) {
      const records = await readTopic(client, topic(name, rawSerdes))
      const ends = new Map(records.map(({ partition, offset }) => [partition, offset + 1]))
      const asked = [...ends.keys()].map((partition) => ({ topic: name, partition }))
      const committed = await fetchCommittedOffsets(client, applicationId, asked)
      for (const [partition, end] of ends) {
        const offset = committed.get(`${name}-${partition}`)?.offset ?? 0
        if (offset < end) return `${name}-${partition} is processed to ${offset} of ${end}`
      }
    }
    return undefined
  }

  #judgeRows(rows: Rows, when: string): void {
    const { program } = this.#plan
    const expected = program.expected(this.#sent)
    for (const [key, value] of expected) {
      const got = rows.get(key)
      const isRight = isExact(this.#plan) ? got === value : Number(got ?? 0) >= Number(value)
      if (!isRight) this.#fail(`${when}, ${key} is ${got}, not ${value}`)
    }
    for (const key of rows.keys()) {
      if (!expected.has(key)) this.#fail(`${when}, ${key} is there, and never was sent`)
    }
    this.#throwBreach()
  }

  /** All instances stop, lose their disks and come back: what is in the changelogs must be the same. */
  async #restoreAnew(): Promise<void> {
    const cluster = this.#cluster
    cluster.time.note('simulation', 'all state is lost and restored')
    cluster.time.watch = undefined
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

const rawSerdes = { key: serdes.bytes, value: serdes.bytes }
