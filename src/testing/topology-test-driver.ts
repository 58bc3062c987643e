/**
 * Runs a topology without a broker (org.apache.kafka.streams.TopologyTestDriver). As there, one task
 * holds all sub-topologies on partition 0: what is written to a repartition topic comes back at once,
 * and records that wait in several topics are taken in the order of time.
 */
import type { Clock } from '../base/clock.ts'
import { systemDisk } from '../base/disk.ts'
import { assertName } from '../base/legal-name.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { shownValue } from '../base/shown-value.ts'
import { systemRandom } from '../base/random.ts'
import { assertTopic, type Topic } from '../dsl/topic.ts'
import type { ErrorHandling } from '../error-handlers.ts'
import { StreamsError } from '../errors.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { stateEngineProblem } from '../kv/state-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { serdes } from '../serde/serdes.ts'
import type { AnyStore } from '../store/descriptor.ts'
import { WakeUp } from '../runtime/wake-up.ts'
import { StateDirectory } from '../store/state-directory.ts'
import type { RecordHeaders } from '../store/state-store.ts'
import { GlobalTask } from '../task/global-task.ts'
import type { TaskEngines } from '../task/state-manager.ts'
import { StreamTask } from '../task/stream-task.ts'
import { assertTopology } from '../topology/assert-topology.ts'
import type { Topology } from '../topology/topology.ts'
import { DriverStores, type FoundStore } from './driver-stores.ts'
import { withFrozenValues } from './frozen-values.ts'
import { assertObject } from './given-input.ts'
import { ProducedRecords, type ProducedRecord } from './produced-records.ts'
import { TestInputTopic, type TestInputOptions } from './test-input-topic.ts'
import { TestOutputTopic } from './test-output-topic.ts'
import {
  assertDriverOptions,
  type TopologyTestDriverOptions,
} from './topology-test-driver-options.ts'
import { UnitedTopology } from './united-topology.ts'

const cacheBytesDefault = 10 * 1024 * 1024
const taskIdOfAll = '0_0'
const partition = 0
const recordsPerPipeMaxDefault = 1_000_000

/**
 * Tests a topology in memory: pipe records in, read what comes out, look into the stores.
 * Synchronous; each record is processed and committed before `pipe` returns. After a failure the driver is
 * of no further use: it throws the failure again. Values of cached stores are frozen, so that code which
 * changes what it was given fails here.
 *
 * @example
 * using driver = new TopologyTestDriver(builder.build())
 * driver.input(lines).pipe({ key: null, value: 'to be or not to be', timestamp: 0 })
 * assert.equal(driver.store(wordCounts).get('to'), 2)
 */
export class TopologyTestDriver extends DriverStores implements Disposable {
  /** What the program counts: dropped records, for instance. */
  readonly metrics: StreamsMetrics = new StreamsMetrics()
  readonly #topology: UnitedTopology
  readonly #clock: ManualClock
  readonly #produced = new ProducedRecords({ now: () => this.#clock.now() })
  readonly #stateDirectory: StateDirectory | undefined
  /** Keeps the global stores. */
  readonly #globalTask: GlobalTask
  readonly #task: StreamTask
  #inputs: ReadonlySet<string> = new Set()
  readonly #offsets = new Map<string, number>()
  readonly #builder = new RecordBatchBuilder()
  readonly #recordsPerPipeMax: number
  readonly #results = new WakeUp()
  readonly #closed = new AbortController()
  #failure: { error: unknown } | undefined
  #isClosed = false

  constructor(topology: Topology, options: TopologyTestDriverOptions = {}) {
    super()
    assertTopology(topology)
    assertDriverOptions(options)
    const { onDeserializationError, onProcessingError, onProductionError } = options
    const errorHandling: ErrorHandling = {
      onDeserializationError,
      onProcessingError,
      onProductionError,
      deadLetterQueueTopic: options.deadLetterQueueTopic,
    }
    this.#recordsPerPipeMax = options.recordsPerPipeMax ?? recordsPerPipeMaxDefault
    this.#clock = new ManualClock(options.wallClock ?? 0)
    const applicationId = options.applicationId ?? 'topology-test-driver'
    this.#stateDirectory = openStateDirectory(applicationId, options, this.#clock)
    this.#topology = new UnitedTopology(withFrozenValues(topology), applicationId)
    this.#globalTask = new GlobalTask({
      applicationId,
      globalStores: this.#topology.globalStores,
      clock: this.#clock,
      metrics: this.metrics,
      engines: this.#stateDirectory?.engines('global') ?? memoryEngines(),
      cacheBytesMax: options.cacheBytes ?? cacheBytesDefault,
      partitionCount: () => 1,
      ...errorHandling,
      log: options.log,
    })
    this.#task = new StreamTask({
      id: taskIdOfAll,
      subtopology: this.#topology.whole,
      applicationId,
      clock: this.#clock,
      sink: this.#produced,
      metrics: this.metrics,
      engines: this.#stateDirectory?.engines(taskIdOfAll) ?? memoryEngines(),
      cacheBytesMax: options.cacheBytes ?? cacheBytesDefault,
      partitionCount: () => 1,
      // As in Java's test driver: what a record makes final comes out with that record.
      emitIntervalMs: 0,
      globalStore: (name) => this.#globalTask.globalStore(name),
      maxTaskIdleMs: options.maxTaskIdle,
      ...errorHandling,
      log: options.log,
      wake: () => this.#results.notify(),
    })
    this.#noteInputs()
    try {
      this.#globalTask.open()
      this.#task.initialize([])
      this.#task.completeRestoration()
    } catch (error) {
      this.#failure = { error }
      this.close()
      throw error
    }
  }

  /**
   * A topic to pipe records into.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` when no source reads it.
   */
  input<K, V>(topic: Topic<K, V>, options: TestInputOptions = {}): TestInputTopic<K, V> {
    assertTopic(topic, 'input')
    assertObject(options, 'options')
    if (!this.#reads(topic.name) && !this.#topology.isGlobal(topic.name)) {
      throw new StreamsError('TOPOLOGY_INVALID', { detail: `no source reads ${topic.name}` })
    }
    return new TestInputTopic(topic, {
      pipe: (name, { key, value, timestamp, headers }) => {
        this.#working(() => {
          this.#take(name, key, value, timestamp, headers)
          this.#processAll()
        })
      },
      startTime: options.startTime ?? this.#clock.now(),
      advanceTime: options.advanceTime ?? 0,
    })
  }

  /** What was written to a topic, decoded. */
  output<K, V>(topic: Topic<K, V>): TestOutputTopic<K, V> {
    assertTopic(topic, 'output')
    return new TestOutputTopic(this.#produced.queue(topic.name), topic)
  }

  /**
   * What was written to a topic, as bytes: for changelog and repartition topics, whose names begin
   * with the application id.
   */
  rawOutput(topicName: string): TestOutputTopic<Uint8Array, Uint8Array> {
    assertName(topicName, 'a topic')
    return new TestOutputTopic(this.#produced.queue(topicName), {
      name: topicName,
      key: serdes.bytes,
      value: serdes.bytes,
    })
  }

  /**
   * Everything that was written to any topic since the last call, in the order in which it was
   * written: changelogs and repartition topics too.
   */
  takeProduced(): ProducedRecord[] {
    return this.#produced.takeAll()
  }

  /** Names of all topics that were written so far. */
  get producedTopicNames(): string[] {
    return this.#produced.topics()
  }

  protected override now(): number {
    return this.#clock.now()
  }

  protected override findStore(descriptor: AnyStore): FoundStore {
    const { name } = descriptor
    const node = this.#topology.storeNode(descriptor)
    if (node === undefined) throw new StreamsError('STORE_UNKNOWN', { store: name })
    const isGlobal = this.#topology.globalStores.some(({ store }) => store === node)
    const task = isGlobal ? this.#globalTask : this.#task
    return { node, store: task.connectedStore(name) }
  }

  /**
   * Moves the wall clock and runs the punctuations that are due, each once.
   *
   * @throws StreamsError `CONFIG_INVALID` for what is no whole number from 0 to 2^53 - 1.
   */
  advanceWallClockTime(ms: number): void {
    if (!Number.isSafeInteger(ms) || ms < 0) {
      const detail = `it must be a whole number of milliseconds from 0 on, not ${shownValue(ms)}`
      throw new StreamsError('CONFIG_INVALID', { option: 'advanceWallClockTime', detail })
    }
    this.#working(() => {
      this.#clock.advance(ms)
      this.#task.punctuate(this.#clock.now())
      this.#commit()
      this.#processAll()
    })
  }

  /**
   * Resolves when asynchronous steps (`mapValuesAsync`, `forEachAsync`) are done with all that was
   * piped: their results are there, and committed. What `pipe` alone shows is what was done when it
   * returned.
   *
   * @example
   * driver.input(orders).pipe({ key: 'a', value: order })
   * await driver.settled()
   * assert.equal(driver.output(priced).readValue().total, 12)
   */
  async settled(): Promise<void> {
    for (;;) {
      this.#working(() => this.#processAll())
      if (this.#task.drain()) return
      await this.#results.wait(this.#closed.signal)
    }
  }

  protected override assertOpen(): void {
    if (this.#isClosed) throw new StreamsError('CLIENT_CLOSED', { what: 'test driver' })
  }

  #working(work: () => void): void {
    this.assertOpen()
    if (this.#failure !== undefined) throw this.#failure.error
    try {
      work()
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  #processAll(): void {
    this.#loopBack()
    for (let processed = 0; this.#processOne(); processed += 1) {
      this.#commit()
      this.#loopBack()
      if (processed === this.#recordsPerPipeMax) throw endless(processed)
    }
  }

  /** True: something was processed, or could not be read and left a dead letter. */
  #processOne(): boolean {
    return this.#task.process(1, Infinity) > 0 || this.#produced.hasFresh
  }

  /** False: something is on its way in asynchronous steps still. */
  #commit(): boolean {
    if (!this.#task.drain()) return false
    this.#task.prepareCommit()
    this.#task.committed()
    while (this.#task.writeBehind());
    return true
  }

  /** What was written to topics that the program reads goes back in. */
  #loopBack(): void {
    for (const { topic, key, value, timestamp, headers } of this.#produced.takeFresh()) {
      this.#take(topic, key, value, timestamp, headers)
    }
  }

  /** True: a source reads the topic, maybe one whose pattern matches it for the first time. */
  #reads(topic: string): boolean {
    if (this.#inputs.has(topic)) return true
    if (!this.#topology.adopt(topic)) return false
    this.#task.updateInputs(this.#topology.whole)
    this.#noteInputs()
    return true
  }

  #noteInputs(): void {
    this.#inputs = new Set(this.#task.inputs.map(({ topic }) => topic))
  }

  /** Into the queue of a source that reads the topic, or into the global store of it. */
  #take(
    topic: string,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders,
  ): void {
    const isGlobal = this.#topology.isGlobal(topic)
    if (!isGlobal && !this.#reads(topic)) return
    const offset = this.#offsets.get(topic) ?? 0
    this.#offsets.set(topic, offset + 1)
    this.#builder.reset()
    this.#builder.append(key, value, timestamp, headers)
    const batch = this.#builder.build({
      baseOffset: offset,
      producerId: -1,
      producerEpoch: -1,
      baseSequence: -1,
    })
    if (!isGlobal) {
      this.#task.addRecords(topic, partition, batch, offset)
      return
    }
    this.#globalTask.update(topic, partition, batch, offset)
    this.#globalTask.checkpoint()
    while (this.#globalTask.writeBehind());
  }

  /** Commits and closes the program's processors and stores. Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#closed.abort()
    // What is on its way in asynchronous steps is given up.
    let clean = this.#failure === undefined && this.#task.drain()
    try {
      if (clean) {
        this.#task.suspend()
        // Closing code may forward into such a step, too.
        clean = this.#commit()
      }
    } finally {
      try {
        this.#task.close({ clean })
      } finally {
        this.#closeGlobal({ clean })
      }
    }
  }

  #closeGlobal(options: { clean: boolean }): void {
    try {
      this.#globalTask.close(options)
    } finally {
      this.#stateDirectory?.close()
    }
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

function openStateDirectory(
  applicationId: string,
  { stateDir, engine, log }: TopologyTestDriverOptions,
  clock: Clock,
): StateDirectory | undefined {
  const problem = engine === undefined ? undefined : stateEngineProblem(engine)
  if (problem !== undefined) {
    throw new StreamsError('CONFIG_INVALID', { option: 'engine', detail: problem })
  }
  if (stateDir === undefined) return undefined
  const ports = { disk: systemDisk, random: systemRandom, clock }
  return StateDirectory.open({ ...ports, stateDir, applicationId, engine, log })
}

/** Engines that keep everything in memory. */
function memoryEngines(): TaskEngines {
  const engine = new MemoryEngine()
  return { engine: () => engine, close: () => engine.close() }
}

function endless(records: number): StreamsError {
  const detail = `one record set off more than ${records} others: a topic feeds itself`
  return new StreamsError('TOPOLOGY_INVALID', { detail })
}
