import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { ManualClock } from '../../src/base/manual-clock.ts'
import { MemoryTransport } from '../../src/base/memory-transport.ts'
import { seededRandom, type Random } from '../../src/base/random.ts'
import { startBroker, type Broker } from '../../src/broker/index.ts'
import { Admin } from '../../src/client/admin.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { Producer } from '../../src/client/producer.ts'
import type { Ports } from '../../src/config.ts'
import type { TaskId } from '../../src/processor/record-metadata.ts'
import { settled } from '../peers/scripted-appends.ts'
import { GroupMember, Holders, topologyOf } from './group-member.ts'

const partitions = 8
const sessionTimeoutMs = 6000
/** In each partition of the changelog: more than a member may lack to take a task over. */
const changelogRecords = 30

/** A dev broker, members of one group, and a network between them, on virtual time. */
class Stage {
  readonly clock = new ManualClock(1_700_000_000_000)
  readonly network = new MemoryTransport({ clock: this.clock, delayMs: 2 })
  readonly random: Random
  readonly holders = new Holders()
  /** Those that run, by name; one that is stopped is not among them. */
  readonly members = new Map<string, GroupMember>()
  /** Those that have been told to stop and are not done: their process is not started again yet. */
  readonly ending = new Set<string>()
  readonly diary: string[] = []
  readonly #stopping: Promise<void>[] = []
  broker: Broker | undefined

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  /** Runs the clock until the promise settles. */
  async during<T>(promise: Promise<T>): Promise<T> {
    return settled(this.clock, promise)
  }

  async open(): Promise<void> {
    const { clock, network: transport, random } = this
    this.broker = await this.during(
      startBroker({ clock, transport, random, host: 'kafka', port: 9092 }),
    )
    const client = this.newClient({})
    await this.during(
      new Admin(client).createTopics([{ topic: 'orders', partitions, replicationFactor: 1 }]),
    )
    // The first round makes the changelog.
    const first = this.start('m0')
    await this.during(this.until(() => first.held.size === partitions))
    await this.during(client.topicMetadata(['app-counts-changelog'], { fresh: true }))
    const producer = new Producer(client)
    for (let index = 0; index < partitions * changelogRecords; index += 1) {
      const [partition, value] = [index % partitions, Buffer.from('1')]
      producer.send('app-counts-changelog', partition, value, value, clock.now(), [])
    }
    await this.during(producer.flush())
    await this.during(producer.close())
    await this.during(client.close())
  }

  name(short: string): string {
    return short
  }

  newClient(ports: Partial<Ports>): KafkaClient {
    const { clock, network: transport, random } = this
    return new KafkaClient({
      brokers: ['kafka:9092'],
      log: silentLog,
      clock,
      transport,
      random,
      ...ports,
    })
  }

  start(name: string, instanceId?: string): GroupMember {
    const { clock, network: transport, random } = this
    const member = new GroupMember(this, name, this.holders, {
      clock,
      random,
      transport,
      instanceId,
      // Two members in each process.
      processId: `00000000-0000-4000-8000-00000000000${Math.floor(Number(name.slice(1)) / 2)}`,
      topology: topologyOf('orders', 'counts'),
      sessionTimeoutMs,
      heartbeatIntervalMs: 500,
      rebalanceTimeoutMs: 30_000,
      led: { standbyReplicas: 1, probingRebalanceInterval: 5000 },
    })
    this.members.set(name, member)
    return member.start()
  }

  stop(name: string, mode: 'leave' | 'remain'): void {
    const member = this.members.get(name)
    if (member === undefined) return
    this.members.delete(name)
    this.ending.add(name)
    // In between two generations it cannot know whether the old one counts: brokers refuse its commit.
    if (!member.mayCommit) this.holders.remove(member)
    this.#stopping.push(member.stop(mode).finally(() => this.ending.delete(name)))
  }

  /** What members follow comes nearer. */
  catchUp(): void {
    for (const member of this.members.values()) {
      for (const id of [...member.standby, ...member.held]) {
        const before = member.progress.get(id) ?? 0
        const after = before + Math.floor(this.random.next() * changelogRecords)
        member.progress.set(id, Math.min(changelogRecords, after))
      }
    }
  }

  /** None, or all of them with what led to them. */
  faults(): string[] {
    const { faults } = this.holders
    return faults.length === 0 ? [] : [...this.diary, ...faults]
  }

  checkAll(): void {
    for (const member of this.members.values()) this.holders.check(member)
  }

  async until(condition: () => boolean): Promise<void> {
    for (let waits = 0; !condition() && waits < 60_000; waits += 1) {
      await new Promise<void>((resolve) => {
        this.clock.setTimer(10, resolve)
      })
    }
    if (!condition()) throw new Error('It did not come to that.')
  }

  async close(): Promise<void> {
    for (const name of this.members.keys()) this.stop(name, 'leave')
    await this.during(Promise.all(this.#stopping))
    await this.during(this.broker?.close() ?? Promise.resolve())
    await this.clock.settle()
  }
}

/** One thing that may happen at any time; does nothing where it makes no sense. */
function happen(stage: Stage): void {
  const { random, members } = stage
  const pick = (count: number): number => Math.floor(random.next() * count)
  const names = ['m0', 'm1', 'm2', 'm3', 'm4']
  const name = names[pick(names.length)] ?? 'm0'
  const member = members.get(name)
  // Every other one is static.
  const instanceId = Number(name.slice(1)) % 2 === 1 ? name : undefined
  const say = (what: string): number =>
    stage.diary.push(`${stage.clock.monotonic()}: ${name} ${what}`)
  switch (pick(8)) {
    case 0:
    case 1:
      if (member !== undefined || stage.ending.has(name)) return
      say('starts')
      return void stage.start(name, instanceId)
    case 2:
      if (member === undefined || members.size === 1) return
      say('stops')
      return stage.stop(name, instanceId === undefined || pick(2) === 0 ? 'leave' : 'remain')
    case 3:
      if (member === undefined) return
      say('is cut off')
      return member.network.cut()
    case 4:
      if (member === undefined) return
      say('is reached again')
      return member.network.heal()
    case 5: {
      if (member === undefined) return
      const ms = pick(8000)
      say(`needs ${ms} ms to give up tasks`)
      member.revocation = new Promise((resolve) => {
        stage.clock.setTimer(ms, resolve)
      })
      return
    }
    case 6:
      if (member === undefined) return
      say('was fenced at a commit')
      return member.membership.taskMigrated(new Error('fenced'))
    default:
      return stage.catchUp()
  }
}

/** Everything is well: every task has one owner and one standby elsewhere, evenly. */
function isAtRest(stage: Stage): boolean {
  const members = [...stage.members.values()]
  const ids = Array.from({ length: partitions }, (_, index): TaskId => `0_${index}`)
  const processes = new Set(members.map(({ processId }) => processId))
  const isPlaced = ids.every((id) => {
    const owners = members.filter(({ held }) => held.has(id)).length
    const standbys = members.filter(({ standby }) => standby.has(id)).length
    return owners === 1 && standbys === (processes.size > 1 ? 1 : 0)
  })
  const loads = members.map(({ held }) => held.size)
  return isPlaced && Math.max(...loads) - Math.min(...loads) <= 1
}

test.each(Array.from({ length: 20 }, (_, index) => index + 1))(
  'seed %i: whatever happens, no task has two owners, and it ends well',
  { timeout: 60_000 },
  async (seed) => {
    const stage = new Stage(seed)
    await stage.open()
    for (let step = 0; step < 50; step += 1) {
      happen(stage)
      await stage.clock.run(Math.floor(stage.random.next() * 2500))
      stage.checkAll()
      expect(stage.faults()).toEqual([])
    }
    for (const member of stage.members.values()) member.network.heal()
    for (let waits = 0; waits < 60 && !isAtRest(stage); waits += 1) {
      stage.catchUp()
      await stage.clock.run(5000)
      stage.checkAll()
    }
    expect(stage.faults()).toEqual([])
    for (const { fatal } of stage.members.values()) expect(fatal).toBeUndefined()
    expect(isAtRest(stage) || stage.diary).toBe(true)
    await stage.close()
    expect(stage.clock.timerCount).toBe(0)
    expect(stage.network.openCount).toBe(0)
  },
)
