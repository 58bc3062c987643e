import { reasonOfIllegalName } from '../base/legal-name.ts'
import { silentLog } from '../base/log.ts'
import { logOf, type Logger } from '../base/logger.ts'
import { seededRandom } from '../base/random.ts'
import { shownValue } from '../base/shown-value.ts'
import { SimulatedNetwork } from '../base/simulated-network.ts'
import { VirtualTime, type VirtualTrace } from '../base/virtual-time.ts'
import type { BrokerOptions } from '../broker/broker-options.ts'
import { Broker } from '../broker/broker.ts'
import { createTopics } from '../client/topic-admin.ts'
import { KafkaClient } from '../client/kafka-client.ts'
import { Producer } from '../client/producer.ts'
import type { StreamsConfig } from '../config.ts'
import { assertTopic, type Topic } from '../dsl/topic.ts'
import { StreamsError } from '../errors.ts'
import { noHeaders } from '../store/state-store.ts'
import type { Topology } from '../topology/topology.ts'
import {
  assertCallable,
  assertHeaders,
  assertIterable,
  assertObject,
  assertWholeMs,
  wrongInput,
} from './given-input.ts'
import { journalStateEngine } from './journal-engine.ts'
import { SimulatedInstance } from './simulated-instance.ts'
import { SimulatedMachine } from './simulated-machine.ts'
import type { TestRecord } from './test-input-topic.ts'
import { readTopic, type ReadRecord } from './topic-reader.ts'

export type { ReadRecord } from './topic-reader.ts'

/** The machine of the broker, for {@link SimulatedCluster.cut} and the like. */
const brokerHost = 'broker'
const brokerPort = 9092
/** The machine from which topics are made, written and read. Nothing ever fails there. */
const clientHost = 'client'

/** 2026-01-01: near enough for the retention of topics, and the same in each run. */
const startTimeDefault = 1_767_225_600_000
/** How long things that must come to an end may take, in simulated time. */
const patienceMsDefault = 600_000

/** How a {@link simulatedCluster} is; all optional. */
export interface SimulatedClusterOptions {
  /** Decides everything that is left to chance; the same seed is the same run. Default 1. */
  readonly seed?: number
  /** Milliseconds since the epoch at which the clock begins. Default 2026-01-01. */
  readonly startTime?: number
  /** Of the broker, besides where it listens and where its files are. */
  readonly broker?: Pick<
    BrokerOptions,
    | 'topicDefaults'
    | 'sessionTimeoutMinMs'
    | 'initialRebalanceDelayMs'
    | 'cleanIntervalMs'
    | 'defaultPartitions'
  >
  /** Hears each thing that happens, a line each, in order. Default: nobody. */
  readonly trace?: (line: string) => void
}

/** Options of an instance: `brokers`, `stateDir` and `engine` are the cluster's. */
export type SimulatedInstanceConfig = Omit<StreamsConfig, 'brokers' | 'stateDir' | 'logger'>

/** A record to be written: without a partition Kafka's choice, without a timestamp now. */
export interface SimulatedRecord<K, V> extends TestRecord<K, V> {
  readonly partition?: number
}

/**
 * A Kafka cluster and the instances of applications on it, in this process and in time of its own: nothing
 * waits for a real clock, a socket or a file. Whatever is left to chance comes from the seed, so that a run
 * can be had again. Time passes only while a method here is awaited.
 *
 * It has one broker, that of `millpond/broker`. Machines have names: `broker`, and that of each instance.
 *
 * @example
 * await using cluster = await simulatedCluster()
 * await cluster.createTopic(lines, { partitions: 4 })
 * await cluster.produce(lines, [{ key: null, value: 'to be or not to be' }])
 * console.log((await cluster.read(lines)).length)
 */
export class SimulatedCluster implements AsyncDisposable {
  readonly seed: number
  /**
   * Its parts, for simulations that look inside.
   *
   * @internal
   */
  readonly time: VirtualTime
  /** @internal */
  readonly network: SimulatedNetwork
  /** @internal */
  readonly brokerMachine: SimulatedMachine
  /** @internal */
  readonly client: KafkaClient
  readonly #options: SimulatedClusterOptions
  readonly #producer: Producer
  readonly #instances = new Map<string, SimulatedInstance>()
  #broker: Broker | undefined

  /** Use {@link simulatedCluster}, which starts the broker. */
  constructor(options: SimulatedClusterOptions, trace: VirtualTrace | undefined) {
    this.#options = options
    this.seed = options.seed ?? 1
    const random = seededRandom(this.seed)
    this.time = new VirtualTime({ random, start: options.startTime ?? startTimeDefault, trace })
    this.network = new SimulatedNetwork(this.time)
    this.brokerMachine = new SimulatedMachine(brokerHost, this.network)
    this.client = new KafkaClient({
      ...new SimulatedMachine(clientHost, this.network).begin(),
      brokers: [`${brokerHost}:${brokerPort}`],
      log: silentLog,
      clientId: clientHost,
    })
    this.#producer = new Producer(this.client)
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return Math.floor(this.time.now)
  }

  /** Fingerprint of all that has happened: two runs of one seed have the same. */
  get digest(): string {
    return this.time.digest
  }

  /** Lets so much time pass. */
  async advance(ms: number): Promise<void> {
    assertTime('ms', ms)
    await this.time.run(this.time.now + ms)
  }

  /**
   * Lets time pass until the condition holds, which is asked after each event.
   *
   * @throws StreamsError `SIMULATION_STUCK` when it does not within `withinMs` (default ten minutes) of
   *   simulated time.
   */
  async until(condition: () => boolean, options: { withinMs?: number } = {}): Promise<void> {
    assertCallable(condition, 'condition')
    assertObject(options, 'options')
    const { withinMs = patienceMsDefault } = options
    assertTime('withinMs', withinMs)
    let holds = false
    await this.time.run(this.time.now + withinMs, () => (holds = condition()))
    if (!holds && !condition()) throw new StreamsError('SIMULATION_STUCK', { withinMs })
  }

  /** Lets time pass until the promise has settled, and settles as it does. Throws as {@link until}. */
  async run<T>(work: Promise<T>, options: { withinMs?: number } = {}): Promise<T> {
    if (typeof (work as { then?: unknown } | null | undefined)?.then !== 'function')
      throw wrongInput('work', `it must be a promise, not ${shownValue(work)}`)
    let isSettled = false
    const settle = (): void => {
      isSettled = true
    }
    work.then(settle, settle)
    await this.until(() => isSettled, options)
    return work
  }

  /** Makes a topic. `configs` by Kafka's names. */
  async createTopic(
    topic: { readonly name: string },
    options: { partitions: number; configs?: Readonly<Record<string, string>> },
  ): Promise<void> {
    assertObject(topic, 'topic')
    const illegal = reasonOfIllegalName(topic.name)
    if (illegal !== undefined) throw wrongInput('topic', `its name is not allowed: ${illegal}`)
    assertObject(options, 'options')
    const { partitions, configs = {} } = options
    if (!Number.isSafeInteger(partitions) || partitions < 1)
      throw wrongInput(
        'partitions',
        `it must be a whole number from 1 on, not ${shownValue(partitions)}`,
      )
    assertObject(configs, 'configs')
    await this.run(createTopics(this.client, [{ topic: topic.name, partitions, configs }]))
  }

  /** Writes records, and lets time pass until the broker has all of them. */
  async produce<K, V>(topic: Topic<K, V>, records: Iterable<SimulatedRecord<K, V>>): Promise<void> {
    assertTopic(topic, 'produce')
    assertIterable(records, 'records')
    await this.run(this.client.topicMetadata([topic.name]))
    for (const record of records) {
      assertObject(record, 'record')
      assertHeaders(record.headers)
      if (record.timestamp !== undefined) assertWholeMs(record.timestamp, 'timestamp')
      const key = record.key === null ? null : topic.key.serialize(record.key)
      const value = record.value === null ? null : topic.value.serialize(record.value)
      const { partition = this.#producer.partitionFor(key, topic.name), headers } = record
      const timestamp = record.timestamp ?? this.now
      this.#producer.send(topic.name, partition, key, value, timestamp, headers ?? noHeaders)
    }
    await this.run(this.#producer.flush())
  }

  /** All that is committed in a topic, partition by partition. */
  async read<K, V>(topic: Topic<K, V>): Promise<ReadRecord<K, V>[]> {
    assertTopic(topic, 'read')
    return this.run(readTopic(this.client, topic))
  }

  /** An instance on a machine of its own; `start` begins it. Names are unique. */
  instance(name: string, topology: Topology, config: SimulatedInstanceConfig): SimulatedInstance {
    if (typeof name !== 'string' || name === '')
      throw wrongInput('name', `it must be the name of a machine, not ${shownValue(name)}`)
    if (this.#instances.has(name) || name === brokerHost || name === clientHost) {
      throw wrongInput('name', `there is a machine with the name ${name} already`)
    }
    assertObject(config, 'config')
    const instance = new SimulatedInstance({
      machine: new SimulatedMachine(name, this.network),
      time: this.time,
      topology,
      config: {
        engine: journalStateEngine,
        ...config,
        brokers: [`${brokerHost}:${brokerPort}`],
        logger: this.#loggerOf(name),
      },
      run: (work) => this.run(work),
    })
    this.#instances.set(name, instance)
    return instance
  }

  /** Resets the connections of a machine, those with `other` only if it is given. */
  cut(name: string, other?: string): void {
    this.#assertMachine(name)
    if (other !== undefined) this.#assertMachine(other)
    this.network.cut(name, other)
  }

  /** Nothing goes from one machine to the other, in neither direction and unnoticed, until `heal`. */
  isolate(name: string, from: string = brokerHost): void {
    this.#assertMachine(name)
    this.#assertMachine(from)
    this.network.block(name, from)
    this.network.block(from, name)
  }

  /** All machines hear each other again, and what was sent meanwhile arrives. */
  heal(): void {
    this.network.unblockAll()
  }

  /** The broker dies, as by `kill -9`. What it has acknowledged is on its disk. */
  killBroker(): void {
    this.brokerMachine.kill()
    this.#broker = undefined
  }

  /** Closes the broker, as on SIGTERM. */
  async stopBroker(): Promise<void> {
    const broker = this.#broker
    if (broker !== undefined) await this.run(broker.close())
    // Who has been started again meanwhile stays.
    if (this.#broker === broker) this.killBroker()
  }

  /** Starts the broker again, with the data that it had. */
  async startBroker(): Promise<void> {
    const broker = new Broker({
      ...this.#options.broker,
      ...this.brokerMachine.begin(),
      host: brokerHost,
      port: brokerPort,
      dataDir: '/data',
      autoCreateTopics: false,
      logger: this.#loggerOf(brokerHost),
    })
    this.#broker = broker
    await this.run(broker.start())
  }

  /** Ends all processes at once. */
  async close(): Promise<void> {
    for (const instance of this.#instances.values()) instance.kill()
    this.killBroker()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** A fault for nobody would let a test pass. */
  #assertMachine(name: string): void {
    const names = [brokerHost, clientHost, ...this.#instances.keys()]
    if (!names.includes(name))
      throw wrongInput(
        'name',
        `it must be a machine (${names.join(', ')}), not ${shownValue(name)}`,
      )
  }

  #loggerOf(host: string): Logger {
    return logOf(tracingLogger((line) => this.time.note(host, line)))
  }
}

/** Time that is no number would never be over. */
function assertTime(option: string, ms: number): void {
  if (!Number.isFinite(ms) || ms < 0)
    throw wrongInput(option, `it must be a number of milliseconds from 0, not ${shownValue(ms)}`)
}

function assertOptions(given: SimulatedClusterOptions): void {
  assertObject(given, 'options')
  const { seed, startTime, trace, broker } = given
  if (broker !== undefined) assertObject(broker, 'broker')
  if (seed !== undefined && !Number.isSafeInteger(seed))
    throw wrongInput('seed', `it must be a whole number, not ${shownValue(seed)}`)
  if (startTime !== undefined) assertTime('startTime', startTime)
  if (trace !== undefined) assertCallable(trace, 'trace')
}

function tracingLogger(note: (line: string) => void): Logger {
  const line =
    (level: string) =>
    (message: string, fields: object = {}): void =>
      note(`${level} ${message} ${JSON.stringify(fields)}`)
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/**
 * Starts a {@link SimulatedCluster}: a broker and no instance yet.
 *
 * @example
 * await using cluster = await simulatedCluster({ seed: 7 })
 * await cluster.createTopic(lines, { partitions: 2 })
 * const a = cluster.instance('a', topology, { applicationId: 'word-count' })
 * const b = cluster.instance('b', topology, { applicationId: 'word-count' })
 * a.start()
 * b.start()
 * await cluster.until(() => a.state === 'running' && b.state === 'running')
 */
export async function simulatedCluster(
  options: SimulatedClusterOptions = {},
): Promise<SimulatedCluster> {
  assertOptions(options)
  const cluster = new SimulatedCluster(options, options.trace)
  await cluster.startBroker()
  return cluster
}
